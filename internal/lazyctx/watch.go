package lazyctx

import (
	"context"
	"runtime/pprof"
)

// Follower is told of the end of a context, with the cause.
type Follower interface{ Ended(cause error) }

// Func is a function as a Follower. Whoever is one anyway saves its allocation.
type Func func(cause error)

// Ended calls f.
func (f Func) Ended(cause error) { f(cause) }

// Watch is one thing that waits for the Cancel of a Ctx. It costs nothing
// beside its own memory, where context.AfterFunc would have the cancellation
// built and cost three allocations more. The zero Watch is ready to use, once.
type Watch struct {
	ctx        *Ctx
	next, prev *Watch
	follower   Follower
}

// Watch has f told when c is canceled by Cancel, at once if it has been, on a
// goroutine of its own whose labels are cleared. It is not told of the end of
// c's parent, nor of anything after Release.
func (c *Ctx) Watch(w *Watch, f Follower) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.ctx, w.follower = c, f
	switch {
	case c.canceled:
		m := c.made.Load()
		go func() {
			<-m.Done()
			w.run(context.Cause(m))
		}()
	case !c.released.Load():
		w.next = c.watches
		if w.next != nil {
			w.next.prev = w
		}
		c.watches = w
	}
}

// Stop ends the watch, unless Ctx has been canceled already.
func (w *Watch) Stop() {
	c := w.ctx
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case w.prev != nil:
		w.prev.next = w.next
	case c.watches == w:
		c.watches = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.next, w.prev = nil, nil
}

// unwatchLocked ends all watches and returns them.
func (c *Ctx) unwatchLocked() (watches []*Watch) {
	for w := c.watches; w != nil; {
		watches = append(watches, w)
		next := w.next
		w.next, w.prev = nil, nil
		w = next
	}
	c.watches = nil
	return watches
}

func (w *Watch) run(cause error) {
	// The goroutine came with the labels of whoever canceled Ctx.
	pprof.SetGoroutineLabels(context.Background())
	w.follower.Ended(cause)
}

// Canceled returns a channel that is closed when Cancel has ended Ctx. Unlike
// that of Done it does not show the end of the parent, and so costs nothing
// but itself.
func (c *Ctx) Canceled() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.canceled {
		return c.made.Load().Done()
	}
	if c.signal == nil {
		c.signal = make(chan struct{})
	}
	return c.signal
}
