package supervised

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/future"
)

// delay is one timer of the fold's, from the step that asked for it. Its fields
// are under the step lock.
type delay struct {
	f *future.Future[time.Time] // nil while it is being made
	// canceled is set in the step that cancels the delay. The fold waits for
	// nothing of it any more and may have ended, so nothing of it is fed: in a
	// clean shutdown no fact comes late.
	canceled bool
}

// schedule makes a delay and feeds what becomes of it. What it leads to is
// attached only when the fold knows that the delay was accepted, so it cannot
// go off before that.
func (c *core[J, R]) schedule(role int, id fold.TimerID, d time.Duration) {
	c.makeDelay(d, func(f *future.Future[time.Time], err error) {
		ev := event[J, R]{Kind: fold.TimerScheduled, Role: role, Timer: id}
		if err != nil {
			ev.Kind, ev.Cause = fold.TimerRejected, err
		}
		c.mu.Lock()
		c.timers[id].f = f
		canceled := c.feedTimerLocked(&ev)
		if f == nil {
			delete(c.timers, id)
		}
		c.unlockAndRun()
		if f == nil {
			return
		}
		if canceled {
			f.Cancel(nil)
		}
		f.OnSettle(func(o future.Outcome[time.Time]) {
			c.mu.Lock()
			if o.Err == nil {
				c.feedTimerLocked(&event[J, R]{Kind: fold.TimerFired, Role: role, Timer: id})
			}
			delete(c.timers, id)
			c.unlockAndRun()
		})
	})
}

// feedTimerLocked feeds a fact about a delay, unless that has been canceled.
func (c *core[J, R]) feedTimerLocked(ev *event[J, R]) (canceled bool) {
	if c.timers[ev.Timer].canceled {
		return true
	}
	c.stepLocked(ev)
	c.feedFactsLocked()
	return false
}

// makeDelay asks the timer for a delay, which asks the user's clock. However
// that ends, made is called once.
func (c *core[J, R]) makeDelay(d time.Duration, made func(*future.Future[time.Time], error)) {
	var f *future.Future[time.Time]
	var err error = future.ErrGoexit
	defer func() {
		if v := recover(); v != nil {
			err = &future.PanicError{Value: v, Stack: debug.Stack()}
		}
		if err != nil {
			f = nil
		}
		made(f, err)
	}()
	f = c.timer.Delay(context.Background(), d)
	o, _ := f.Outcome()
	err = o.Err
}

// cancelTimer puts a delay off that the fold has canceled. One that is still
// being made is put off by who makes it.
func (c *core[J, R]) cancelTimer(id fold.TimerID) {
	c.mu.Lock()
	entry := c.timers[id]
	var f *future.Future[time.Time]
	if entry != nil {
		f = entry.f
	}
	c.mu.Unlock()
	if f != nil {
		f.Cancel(nil)
	}
}
