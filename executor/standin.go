package executor

import (
	"context"
	"log/slog"
	"runtime/pprof"

	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/goid"
)

// Await waits under t's context for done. Meanwhile, for as long as there is a
// task of the same pool, still queued, that p depends on, t lends its slot to
// that task: a stand-in goroutine runs it out of turn, one at a time. So tasks
// that wait for tasks cannot starve their pool, whatever its size.
//
// Not on t's own stack: a runtime.Goexit of the other task would end both, and
// Await could not return when ctx ends.
func (t *task) Await(ctx context.Context, p frame.Producer, done <-chan struct{}) {
	c := t.core
	for {
		again, forget := never, func() {}
		found, _ := p.Find(c).(*task)
		if found == nil {
			// Look once more when it will be noticed if something is queued.
			again, forget = c.watchQueue()
			found, _ = p.Find(c).(*task)
		}
		if found != nil {
			forget()
			if again = c.lend(ctx, t, found, done); again == nil {
				continue // somebody else runs it now
			}
			forget = func() {}
		}
		select {
		case <-done:
			forget()
			return
		case <-ctx.Done():
			forget()
			return
		case <-again:
			forget()
		}
	}
}

// never is a channel that nothing comes from.
var never <-chan struct{}

// watchQueue returns a channel that is closed when an operation is queued from
// now on, until forget is called.
func (c *core) watchQueue() (again <-chan struct{}, forget func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lookers.Add(1)
	if c.look == nil {
		c.look = make(chan struct{})
	}
	return c.look, func() { c.lookers.Add(-1) }
}

func (c *core) lookAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.look != nil {
		close(c.look)
		c.look = nil
	}
}

// lend runs found on t's slot, when it is t's turn to lend it. It returns a
// channel that is closed when the slot is back; nil if found is not queued any
// more; never if there is nothing to do but wait for done or ctx.
func (c *core) lend(ctx context.Context, t, found *task, done <-chan struct{}) <-chan struct{} {
	token := c.turn(t)
	if token == nil { // t has ended, and has no slot to lend
		return never
	}
	select {
	case token <- struct{}{}:
	case <-done:
		return never
	case <-ctx.Done():
		return never
	}
	back := make(chan struct{})
	if !c.startStandIn(t, found, func() { <-token; close(back) }) {
		<-token
		return nil
	}
	return back
}

// turn makes sure that a task lends its slot to one stand-in at a time.
type turn struct {
	task  *task
	token chan struct{} // full while the slot is lent
}

// turn returns t's token channel, or nil if t does not run.
func (c *core) turn(t *task) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !t.active() {
		return nil
	}
	now := t.seat.turn.Load()
	if now == nil || now.task != t {
		now = &turn{t, make(chan struct{}, 1)}
		t.seat.turn.Store(now)
	}
	return now.token
}

// startStandIn takes found out of the queue and runs it in t's place; back is
// called at the end. It returns false if found was not queued any more.
func (c *core) startStandIn(t, found *task, back func()) bool {
	c.mu.Lock()
	if !t.active() {
		c.mu.Unlock()
		return false
	}
	var accepted func(error)
	if found.claim(lent) {
		c.queue.leave()
	} else if accepted = c.takeWaiterLocked(found); accepted == nil {
		c.mu.Unlock()
		return false
	}
	c.lent++
	g := &guest{seat: seat{core: c, index: t.seat.index, lender: t.seat}}
	c.enterLocked(g)
	c.mu.Unlock()
	go g.standIn(found, back)
	if accepted != nil {
		accepted(nil)
	}
	c.freed(c.queue.out()) // the place that found had
	return true
}

// endedLent accounts for the end of a task on a stand-in: the slot is back.
func (c *core) endedLent(state uint64) {
	c.mu.Lock()
	c.lent--
	if state != finished {
		c.ends[state]++
	}
	c.mu.Unlock()
}

// Report logs a failure of foreign code under t.
func (t *task) Report(msg string, err error) {
	t.core.log.Error(t, msg, t.core.logAttrs(slog.Any("error", err))...)
}

// guest is a goroutine of the pool beside its workers.
type guest struct {
	seat
	next, prev *guest
}

// guests is the list of those that run.
type guests struct{ first *guest }

func (l *guests) add(g *guest) {
	g.next = l.first
	if g.next != nil {
		g.next.prev = g
	}
	l.first = g
}

func (l *guests) remove(g *guest) {
	if g.prev != nil {
		g.prev.next = g.next
	} else {
		l.first = g.next
	}
	if g.next != nil {
		g.next.prev = g.prev
	}
}

// standIn is the goroutine that runs one lent task.
func (g *guest) standIn(t *task, back func()) {
	defer g.core.leaveGuest(g)
	defer back()
	pprof.SetGoroutineLabels(g.core.labels)
	g.id.Store(goid.ID())
	g.run(t)
}
