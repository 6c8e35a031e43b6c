package timer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

// lateClock is a clock one of whose timers, when it is armed anew for the first
// time, gets a tick that the clock had decided on before Stop.
type lateClock struct {
	*clock
	tick func(*clockTimer)
}

func (l *lateClock) NewTimer(d time.Duration) timer.ClockTimer {
	return &lateTimer{l.clock.NewTimer(d).(*clockTimer), l}
}

type lateTimer struct {
	*clockTimer
	clock *lateClock
}

func (t *lateTimer) Reset(d time.Duration) bool {
	active := t.clockTimer.Reset(d)
	if tick := t.clock.tick; tick != nil {
		t.clock.tick = nil
		tick(t.clockTimer)
	}
	return active
}

func TestLateTick(t *testing.T) {
	t.Run("TIMER-5 a tick that comes late does not block the clock", func(t *testing.T) {
		c := &lateClock{clock: newClock(t)}
		c.tick = func(ct *clockTimer) {
			ct.ch <- time.Time{}
			locked := make(chan struct{})
			go func() { // the next one, which the mock sends under its lock
				c.mu.Lock()
				defer c.mu.Unlock()
				close(locked)
				ct.ch <- time.Time{}
			}()
			<-locked
		}
		tm := start(t, timer.Config{Clock: c})
		tm.Delay(bg, time.Hour)
		synced(t, tm)
		synced(t, tm)
	})
	t.Run("TIMER-5 a tick that comes late leaves the timer armed", func(t *testing.T) {
		c := &lateClock{clock: newClock(t)}
		c.tick = func(ct *clockTimer) {
			ct.Stop()
			ct.ch <- time.Time{}
		}
		tm := start(t, timer.Config{Clock: c})
		f := tm.Delay(bg, time.Hour)
		synced(t, tm)
		synced(t, tm)
		armed, _, _ := c.counts()
		require.Equal(t, 1, armed)
		c.add(time.Hour)
		testwait.Done(t, f.Done())
	})
}
