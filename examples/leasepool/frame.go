package main

import (
	"encoding/binary"
	"errors"
	"io"
)

// A frame is a length in four bytes and that many bytes.

const maxFrame = 1 << 16

var errFrameTooLong = errors.New("frame too long")

func writeFrame(w io.Writer, data []byte) error {
	if len(data) > maxFrame {
		return errFrameTooLong
	}
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...))
	return err
}

func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return nil, errFrameTooLong
	}
	data := make([]byte, n)
	_, err := io.ReadFull(r, data)
	return data, err
}
