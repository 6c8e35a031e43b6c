package supervised

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/future"
)

// delay is one timer of the fold's.
type delay struct {
	f        *future.Future[time.Time] // nil while it is being made
	canceled bool
}

// schedule makes a delay and feeds what becomes of it. What it leads to is
// attached only when the fold knows that the delay was accepted, so it cannot
// go off before that.
func (c *core[J, R]) schedule(role int, id fold.TimerID, d time.Duration) {
	entry := &delay{}
	c.mu.Lock()
	c.timers[id] = entry
	c.mu.Unlock()

	ev := event[J, R]{Role: role, Timer: id}
	f, err := c.makeDelay(d)
	if err != nil {
		c.mu.Lock()
		delete(c.timers, id)
		c.mu.Unlock()
		ev.Kind, ev.Cause = fold.TimerRejected, err
		c.feed(ev)
		return
	}
	c.mu.Lock()
	entry.f = f
	canceled := entry.canceled
	c.mu.Unlock()
	ev.Kind = fold.TimerScheduled
	c.feed(ev)
	if canceled {
		f.Cancel(nil)
	}
	f.OnSettle(func(o future.Outcome[time.Time]) {
		c.mu.Lock()
		delete(c.timers, id)
		c.mu.Unlock()
		if o.Err == nil {
			c.feed(event[J, R]{Kind: fold.TimerFired, Role: role, Timer: id})
		}
	})
}

// makeDelay asks the timer for a delay, which asks the user's clock.
func (c *core[J, R]) makeDelay(d time.Duration) (f *future.Future[time.Time], err error) {
	defer func() {
		if v := recover(); v != nil {
			f, err = nil, &future.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	f = c.timer.Delay(context.Background(), d)
	if o, settled := f.Outcome(); settled && o.Err != nil {
		return nil, o.Err
	}
	return f, nil
}

// cancelTimer puts a delay off, be it made or being made.
func (c *core[J, R]) cancelTimer(id fold.TimerID) {
	c.mu.Lock()
	entry := c.timers[id]
	var f *future.Future[time.Time]
	if entry != nil {
		entry.canceled = true
		f = entry.f
	}
	c.mu.Unlock()
	if f != nil {
		f.Cancel(nil)
	}
}
