package supervised

import (
	"context"
	"log/slog"
	"runtime/debug"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/link"
)

// errand is an action that may call foreign code: the outcome of a completed
// job, a Launch in New, a timer, whose clock is the user's. The goroutine that
// fed the event runs it when it has let go of the lock, in list order. One
// without a kind is to see the letters carried, after the pool's end.
//
// Running errands of different steps in the order of the steps would take one
// goroutine at a time; then a callback that waits for another job would stop
// the pool.
type errand[J, R any] struct {
	action[J, R]
	worker    *incarnation[J, R] // of a Start
	authority *authority[J, R]   // of a Deliver and a Complete
}

// run runs the errands, all of them even if a callback calls runtime.Goexit.
func (c *core[J, R]) run(errands []errand[J, R]) {
	if len(errands) == 0 {
		return
	}
	defer c.run(errands[1:])
	e := &errands[0]
	switch e.Kind {
	case 0:
		c.carryLate()
	case fold.Start:
		c.launch(e.worker)
	case fold.Complete:
		e.authority.end() // the outcome's callbacks, which may take long, find it ended
		c.complete(&e.action)
	case fold.Deliver:
		if !e.authority.worker.inbox.put(e.authority) {
			c.undelivered(e.authority)
		}
	case fold.Schedule:
		c.schedule(e.Role, e.Timer, e.Delay)
	case fold.CancelTimer:
		c.cancelTimer(e.Timer)
	case fold.RetireStopped, fold.RetireForced:
		c.closeTimer()
	}
}

// undelivered feeds that a delivery came to nothing. If the assignment was
// revoked while it waited behind a callback its job has been returned; then the
// fold waits for nothing of it, and may have ended.
func (c *core[J, R]) undelivered(a *authority[J, R]) {
	c.mu.Lock()
	if a.state.Load() == issued {
		ev := a.event(fold.DeliveryRejected)
		c.stepLocked(&ev)
		c.feedFactsLocked()
	}
	c.unlockAndRun()
}

// closeTimer ends the pool's timer, which asks the clock for the time, and ends
// whatever that does.
func (c *core[J, R]) closeTimer() {
	c.netted(context.Background(), "the clock", func() { link.Stop(c.timer) })
}

// complete shows the outcome of a completed job. Its callbacks run on this
// goroutine.
func (c *core[J, R]) complete(a *action[J, R]) {
	o := a.Customer
	outcome := Completion[R]{Job: JobID(a.Job), Role: c.role(a.Role), Result: a.Result}
	c.netted(o.ctx, "a callback", func() {
		if o.completer.Complete(outcome) {
			return
		}
		c.diagnose(o.unclaimed(outcome.Role, nil, outcome))
	})
}

// diagnose is diagnoseLocked for who does not hold the lock.
func (c *core[J, R]) diagnose(d diagnosed) {
	c.mu.Lock()
	c.diagnoseLocked(d)
	c.unlockAndRun()
}

// launch has the user's function start a worker. What was counted for the start
// is this goroutine's until it ends: a Wait in Launch does not wait for itself,
// nor for a worker that is not there yet.
func (c *core[J, R]) launch(w *incarnation[J, R]) {
	defer c.register()()
	var err error = future.ErrGoexit
	defer func() {
		if v := recover(); v != nil {
			err = &future.PanicError{Value: v, Stack: debug.Stack()}
		}
		if err != nil && w.launched.CompareAndSwap(fresh, barred) {
			w.cancel(ErrStopRequested)
			ev := w.event(fold.StartRejected)
			ev.Cause = err
			c.feed(ev)
			return
		}
		w.handOver() // it runs, or will, whatever Launch says
		if c.feed(w.event(fold.Started)) != fold.Applied {
			w.requestStop() // the pool has ended without it
		}
	}()
	err = c.cfg.Launch(w.run)
}

// netted runs foreign code under a job's context, and reports how it ended if
// it did not return; a Goexit goes on.
func (c *core[J, R]) netted(ctx context.Context, what string, fn func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			c.log.Error(ctx, "supervised: "+what+" panicked",
				slog.String("pool", c.cfg.Name), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			return
		}
		c.log.Error(ctx, "supervised: "+what+" called runtime.Goexit", slog.String("pool", c.cfg.Name))
	}()
	fn()
	returned = true
}
