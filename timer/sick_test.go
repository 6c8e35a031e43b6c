package timer_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

// sickClock is package time whose NewTimer or Now fails a number of times, from
// when it is told to.
type sickClock struct {
	timers, readings atomic.Int64 // failures that are left
	fail             func()
}

func (c *sickClock) Now() time.Time {
	if c.readings.Add(-1) >= 0 {
		c.fail()
	}
	return time.Now()
}

func (c *sickClock) NewTimer(d time.Duration) timer.ClockTimer {
	if c.timers.Add(-1) >= 0 {
		c.fail()
	}
	return wallTimer{time.NewTimer(d)}
}

type wallTimer struct{ *time.Timer }

func (t wallTimer) C() <-chan time.Time { return t.Timer.C }

func TestSickClock(t *testing.T) {
	for how, fail := range failures {
		t.Run("TIMER-5 no deadline is lost when a clock fails as the alarm is set: "+how, func(t *testing.T) {
			for _, times := range []int64{1, 5} {
				var log records
				c := &sickClock{fail: fail}
				c.timers.Store(times)
				tm := start(t, timer.Config{Clock: c, Logger: log.logger()})
				f := tm.Delay(bg, 20*time.Millisecond)
				testwait.Done(t, f.Done()) // and nobody uses the timer meanwhile
			}
		})
		t.Run("TIMER-5 no deadline is lost when a clock fails as it is read: "+how, func(t *testing.T) {
			for _, times := range []int64{1, 5} {
				var log records
				c := &sickClock{fail: fail}
				tm := start(t, timer.Config{Clock: c, Logger: log.logger()})
				f := tm.Delay(bg, 20*time.Millisecond)
				synced(t, tm)
				c.readings.Store(times)
				testwait.Done(t, f.Done())
				require.Len(t, log.all(), int(times))
			}
		})
		t.Run("TIMER-7 the shutdown begins even if the clock fails: "+how, func(t *testing.T) {
			c := &sickClock{fail: fail}
			tm := start(t, timer.Config{Clock: c})
			f := tm.Delay(bg, time.Hour)
			synced(t, tm)
			c.readings.Store(1)
			testwait.Call(t, func() {
				defer func() { _ = recover() }() // it is the caller who asks the clock
				_ = tm.Close()
			})
			testwait.Done(t, tm.Done())
			require.ErrorIs(t, futuretest.RequireSettled(t, f).Err, timer.ErrClosed)
		})
	}
}
