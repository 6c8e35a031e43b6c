// Package goid reads the header of a goroutine's stack trace: which goroutine
// is this, and is it in a testing/synctest bubble.
//
// A read costs about a microsecond, so only lifecycle paths use it: the start
// of a goroutine, Shutdown, New.
package goid

import (
	"bytes"
	"runtime"
)

// header returns the first line of the caller's stack trace in buf, such as
// "goroutine 7 [running, synctest bubble 3]:".
func header(buf []byte) []byte {
	line, _, _ := bytes.Cut(buf[:runtime.Stack(buf, false)], []byte("\n"))
	return line
}

// ID returns the number of the calling goroutine, which is never zero and
// never used again by the process.
func ID() uint64 {
	var buf [96]byte
	return Parse(header(buf[:]))
}

// Parse returns the number in a header. It is for who reads its own, because
// every stack frame above the entry of the goroutine makes runtime.Stack take
// about half a microsecond longer, whatever fits into the buffer.
func Parse(header []byte) uint64 {
	line := bytes.TrimPrefix(header, []byte("goroutine "))
	var id uint64
	for _, c := range line {
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + uint64(c-'0')
	}
	return id
}

// Bubbled reports whether the calling goroutine is in a synctest bubble.
func Bubbled() bool {
	var buf [96]byte
	return bytes.Contains(header(buf[:]), []byte("synctest bubble"))
}
