package sched_test

import (
	"errors"
	"fmt"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

// check returns what is wrong with the world as it is.
func (w *world) check() error {
	errs := append(w.wrong[:len(w.wrong):len(w.wrong)], w.s.Check())
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	out, queued := 0, w.s.Queued()
	for i := range w.callers {
		if w.callers[i].state == held {
			out++
		}
	}
	hand := 0
	if w.hand {
		hand = 1
	}
	if w.word.Free()+out+hand != w.capacity {
		wrong("free %d + held %d + in hand %d is not %d", w.word.Free(), out, hand, w.capacity)
	}
	if !w.word.Demand() && (w.box.Len() > 0 || len(queued) > 0) && !w.ending {
		wrong("somebody waits, and there is no demand")
	}
	if w.ended && (w.hand || len(queued) > 0 || w.box.Len() > 0) {
		wrong("something is left after the end")
	}
	if !w.running && !w.woken && !w.ended { // at rest
		if err := w.s.AtRest(); err != nil {
			errs = append(errs, err)
		}
		for i := range w.callers {
			switch c := &w.callers[i]; {
			case c.state == pending && w.word.Free() > 0:
				wrong("a permit is free, and arrival %d waits", c.pushed)
			case c.state == canceled && !c.free:
				wrong("the owner keeps arrival %d, which left", c.pushed)
			}
		}
	}
	if w.ended {
		for i := range w.callers {
			if c := &w.callers[i]; c.state == pending {
				wrong("arrival %d waits for ever", c.pushed)
			}
		}
	}
	return errors.Join(errs...)
}

// clone returns an independent copy.
func (w *world) clone() *world {
	n := &world{}
	*n = *w
	n.callers = make([]caller, len(w.callers))
	n.handles = make([]party, len(w.handles))
	c := sched.Copy{
		Waiter: func(x *sched.Waiter) *sched.Waiter {
			if x == nil {
				return nil
			}
			return &n.callers[w.index(x)].Waiter
		},
		Handle: func(h *sched.Handle) *sched.Handle {
			if h == nil {
				return nil
			}
			return &n.handles[w.party(h)].Handle
		},
	}
	for i := range w.callers {
		n.callers[i] = w.callers[i]
		x := &n.callers[i]
		x.world, x.Waiter.Caller = n, x
		c.Waiters(&x.Waiter, &w.callers[i].Waiter)
	}
	for i := range w.handles {
		n.handles[i] = w.handles[i]
		c.Handles(&n.handles[i].Handle, &w.handles[i].Handle)
	}
	n.box, n.s = c.Box(w.box), c.Sched(w.s)
	n.effect.Waiter, n.taken = c.Waiter(w.effect.Waiter), c.Waiter(w.taken)
	return n
}

func (w *world) index(x *sched.Waiter) int {
	for i := range w.callers {
		if &w.callers[i].Waiter == x {
			return i
		}
	}
	panic("a waiter of another world")
}

func (w *world) party(h *sched.Handle) int {
	for i := range w.handles {
		if &w.handles[i].Handle == h {
			return i
		}
	}
	panic("a handle of another world")
}

// encode returns what tells w's future from that of other worlds.
func (w *world) encode() string {
	e := sched.Encoder{
		Waiter: func(x *sched.Waiter) byte {
			if x == nil {
				return 'z'
			}
			return byte('0' + w.index(x))
		},
		Handle: func(h *sched.Handle) byte {
			if h == nil {
				return 'z'
			}
			return byte('A' + w.party(h))
		},
	}
	e.Buf = append(e.Buf, byte(w.word.Free()), byte(w.hints))
	e.Flags(w.word.Demand(), w.word.Closed(), w.word.Failed(), w.woken, w.running, w.swept, w.busy, w.ending)
	e.Flags(w.ended, w.hand)
	e.Buf = append(e.Buf, e.Waiter(w.taken))
	if w.busy {
		e.Buf = append(e.Buf, byte(w.effect.Kind), e.Waiter(w.effect.Waiter), byte(w.effect.Reason))
	}
	for i := range w.callers {
		switch c := &w.callers[i]; {
		case c.over():
			e.Buf = append(e.Buf, 'x') // whatever it was
		default:
			e.Buf = append(e.Buf, byte(c.state))
			e.Seen(&c.Waiter)
		}
	}
	for i := range w.handles {
		e.Flags(w.handles[i].closed, w.handles[i].left)
	}
	e.Box(&w.box)
	e.Sched(&w.s)
	return string(e.Buf)
}
