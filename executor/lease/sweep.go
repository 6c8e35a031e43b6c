package lease

import (
	"context"
	"runtime"
)

// Sweep disposes, on this goroutine, of resources that nobody uses and that
// were condemned, have expired or belong to an older generation, and returns how
// many. It takes no permit and delays nobody who waits. It stops when ctx ends,
// with a [*CanceledError], and when the pool ends, with the pool's error. A nil
// ctx is a [*ConfigError].
func (p *Pool[R]) Sweep(ctx context.Context) (int, error) {
	if ctx == nil {
		return 0, nilContext()
	}
	c := p.open()
	if c == nil {
		return 0, &ClosedError{}
	}
	defer runtime.KeepAlive(p.anchor)
	return c.sweep(ctx)
}

func (c *core[R]) sweep(ctx context.Context) (int, error) {
	n := 0
	for i := range c.slots {
		if c.gate.load().Ended() {
			return n, c.terminal()
		}
		if ctx.Err() != nil {
			return n, newSweepCanceled(c.cfg.Name, ctx)
		}
		now := c.clock.now()
		s := &c.slots[i]
		s.mu.Lock()
		list := s.unparkLocked()
		if inc := s.cur; inc != nil && inc.users == 0 && s.flight == nil && c.retireLocked(s, inc, now) {
			inc.next, list = list, inc
		}
		s.mu.Unlock()
		for inc := list; inc != nil; inc = inc.next {
			n++
		}
		if err := c.disposeAll(list); err != nil {
			return n, err
		}
	}
	return n, nil
}

// postSweep has the Executor sweep, unless it still does.
func (c *core[R]) postSweep() {
	if c.sweeping.Swap(true) {
		return
	}
	done := func() { c.sweeping.Store(false) } // the next tick may have more luck
	_, _ = c.post(under(context.Background()), func(ctx context.Context) {
		defer done()
		_, _ = c.sweep(ctx)
	}, done)
}
