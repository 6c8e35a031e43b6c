package lease

import (
	"context"
	"sync/atomic"
	"time"
)

// callerContext is a context made from a caller's, as foreign code gets it. The
// caller's own may be of any make. It is no hook: what it panics with goes to
// its caller and fails that Acquire, not the pool. So it is noted here that it
// did.
//
// It is the outermost one: package context knows only its own kinds, and starts
// a goroutine for a child of any other.
type callerContext struct {
	context.Context
	flight any // the *flight of the Connect or Validate that gets it; nil: another
	bad    atomic.Bool
}

// under wraps ctx.
func under(ctx context.Context) *callerContext { return &callerContext{Context: ctx} }

// flightKey is the key under which such a context has its flight.
type flightKey struct{}

// Value and Deadline are what contexts pass on to those that they are made from.

func (c *callerContext) Value(key any) any {
	if key == (flightKey{}) && c.flight != nil {
		return c.flight
	}
	returned := false
	defer func() { c.note(returned) }()
	v := c.Context.Value(key)
	returned = true
	return v
}

func (c *callerContext) Deadline() (time.Time, bool) {
	returned := false
	defer func() { c.note(returned) }()
	t, ok := c.Context.Deadline()
	returned = true
	return t, ok
}

func (c *callerContext) note(returned bool) {
	if !returned {
		c.bad.Store(true)
	}
}
