package lease

import "context"

// disposeNow runs Dispose here, and returns the failure of the pool if it
// panics.
func (c *core[R]) disposeNow(inc *incarnation[R]) error {
	defer c.gone()
	if c.cfg.Dispose == nil {
		return nil
	}
	return c.hook("Dispose", func() { c.cfg.Dispose(inc.value) })
}

// gone tells that a resource is no more.
func (c *core[R]) gone() {
	c.alive.Add(-1)
	if c.gate.load().Ended() {
		c.changed()
	}
}

// disposeElsewhere disposes of inc on the Executor. Where there is none, or it
// refuses, inc waits on its slot for somebody to come by, or, if the pool has
// ended, it is disposed of here.
func (c *core[R]) disposeElsewhere(inc *incarnation[R]) {
	if c.cfg.Executor == nil || c.cfg.Dispose == nil {
		c.shelve(inc)
		return
	}
	_, _ = c.post(under(context.Background()),
		func(context.Context) { _ = c.disposeNow(inc) },
		func() { c.shelve(inc) })
}

// shelve parks inc, or disposes of it if nobody would come by.
func (c *core[R]) shelve(inc *incarnation[R]) {
	s := &c.slots[inc.slot]
	s.mu.Lock()
	ended := c.gate.load().Ended()
	if !ended {
		s.parkLocked(inc)
	}
	s.mu.Unlock()
	if ended {
		_ = c.disposeNow(inc)
	}
}

// disposeAll disposes of a list here, and returns the first failure.
func (c *core[R]) disposeAll(list *incarnation[R]) (failed error) {
	c.disposeEach(list, func(inc *incarnation[R]) {
		if err := c.disposeNow(inc); failed == nil {
			failed = err
		}
	})
	return failed
}

// disposeEach goes through list, even if one Dispose ends this goroutine with
// runtime.Goexit: then the deferred call goes on.
func (c *core[R]) disposeEach(list *incarnation[R], dispose func(*incarnation[R])) {
	if list == nil {
		return
	}
	defer func() {
		if list != nil {
			c.disposeEach(list, dispose)
		}
	}()
	for list != nil {
		inc := list
		list, inc.next = inc.next, nil
		dispose(inc)
	}
}

// disposeParked disposes of what was parked after the owner had ended.
func (c *core[R]) disposeParked() {
	for i := range c.slots {
		s := &c.slots[i]
		s.mu.Lock()
		list := s.unparkLocked()
		s.mu.Unlock()
		_ = c.disposeAll(list)
	}
}
