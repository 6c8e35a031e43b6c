package executor

import (
	"context"
	"log/slog"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/internal/link"
)

// bound ends a wait: a context, or a timer of the pool's clock.
type bound struct {
	ctx     context.Context
	expired <-chan time.Time
}

// cause says why the wait ended, and with what Err.
func (b bound) cause() (cause, err error) {
	if err := b.ctx.Err(); err != nil {
		return context.Cause(b.ctx), err
	}
	return context.DeadlineExceeded, context.DeadlineExceeded
}

// insideCall is a call of Shutdown on a goroutine of the pool. It does not wait
// for goroutines that are themselves inside such a call, nor for those that
// wait for such a goroutine's task.
type insideCall struct {
	seats []*seat // the caller's, and those whose slots it runs on
	timer bool    // the caller is the timer's goroutine

	rest   chan struct{} // closed when all others had ended at some instant
	rested bool
}

// shutdown closes the pool and waits within b; see Pool.Shutdown.
func (c *core) shutdown(b bound) error {
	c.close() // whatever the clock does
	started := c.now()
	err := c.await(b)
	c.announce(err == nil, c.now()-started)
	return err
}

// close refuses new work from this instant on.
func (c *core) close() {
	c.queue.close()
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.refuseWaiters()
	for range c.workers {
		c.idle.wakeOne()
	}
	link.Stop(c.timer)
}

// await waits until the pool has ended, or all of it that a call from inside
// can wait for. At the end of b it escalates.
func (c *core) await(b bound) error {
	ended := c.done
	if call := c.callFromInside(); call != nil {
		defer c.leaveCall(call)
		ended = call.rest
	}
	select {
	case <-ended:
		return nil
	case <-b.ctx.Done():
	case <-b.expired:
	}
	select {
	case <-ended: // what has ended wins over a ctx that has
		return nil
	default:
		return c.giveUp(b)
	}
}

// callFromInside registers a call of Shutdown on one of the pool's own
// goroutines; nil if this is none of them.
func (c *core) callFromInside() *insideCall {
	id := goid.ID()
	call := &insideCall{timer: link.Inside(c.timer, id)}
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := c.seatLocked(id); s != nil; s = s.lender {
		call.seats = append(call.seats, s)
	}
	if !call.timer && call.seats == nil {
		return nil
	}
	call.rest = make(chan struct{})
	for _, s := range call.seats {
		c.callsLocked(s, 1)
	}
	c.inside = append(c.inside, call)
	c.changedLocked()
	return call
}

// aloneLocked notes that whoever lent g its slot does not wait for it any more,
// and so not for a call of Shutdown on it either.
func (c *core) aloneLocked(g *guest) {
	g.lender = nil
	for _, call := range c.inside {
		if at := slices.Index(call.seats, &g.seat); at >= 0 {
			for _, s := range call.seats[at+1:] {
				c.callsLocked(s, -1)
			}
			call.seats = call.seats[:at+1]
		}
	}
}

func (c *core) leaveCall(call *insideCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range call.seats {
		c.callsLocked(s, -1)
	}
	c.inside = slices.DeleteFunc(c.inside, func(other *insideCall) bool { return other == call })
}

// callsLocked adds n to the calls of s.
func (c *core) callsLocked(s *seat, n int) {
	before := s.calls > 0
	s.calls += n
	switch after := s.calls > 0; {
	case after && !before:
		c.calling++
	case before && !after:
		c.calling--
	}
}

// seatLocked returns the seat of goroutine id.
func (c *core) seatLocked(id uint64) *seat {
	for _, w := range c.workers {
		if w.id.Load() == id && !w.gone {
			return &w.seat
		}
	}
	for g := c.guests.first; g != nil; g = g.next {
		if g.id.Load() == id {
			return &g.seat
		}
	}
	return nil
}

// changedLocked follows up on a change of alive or of inside. It is called for
// each goroutine that ends, so it looks at none of the others: that would take
// time squared.
func (c *core) changedLocked() {
	if len(c.inside) == 0 {
		return
	}
	outside := c.alive - c.calling
	if outside == 1 && slices.ContainsFunc(c.inside, func(call *insideCall) bool { return call.timer }) {
		outside--
	}
	if outside > 0 {
		return
	}
	for _, call := range c.inside {
		if !call.rested {
			call.rested = true
			close(call.rest)
		}
	}
}

// enterLocked counts a goroutine that is about to start.
func (c *core) enterLocked(g *guest) {
	c.guests.add(g)
	c.alive++
}

