package sched_test

import (
	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

// crash is a panic on the owner, instead of its next step.
func (w *world) crash() bool {
	if !w.running || w.ending || w.ended {
		return false
	}
	w.word = w.word.WithFailed()
	w.finish()
	return true
}

// finish is the beginning of the end.
func (w *world) finish() {
	w.ending = true
	w.box.Kill()
	if x := w.taken; x != nil {
		w.taken = nil
		if c := w.of(x); w.settle(c, refused) {
			c.why, c.free = sched.Failed, true
		}
	}
	if w.word.Failed() {
		w.do(w.s.Fail())
	} else {
		w.do(w.s.Close())
	}
}

func (w *world) do(e sched.Effect) { w.effect, w.busy = e, !e.Done() }

// step is one step of the owner.
func (w *world) step() bool {
	switch {
	case w.ended || !w.running && !w.woken:
		return false
	case !w.running:
		w.running, w.woken, w.swept = true, false, false
	case w.busy:
		w.perform()
	case w.taken != nil:
		x := w.taken
		w.taken = nil
		w.do(w.s.Acquire(x))
	case w.ending:
		_, x := w.box.Next()
		if x == nil {
			if w.ended = w.box.Empty(); w.ended {
				w.running = false
			}
			return true
		}
		w.do(w.s.Acquire(x))
	case w.word.Ended():
		w.finish()
	default:
		w.command()
	}
	return true
}

// command takes up the next thing to do, or parks.
func (w *world) command() {
	h, x := w.box.Next()
	switch {
	case h != nil:
		w.do(w.s.Deregister(h))
	case x != nil:
		w.taken = x
	case !w.swept:
		w.swept = true
		w.do(w.s.Hint())
	default:
		w.running = false
		if w.s.Len() == 0 {
			w.word = w.word.WithDemand(false)
		}
	}
}

// perform carries out one effect.
func (w *world) perform() {
	e := w.effect
	switch e.Kind {
	case sched.Prune:
		for x := w.box.Canceled(); x != nil; x = w.box.Canceled() {
			if w.s.Cancel(x) {
				w.drop(x)
			}
		}
		w.do(w.s.Next())
	case sched.Take:
		next, ok := w.word.TakeFirst()
		if ok {
			w.word, w.hand = next, true
		}
		w.do(w.s.Took(ok))
	case sched.Grant:
		c := w.of(e.Waiter)
		ok := w.settle(c, held)
		if ok {
			w.hand, c.free = false, true
			w.order(c)
			if w.ending {
				w.wrongf("a grant after the end")
			}
		}
		w.do(w.s.Committed(ok))
	case sched.Put:
		if w.hand { // else it was granted just before a crash
			w.word, w.hand = w.word.Put(), false
		}
		w.do(w.s.Next())
	case sched.Reject:
		if c := w.of(e.Waiter); w.settle(c, refused) {
			c.why, c.free = e.Reason, true
		}
		w.do(w.s.Next())
	case sched.Drop:
		w.drop(e.Waiter)
		w.do(w.s.Next())
	case sched.Stop:
		w.do(w.s.Next())
	}
}

// drop is where the owner gives a waiter up for good.
func (w *world) drop(x *sched.Waiter) {
	c := w.of(x)
	if c.state != canceled || c.free {
		w.wrongf("caller %d is dropped twice, or was not canceled", c.pushed)
	}
	c.free = true
}

// order checks that nobody who came earlier is passed over.
func (w *world) order(c *caller) {
	for i := range w.callers {
		o := &w.callers[i]
		if o.state == pending && o.pushed < c.pushed && (w.policy == sched.FIFO || o.handle == c.handle) {
			w.wrongf("arrival %d is granted before %d", c.pushed, o.pushed)
		}
	}
}
