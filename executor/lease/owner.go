package lease

import (
	"context"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/timer"
)

// owner is what the pool's goroutine alone touches, but for the atomics.
type owner struct {
	sched    *sched.Sched
	hand     ticket           // a permit that is nobody's yet
	holds    bool             // hand is one
	taken    *waiter          // out of the mailbox, and perhaps not yet in sched
	alarm    timer.ClockTimer // of the sweeps; nil: none
	reported bool             // the failure is in the log
	done     int              // waiters rejected and permits put back

	id     atomic.Uint64 // of the goroutine
	abroad atomic.Bool   // it runs foreign code, which must not wait for it

	// For Stats.
	waiters  atomic.Int64 // queued
	handles  atomic.Int64 // with a queued waiter
	arrivals atomic.Int64 // all that have ever been queued
}

// own is the pool's goroutine.
func (c *core[R]) own() {
	c.wearLabels() // a goroutine is born with those of whoever started it
	c.owner.id.Store(goid.ID())
	c.counts.spawned.Add(1)
	defer c.terminate()
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			v = exited
		}
		c.fail("scheduler", v)
	}()
	c.serve()
	returned = true
}

// serve returns when the pool has to end.
func (c *core[R]) serve() {
	var tick <-chan time.Time
	if d := c.cfg.SweepInterval; d > 0 {
		c.owner.alarm = c.clock.newTimer(d)
		tick = c.owner.alarm.C()
	}
	for {
		if tick == nil { // a plain receive costs a third of a select
			<-c.box.wake
			c.counts.wakes.Add(1)
		} else {
			select {
			case <-c.box.wake:
				c.counts.wakes.Add(1)
			case <-tick:
				c.abroad(func() {
					c.postSweep()
					c.owner.alarm.Reset(c.cfg.SweepInterval)
				})
			}
		}
		c.box.heed()
		if !c.turn() {
			return
		}
	}
}

// turn does all that there is to do, and returns false if the pool has to end.
func (c *core[R]) turn() bool {
	swept := false
	for !c.gate.load().Ended() {
		h, w := c.box.next()
		switch {
		case h != nil:
			c.at("deregister")
			c.carry(c.owner.sched.Deregister(h))
		case w != nil:
			c.owner.taken = w
			c.at("acquire")
			c.carry(c.owner.sched.Acquire(&w.Waiter))
			c.owner.taken = nil
		case !swept:
			swept = true
			c.at("sweep")
			c.carry(c.owner.sched.Hint())
		case c.box.calm(c.owner.sched.Len()):
			// One event, and then whoever has come meanwhile: an OnEvent that is
			// slow, or that brings about the next event, keeps nobody waiting for
			// more than itself.
			if c.deliver() {
				c.box.signal()
			}
			return true
		}
	}
	return false
}

// wearLabels has the owner carry its label.
func (c *core[R]) wearLabels() {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("lease", c.cfg.Name)))
}

// abroad runs foreign code on the owner, which may leave labels behind.
func (c *core[R]) abroad(fn func()) {
	c.owner.abroad.Store(true)
	defer func() {
		c.wearLabels()
		c.owner.abroad.Store(false)
	}()
	fn()
}

// at is a point at which tests may look, or fail.
func (c *core[R]) at(point string) {
	if c.probe != nil {
		c.probe(point)
	}
}

// carry carries out e and what follows from it.
func (c *core[R]) carry(e sched.Effect) {
	for !e.Done() {
		c.gauge() // whoever is granted has left the queue by now
		e = c.perform(e)
	}
	c.gauge()
}

// gauge publishes what Stats shows of the queue.
func (c *core[R]) gauge() {
	publish(&c.owner.waiters, int64(c.owner.sched.Len()))
	publish(&c.owner.handles, int64(c.owner.sched.Handles()))
	publish(&c.owner.arrivals, int64(c.owner.sched.Arrivals()))
}

// publish stores v, for the one who writes to, unless it is there.
func publish(to *atomic.Int64, v int64) {
	if to.Load() != v {
		to.Store(v)
	}
}

func (c *core[R]) perform(e sched.Effect) sched.Effect {
	s := c.owner.sched
	switch e.Kind {
	case sched.Prune:
		c.prune()
	case sched.Take:
		return s.Took(c.take())
	case sched.Grant:
		c.at("commit")
		return s.Committed(c.commit(e.Waiter.Caller.(*waiter)))
	case sched.Put:
		c.put()
	case sched.Reject:
		c.reject(e.Waiter.Caller.(*waiter), e.Reason)
	case sched.Drop:
		c.box.recycle(e.Waiter.Caller.(*waiter))
	}
	return s.Next()
}

// prune tells the scheduler who has left. Whom it has no pointer to any more is
// free for use again.
func (c *core[R]) prune() {
	if c.box.left.Load() == 0 {
		return
	}
	for w := c.box.nextCanceled(); w != nil; w = c.box.nextCanceled() {
		if c.owner.sched.Cancel(&w.Waiter) {
			c.box.recycle(w)
		}
	}
}

// take takes a permit into the owner's hand.
func (c *core[R]) take() bool {
	now := int64(0)
	if c.ages && c.cfg.SlotOrder == PreferWarm {
		now = c.clock.now() // ahead of the take: a foreign clock may end this goroutine
	}
	turn, ok := c.gate.takeFirst()
	if ok {
		s, t := c.pick(turn, now)
		s.mu.Unlock()
		c.owner.hand, c.owner.holds = t, true
	}
	return ok
}

// commit gives w the permit in hand, if w has not left.
func (c *core[R]) commit(w *waiter) bool {
	w.ticket = c.owner.hand
	if !w.settle(granted) {
		return false
	}
	c.owner.holds = false
	return true
}

// reject settles w, if it has not been settled: a failed owner may be asked for
// it twice.
func (c *core[R]) reject(w *waiter, why sched.Reason) {
	if w.reject(why) {
		c.owner.done++
		c.at("reject")
	}
}

// put returns the permit in hand, if there is one. A failed owner may be asked
// for it twice.
func (c *core[R]) put() {
	if c.owner.holds {
		c.owner.holds = false
		c.owner.done++
		c.putBack(c.owner.hand)
	}
}