// leave is the last thing that a goroutine of the pool does: w's or g's, or the
// timer's if both are nil. The last of all ends the pool.
func (c *core) leave(w *worker, g *guest) {
	if w != nil {
		c.passOn() // the others may go too
	}
	c.mu.Lock()
	if w != nil {
		w.gone = true
		c.callsLocked(&w.seat, -w.calls)
	}
	if g != nil {
		c.guests.remove(g)
		c.callsLocked(&g.seat, -g.calls)
	}
	c.alive--
	last := c.alive == 0
	if c.closing {
		c.changedLocked()
	}
	c.mu.Unlock()
	if last {
		c.end(ErrClosed)
		close(c.done)
	}
}

// giveUp is the end of a wait that b cut short. The first one escalates.
func (c *core) giveUp(b bound) error {
	dropped := c.escalate()
	cause, err := b.cause()
	e := &ShutdownError{Pool: c.Name, Cause: cause, Running: c.left(), ctxErr: err}
	for _, t := range dropped {
		e.Discarded = append(e.Discarded, TaskInfo{Worker: -1, Diagnostics: diagnostics.Capture(t)})
	}
	return e
}

// escalate discards what is queued and cancels what runs, once. When it
// returns, to whomever, every discarded task has its outcome.
func (c *core) escalate() (dropped []*task) {
	c.mu.Lock()
	if settled := c.escalated; settled != nil {
		c.mu.Unlock()
		<-settled
		return nil
	}
	if c.alive == 0 { // it has just ended by itself
		c.mu.Unlock()
		return nil
	}
	settled := make(chan struct{})
	c.escalated = settled
	dropped = c.dropLocked()
	g := &guest{seat: seat{core: c}}
	c.enterLocked(g)
	c.mu.Unlock()

	reason := &discardedError{c.Name}
	callbacks := make([]func(), len(dropped))
	for i, t := range dropped {
		callbacks[i] = t.job.discard(reason)
		t.job = nil
	}
	c.end(ErrClosed)
	link.Abort(c.timer)
	close(settled)
	go g.discard(dropped, callbacks, reason)
	return dropped
}

// announce writes the one record of the end.
func (c *core) announce(drained bool, took time.Duration) {
	c.mu.Lock()
	first := !c.announced
	c.announced = true
	c.mu.Unlock()
	if first {
		c.log.Info(context.Background(), "executor: shut down", c.logAttrs(
			slog.Int("size", c.Size), slog.Bool("drained", drained), slog.Duration("duration", took))...)
	}
}

// discard is the goroutine that tells of discarded tasks.
func (g *guest) discard(dropped []*task, callbacks []func(), reason error) {
	left := dropped
	defer func() {
		if len(left) > 0 { // a callback called runtime.Goexit
			go g.discard(left, callbacks[len(dropped)-len(left):], reason)
			return
		}
		g.core.leave(nil, g)
	}()
	pprof.SetGoroutineLabels(g.core.labels)
	g.id.Store(goid.ID())
	for i, t := range dropped {
		left = dropped[i+1:]
		g.tell(t, callbacks[i], reason)
	}
}

// tell runs what is foreign about one discarded task, each under a net of its
// own.
func (g *guest) tell(t *task, callbacks func(), reason error) {
	c := g.core
	defer pprof.SetGoroutineLabels(c.labels)
	if callbacks != nil {
		defer c.netted(t, "a callback", callbacks)
	}
	c.netted(t, "the context of a discarded task", func() { // a foreign one may
		if frame.Labeled(t.values) {
			pprof.SetGoroutineLabels(t)
		}
	})
	c.log.Warn(t, "executor: task discarded", c.logAttrs(slog.Any("error", reason))...)
	if c.OnDiscard != nil {
		c.netted(t, "OnDiscard", func() { c.OnDiscard(t, reason) })
	}
}

// netted runs foreign code under t, and reports how it ended if it did not
// return; a Goexit goes on.
func (c *core) netted(t *task, what string, fn func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			c.reportEnd(t, what+" panicked", v, debug.Stack())
			return
		}
		c.reportEnd(t, what+" called runtime.Goexit", future.ErrGoexit, nil)
	}()
	fn()
	returned = true
}

// dropLocked takes everything out of the queue.
func (c *core) dropLocked() []*task {
	var dropped []*task
	for {
		t, _, _ := c.queue.take(discarded, false) // not frozen: that takes mu
		if t != nil {
			dropped = append(dropped, t)
			c.ends[discarded]++
			c.queue.leave()
		} else if c.queue.drained() {
			return dropped
		} else {
			runtime.Gosched() // whoever has the next ticket is about to push
		}
	}
}
