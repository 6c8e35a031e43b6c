package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Result is what came of a history.
type Result struct {
	Violation string // empty: the books balance
	Trace     string
}

// Run plays a history in a bubble of its own.
func Run(t *testing.T, h History, counts *Counts) (res Result) {
	var w *world
	defer func() {
		// The bubble panics if a goroutine is left in it.
		if r := recover(); r != nil && res.Violation == "" {
			res.Violation = fmt.Sprintf("goroutines are left: %v", r)
		}
		if w != nil {
			res.Trace = strings.Join(w.lines, "\n")
		}
	}()
	synctest.Test(t, func(*testing.T) {
		w = newWorld(h, counts)
		w.steps()
		w.end()
		res.Violation = w.violation
	})
	return res
}

// steps takes the steps, until one does not balance.
func (w *world) steps() {
	for i, op := range w.h.Ops {
		w.step, w.skip = i, false
		kinds[op.Kind].exec(w, op)
		if w.skip {
			continue
		}
		w.counts.op(op.Kind)
		w.settle()
		if w.balance(); w.failing() {
			return
		}
	}
}

// balance is all ledgers.
func (w *world) balance() {
	w.counts.mu.Lock()
	w.counts.balances++
	w.counts.mu.Unlock()
	w.ledgers()
	s := w.pool.Stats()
	w.note("    pool: %d queued, %d running, %d lent; timer: %d; %v; %v", s.Queued, s.Running, s.Lent, w.timer.Len(), w.leaseLine(), w.supLine())
}

func (w *world) ledgers() {
	w.balancePool()
	w.balanceTimers()
	w.balanceFutures()
	w.balanceLease()
	w.balanceSup()
}

// end brings everything to its end: what stands is let go, what is pending is
// settled, everything is shut down. Then every call has returned, and every
// account is closed.
func (w *world) end() {
	w.step = len(w.h.Ops)
	w.epilogue.Store(true)
	for _, k := range w.tickers {
		k.t.Stop()
		k.stopped = true
	}
	w.letGo()
	for _, c := range w.callers {
		if c.cancel != nil {
			c.cancel(c.cause)
		}
		w.letGo()
	}
	for _, f := range w.futures {
		if f.completer != nil && !f.settledNow() {
			w.calm(func() { f.completer.Fail(&ownError{"the end"}) })
		}
	}
	w.letGo()
	w.breakCircles()
	w.endLeases()
	w.letGo()
	if !w.failing() {
		w.balance()
	}
	w.timerClosing, w.poolClosing = true, true
	calls := []*call{
		w.ending("the end of the supervised pool", w.closeSup),
		w.ending("the end of the leases", w.closeLease),
		w.ending("the end of the pool", func() { _ = w.pool.Shutdown(context.Background()) }),
		w.ending("the end of the timer", func() { _ = w.timer.Shutdown(context.Background()) }),
	}
	w.letGo()
	time.Sleep(2 * time.Minute)
	w.letGo()
	for _, f := range w.futures {
		if !f.settledNow() {
			w.bad("%v has not settled, and everything has ended", f)
		}
	}
	for _, c := range append(w.calls, calls...) {
		if !c.done {
			w.bad("%q (%s) has not returned, and everything has ended", c.name, c.where)
		}
	}
	select {
	case <-w.pool.Done():
	default:
		w.bad("the pool is not done after its shutdown")
	}
	select {
	case <-w.timer.Done():
	default:
		w.bad("the timer is not done after its shutdown")
	}
	if !w.failing() {
		w.closeBooks()
	}
}

// ending makes a call that ends a subject.
func (w *world) ending(name string, fn func()) *call {
	c := &call{name: name, where: "outside"}
	go func() {
		fn()
		w.mu.Lock()
		defer w.mu.Unlock()
		c.done = true
	}()
	w.letGo()
	return c
}

// letGo has every puppet return, until none stands.
func (w *world) letGo() {
	for range 1000 {
		w.settle()
		ps := w.idle()
		if len(ps) == 0 {
			return
		}
		for _, p := range ps {
			w.mu.Lock()
			p.busy = true
			w.mu.Unlock()
			p.orders <- order{end: returned}
			w.settle()
		}
	}
	w.bad("puppets come up without end")
}

// breakCircles cancels what a history has had wait for itself, such as a task
// that awaits its own future, or holds the only worker for one that is queued.
func (w *world) breakCircles() {
	for _, a := range w.awaits {
		w.unblock(a.call, func() { a.f.cancel(nil) })
	}
	for _, c := range w.syncs {
		w.unblock(c.call, c.stop)
	}
	for _, a := range w.acquisitions {
		w.unblock(a.call, a.stop)
	}
	for _, e := range w.eaches {
		for _, f := range e.in {
			w.unblock(e.call, func() { f.cancel(nil) })
		}
	}
}

// unblock calls fn if c has not returned.
func (w *world) unblock(c *call, fn func()) {
	w.settle()
	if !c.done {
		w.calm(fn)
		w.letGo()
	}
}

// calm runs fn on a goroutine of its own, where a callback may panic.
func (w *world) calm(fn func()) {
	go func() {
		defer func() { _ = recover() }()
		fn()
	}()
	w.settle()
}

// closeBooks is what has to hold when everything has ended.
func (w *world) closeBooks() {
	w.balanceFutures()
	s := w.pool.Stats()
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Queued != 0 || s.Running != 0 || s.Workers != 0 || s.Accepted != s.Finished+s.Panicked+s.Exited+s.Skipped+s.Discarded {
		w.badLocked("the pool has ended with %+v", s)
	}
	for _, t := range w.tasks {
		if !t.accepted || t.kind >= delayed {
			continue
		}
		skipped := t.fut != nil && t.starts == 0 && t.discards == 0
		if n := t.starts + t.discards; n != 1 && !skipped {
			w.badLocked("%s was accepted, started %d times and was discarded %d times", t.what, t.starts, t.discards)
		}
	}
	w.closeLeaseBooksLocked()
	w.closeSupBooksLocked()
}
