package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A book is kept by one desk: what came of everything, and what should not have
// happened. All methods may be called from any goroutine.
type book struct {
	name    string
	latency histogram

	mu      sync.Mutex
	entries map[string]uint64
	faults  []string
}

func newBook(name string) *book { return &book{name: name, entries: make(map[string]uint64)} }

// enter counts something that is allowed to happen.
func (b *book) enter(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries[what]++
}

// bad records a violation; a few of them tell the story.
func (b *book) bad(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.faults) < 8 {
		b.faults = append(b.faults, b.name+": "+fmt.Sprintf(format, args...))
	}
}

// equal is a line of the ledger.
func (b *book) equal(what string, got, want uint64) {
	if got != want {
		b.bad("%s: %d, and not %d", what, got, want)
	}
}

func (b *book) violations() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.faults)
}

// line is an entry of a book and how often it was made.
type line struct {
	what  string
	times uint64
}

func (b *book) lines() (out []line) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, what := range slices.Sorted(maps.Keys(b.entries)) {
		out = append(out, line{what, b.entries[what]})
	}
	return out
}

// since enters how long something took.
func (b *book) since(start time.Time) { b.latency.add(time.Since(start)) }

// mint makes tokens: values that are received or disposed of, once.
type mint struct{ made, ended atomic.Uint64 }

type token struct {
	of   *mint
	ends atomic.Int32
}

func (m *mint) make() *token {
	m.made.Add(1)
	return &token{of: m}
}

// end is called by whoever receives the token or disposes of it.
func (t *token) end(b *book) {
	t.of.ended.Add(1)
	if t.ends.Add(1) != 1 {
		b.bad("a value was received or disposed of twice")
	}
}
