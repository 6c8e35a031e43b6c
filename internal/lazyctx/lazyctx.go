// Package lazyctx makes a context that can be canceled at no cost until
// somebody can tell: its machinery is built when Done is first asked for or
// when it is first canceled. context.WithCancelCause costs about 190 ns and
// two allocations, which most tasks would pay for nothing.
package lazyctx

import (
	"context"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
)

// Ctx is its Parent with a cancellation of its own. Release must be called
// when nobody will cancel it any more. Cancel may be called before Parent is
// set, all else only afterwards.
//
// Package context finds the built cancelCtx through Value, so a child of a
// Ctx costs no goroutine.
type Ctx struct {
	Parent context.Context
	made   atomic.Pointer[made]

	mu       sync.Mutex // protects what follows; nothing foreign runs under it
	released atomic.Bool
	canceled bool          // by Cancel
	signal   chan struct{} // of Canceled; nil until it is asked for
	watches  *Watch
	// Invariant: made is not stored, nor a watch added, once released is true.
}

// made is the built cancellation.
type made struct {
	context.Context
	cancel context.CancelCauseFunc
	relay  relay // to the parent; zero if Cancel built it
}

// Done returns the channel of Ctx's own cancellation, built now.
func (c *Ctx) Done() <-chan struct{} {
	m := c.made.Load()
	if m == nil {
		m = c.build()
	}
	if m == nil { // released: only the parent can end it
		return c.Parent.Done()
	}
	return m.Done()
}

// build returns the cancellation, which it ties to the parent if it makes it,
// or nil if Ctx was released without one. The parent may be a foreign context,
// so no lock is held meanwhile.
func (c *Ctx) build() *made {
	built := &made{relay: relay{Context: c.Parent}}
	if c.Parent.Err() != nil {
		built.Context, built.cancel = context.WithCancelCause(c.Parent)
	} else {
		built.Context, built.cancel = context.WithCancelCause(&built.relay)
	}
	c.mu.Lock()
	m := c.made.Load()
	if m == nil && !c.released.Load() {
		m = built
		c.made.Store(m)
	}
	c.mu.Unlock()
	if m != built {
		built.cancel(nil) // unties it
	}
	return m
}

// Err reports whether Ctx has ended.
func (c *Ctx) Err() error {
	m := c.made.Load()
	if m == nil {
		return c.Parent.Err()
	}
	if err := m.Err(); err != nil {
		return err
	}
	c.pass(m) // Ctx may have shown the parent's end before it was made
	return m.Err()
}

// pass passes the parent's end on to m ahead of AfterFunc's goroutine, unless
// Ctx has let go of the parent.
func (c *Ctx) pass(m *made) {
	if m.relay.end != nil && c.Parent.Err() != nil && !c.released.Load() {
		m.relay.end()
	}
}

// Deadline is the parent's.
func (c *Ctx) Deadline() (deadline time.Time, ok bool) { return c.Parent.Deadline() }

// Value answers package context's search for a cancelCtx with Ctx's own; all
// else comes from the parent.
func (c *Ctx) Value(key any) any {
	if m := c.made.Load(); m != nil {
		if v := m.Value(key); v != nil || m.relay.Context != nil {
			return v
		}
	}
	return c.Parent.Value(key)
}

// Cancel ends Ctx with cause, unless it has ended or was released.
func (c *Ctx) Cancel(cause error) {
	c.mu.Lock()
	m := c.made.Load()
	if m == nil && !c.released.Load() {
		m = &made{}
		m.Context, m.cancel = context.WithCancelCause(context.Background())
		c.made.Store(m)
	}
	first := c.released.CompareAndSwap(false, true)
	var signal chan struct{}
	var watches []*Watch
	if first {
		c.canceled, signal = true, c.signal
		watches = c.unwatchLocked()
	}
	c.mu.Unlock()
	if !first {
		return
	}
	m.cancel(cause) // and unties it
	if signal != nil {
		close(signal)
	}
	for _, w := range watches {
		go w.run(cause)
	}
}

// Release lets go of the parent. What Ctx is then, live or ended, it stays,
// but for a Ctx whose Done nobody asked for, which ends with its parent.
func (c *Ctx) Release() {
	if m := c.made.Load(); m != nil {
		c.pass(m)
	}
	c.mu.Lock()
	c.released.Store(true)
	c.unwatchLocked()
	m := c.made.Load()
	c.mu.Unlock()
	if m != nil && m.relay.stop != nil {
		m.relay.stop()
	}
}

// relay stands between a cancelCtx and the parent, so that the cancelCtx can
// be untied without being canceled.
//
// Canceling it with the parent's cause would do for the cause, but its Err
// would be Canceled where the parent's is DeadlineExceeded.
type relay struct {
	context.Context
	end  func()      // cancels the cancelCtx as the parent has ended; nil if untied
	stop func() bool // unties it
}

// never is what package context takes for the Done of a context that is not
// one of its own, which makes it call AfterFunc.
var never = make(chan struct{})

func (r *relay) Done() <-chan struct{} { return never }

// AfterFunc is called once, by context.WithCancelCause.
func (r *relay) AfterFunc(end func()) (stop func() bool) {
	r.end = end
	r.stop = context.AfterFunc(r.Context, func() {
		// The goroutine came with the labels of whoever ended the parent.
		pprof.SetGoroutineLabels(context.Background())
		end()
	})
	return r.stop
}
