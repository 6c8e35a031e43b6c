package executor

import (
	"context"
	"log/slog"
	"runtime"
	"runtime/pprof"

	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/goid"
)

// Await waits under t's context for done. Meanwhile, for as long as there is a
// task of the same pool, not yet started, that p depends on, t lends its slot
// to that task: a stand-in goroutine runs it out of turn, one at a time. So
// tasks that wait for tasks cannot starve their pool, whatever its size.
//
// Not on t's own stack: a runtime.Goexit of the other task would end both, and
// Await could not return when ctx ends.
//
// A task that has ended has no slot to lend: a wait under its context, which
// somebody kept, is a plain one.
func (t *task) Await(ctx context.Context, p frame.Producer, done <-chan struct{}) {
	c := t.core
	end, life := t.ends(ctx)
	var look <-chan struct{}
	for t.active() {
		// What has happened already is no reason to run anything.
		select {
		case <-done:
			return
		default:
		}
		if ctx.Err() != nil {
			return
		}
		again := look
		var g *guest
		started := false
		if found, _ := p.Find(c).(*task); found != nil {
			if g, started = c.lend(t, found); g == nil {
				continue // somebody else has taken it, or t has ended
			}
			if !started && g.id.Load() == goid.ID() {
				// This is a callback on the stand-in itself, which cannot
				// wait for its own end: its task lends what it was lent.
				g.current.Load().Await(ctx, p, done)
				return
			}
			again = nil
			if !started || !owns(p, found) { // else done is closed as the slot comes back
				again = g.slotBack()
			}
		} else if look == nil {
			// Look once more when it will be noticed if something is queued.
			look = c.watchQueue()
			continue
		}
		select {
		case <-again:
			if g == nil {
				look = nil
			}
			continue
		case <-done:
		case <-end:
		case <-life:
			if ctx.Err() == nil { // it has outlived t, and so the pool
				end, life = ctx.Done(), nil
				continue
			}
		}
		if started {
			g.unwatched()
		}
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// ends returns two channels, one of which is closed when ctx ends; life may be
// nil. The context that a submitted function was given is not made to build its
// cancellation for this.
func (t *task) ends(ctx context.Context) (end, life <-chan struct{}) {
	if own, ok := ctx.(*runCtx); ok && own.Parent == context.Context(t) {
		return own.Canceled(), t.Done()
	}
	return ctx.Done(), nil
}

// watchQueue returns a channel that is closed when an operation is queued from
// now on.
func (c *core) watchQueue() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.look == nil {
		c.look = make(chan struct{})
		c.looking.Store(true)
	}
	return c.look
}

// lookAgain wakes those who watch the queue.
func (c *core) lookAgain() {
	if !c.looking.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.look != nil {
		close(c.look)
		c.look = nil
		c.looking.Store(false)
	}
}

// lend has found run on t's slot, which is out of the queue then. It returns
// the stand-in that runs it, and true; or the one that has the slot already; or
// nil if found does not wait any more or t has ended.
func (c *core) lend(t, found *task) (g *guest, started bool) {
	c.mu.Lock()
	if !t.active() {
		c.mu.Unlock()
		return nil, false
	}
	if g := t.seat.out; g != nil && g.host == t {
		c.mu.Unlock()
		return g, false
	}
	var accepted func(error)
	if found.claim(lent) {
		c.queue.leave()
	} else if accepted = c.takeWaiterLocked(found); accepted == nil {
		c.mu.Unlock()
		return nil, false
	}
	c.lent++
	g = &guest{host: t}
	g.seat = seat{core: c, index: t.seat.index, lender: t.seat, guest: g}
	t.seat.out = g
	c.enterLocked(g)
	c.mu.Unlock()
	go g.standIn(found)
	if accepted != nil {
		accepted(nil)
	}
	c.freed(c.queue.out()) // the place that found had
	return g, true
}

// endedLent accounts for the end of a task on a stand-in: the slot is back, for
// the next one even while callbacks of this one still run. These may belong to
// the task that lent it, and wait for others in their turn.
func (g *guest) endedLent(state uint64) {
	c := g.core
	c.mu.Lock()
	c.lent--
	if state != finished {
		c.ends[state]++
	}
	if lender := g.host.seat; lender.out == g {
		lender.out = nil // an idle worker keeps nothing of what ran on its slot
	}
	g.host, g.lender = nil, nil
	back := g.back
	c.mu.Unlock()
	if back != nil {
		close(back)
	}
}

// slotBack returns a channel that is closed when the slot is back.
func (g *guest) slotBack() <-chan struct{} {
	g.core.mu.Lock()
	defer g.core.mu.Unlock()
	if g.back == nil {
		g.back = make(chan struct{})
		if g.host == nil {
			close(g.back)
		}
	}
	return g.back
}

// owns reports whether t is the task of the operation p itself, whose future
// settles as t ends, with nothing foreign between.
func owns(p frame.Producer, t *task) bool {
	o, ok := p.(interface{ owns(*task) bool })
	return ok && o.owns(t)
}

// unwatched notes that whoever had g started has stopped waiting for it.
func (g *guest) unwatched() {
	g.core.mu.Lock()
	defer g.core.mu.Unlock()
	if g.host != nil { // else it is noted already
		g.core.aloneLocked(g)
	}
}

// Report logs a failure of foreign code under t.
func (t *task) Report(msg string, err error) {
	t.core.log.Error(t, msg, t.core.logAttrs(slog.Any("error", err))...)
}

// guest is a goroutine of the pool beside its workers: the discarder, or a
// stand-in.
type guest struct {
	seat
	next, prev *guest

	// Under core.mu.
	host *task         // whose slot it has; nil when that is back
	back chan struct{} // of slotBack; nil until somebody asks

	header [32]byte // of its stack trace
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
func (g *guest) standIn(t *task) {
	defer g.core.leave(nil, g)
	pprof.SetGoroutineLabels(g.core.labels)
	g.id.Store(goid.Parse(g.header[:runtime.Stack(g.header[:], false)]))
	g.run(t)
}

// aside runs fn, which is foreign, under a net on a goroutine of its own. The
// pool waits for it, unless it has ended.
func (c *core) aside(fn func()) {
	g := &guest{seat: seat{core: c}}
	labels := c.labels
	if c == none {
		labels = context.Background()
	}
	c.mu.Lock()
	counted := c.alive > 0
	if counted {
		c.enterLocked(g)
	}
	c.mu.Unlock()
	go func() {
		if counted {
			defer c.leave(nil, g)
		}
		pprof.SetGoroutineLabels(labels)
		g.id.Store(goid.ID())
		contained(fn)
	}()
}
