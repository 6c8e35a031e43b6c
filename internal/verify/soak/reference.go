package main

import (
	"context"
	"time"
)

// reference is what latencies are compared with: how late a plain time.AfterFunc
// is, and how long a value then takes to a goroutine that waits for it.
type reference struct{ *book }

func newReference() (*desk, error) {
	b := newBook("reference")
	return &desk{book: b, subject: reference{b}, clients: 4, pace: 5 * time.Millisecond}, nil
}

func (r reference) play(*player) {
	arrived := make(chan struct{})
	due := time.Now().Add(time.Millisecond)
	time.AfterFunc(time.Millisecond, func() { arrived <- struct{}{} })
	<-arrived
	r.since(due)
}

func (reference) watch() int           { return 0 }
func (reference) rest(context.Context) {}
func (reference) end(context.Context)  {}
