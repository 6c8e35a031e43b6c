package lease

import (
	"context"
	"runtime"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
	"github.com/cadre-go/cadre/internal/goid"
)

// terminate is the end of the owner, as deferred functions: a hook that calls
// runtime.Goexit does not keep the later ones from running.
func (c *core[R]) terminate() {
	defer c.finishUp()
	defer c.deliverRest()
	defer c.announce()
	defer c.disposeRest()
	c.settleAll()
}

// settleAll settles everybody who waits. Then nothing can reach the owner.
func (c *core[R]) settleAll() {
	c.box.kill()
	c.emit(Event{Kind: EventClosing})
	c.settle()
}

// settle goes on from wherever a panic or a Goexit has left the owner, be it one
// of its own, as long as that comes to something: nobody may wait for ever
// because the one before could not be told.
func (c *core[R]) settle() {
	before, returned := c.owner.done, false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			v = exited
		}
		defer func() { // a Logger may exit
			if c.owner.done > before {
				c.settle()
			}
		}()
		c.fail("scheduler", v)
	}()
	s, why := c.owner.sched, sched.Closed
	end := s.Close
	if c.gate.load().Failed() {
		end, why = s.Fail, sched.Failed
	}
	if w := c.owner.taken; w != nil { // the scheduler may not have heard of it
		c.owner.taken = nil
		c.reject(w, why)
	}
	c.carry(end())
	c.put()
	for {
		h, w := c.box.next()
		if h == nil && w == nil {
			returned = true
			return
		}
		if w != nil {
			c.owner.taken = w
			c.carry(s.Acquire(&w.Waiter))
			c.owner.taken = nil
		}
	}
}

// disposeRest disposes of what nobody uses. What is in use, or being connected
// or validated, is for whoever does that.
func (c *core[R]) disposeRest() {
	var dead *incarnation[R]
	for i := range c.slots {
		s := &c.slots[i]
		s.mu.Lock()
		for list := s.unparkLocked(); list != nil; {
			inc := list
			list = inc.next
			inc.next, dead = dead, inc
		}
		if s.flight == nil { // else who takes it off does it
			if inc := s.vacateLocked(); inc != nil {
				inc.next, dead = dead, inc
			}
		}
		s.mu.Unlock()
	}
	c.disposeEach(dead, c.disposeElsewhere)
}

// announce reports how the pool ends: the event first, for a Logger may end this
// goroutine.
func (c *core[R]) announce() {
	err := c.terminal()
	if e, failed := err.(*SchedulerFailedError); failed {
		c.emit(Event{Kind: EventFailed, Err: err})
		c.owner.reported = true
		c.reportFailure(e, "lease: pool failed")
		return
	}
	c.emit(Event{Kind: EventClosed})
	c.log.Info(context.Background(), "lease: pool closed", c.attrs()...)
}

// finishUp is the last thing that the owner does.
func (c *core[R]) finishUp() {
	defer c.life.changed()
	defer c.life.terminate()
	defer c.unlist()
	defer c.announceLate()
	if c.owner.alarm != nil {
		c.owner.alarm.Stop()
	}
}

// announceLate reports a failure in the last event.
func (c *core[R]) announceLate() {
	if e, failed := c.terminal().(*SchedulerFailedError); failed && !c.owner.reported {
		c.reportFailure(e, "lease: pool failed")
	}
}

// close begins the end.
func (c *core[R]) close() {
	for _, end := range c.life.close(&c.gate) {
		end(c.terminal())
	}
	c.box.signal()
}

// inside reports whether this is the pool's goroutine.
func (c *core[R]) inside() bool { return c.owner.id.Load() == goid.ID() }

// changed tells of a permit or a resource that has come back after the end.
func (c *core[R]) changed() { c.life.changed() }

// quiet reports whether all permits are back and all resources gone.
func (c *core[R]) quiet() bool {
	return c.gate.load().Free() == len(c.permits) && c.alive.Load() == 0
}

// Close ends the pool: nothing is granted any more, everybody who waits gets a
// [*ClosedError], the contexts of Connects and Validates in progress end, idle
// resources are disposed of, and the pool's goroutine ends. Close returns when
// it has. It does not wait for leases, which stay usable and are released as
// ever, nor for a Connect.
//
// It returns nil, the failure of a pool that has failed, or a [*ClosedError] for
// the zero Pool. It may be called any number of times, from any goroutine and any hook; on the pool's own, in
// OnEvent or a Dispose, it does not wait, and returns nil.
func (p *Pool[R]) Close() error {
	c := p.open()
	if c == nil {
		return &ClosedError{}
	}
	defer runtime.KeepAlive(p.anchor)
	p.anchor.cleanup.Stop()
	c.close()
	if c.inside() {
		return nil
	}
	<-c.life.done
	return c.closeError()
}

// closeError is the failure of a pool that has ended with one.
func (c *core[R]) closeError() error {
	if err := c.terminal(); err != c.life.closed {
		return err
	}
	return nil
}

// Shutdown is [Pool.Close], and waits until every lease is released and every
// resource that was not detached is disposed of. If ctx ends first it returns a
// [*ShutdownError] that names the leases that are out, and may be called again.
// On the pool's own goroutine it does not wait; in a hook on any other, and while
// the caller has a lease, it waits for what cannot come. A nil ctx is a
// [*ConfigError] and does nothing; the zero Pool returns a [*ClosedError].
func (p *Pool[R]) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return nilContext()
	}
	c := p.open()
	if c == nil {
		return &ClosedError{}
	}
	defer runtime.KeepAlive(p.anchor)
	if c.inside() {
		return p.Close()
	}
	p.anchor.cleanup.Stop()
	c.close()
	for {
		change := c.life.next()
		if c.life.ended() {
			c.disposeParked()
			if c.quiet() {
				return c.closeError()
			}
		}
		select {
		case <-change:
		case <-ctx.Done():
			if c.life.ended() && c.quiet() {
				return c.closeError()
			}
			return &ShutdownError{Pool: c.cfg.Name, Cause: context.Cause(ctx), Outstanding: c.outstanding(), err: ctx.Err()}
		}
	}
}

// Done returns a channel that is closed when the pool's goroutine has ended.
func (p *Pool[R]) Done() <-chan struct{} {
	c := p.open()
	if c == nil {
		return closedChan
	}
	return c.life.done
}

var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Err returns nil until Done is closed, and then a [*ClosedError] or a
// [*SchedulerFailedError].
func (p *Pool[R]) Err() error {
	c := p.open()
	if c == nil {
		return &ClosedError{}
	}
	if !c.life.ended() {
		return nil
	}
	return c.terminal()
}
