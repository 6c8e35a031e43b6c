package timer_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
	back             atomic.Int64 // how far it is set back
	fail             func()
}

func (c *sickClock) Now() time.Time {
	if c.readings.Add(-1) >= 0 {
		c.fail()
	}
	return time.Now().Add(-time.Duration(c.back.Load()))
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
	t.Run("TIMER-5 it is asked again when the nearest deadline has come", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &sickClock{fail: func() { panic("boom") }}
			tm := start(t, timer.Config{Clock: c, Logger: (&records{}).logger()})
			began := time.Now()
			f := tm.Delay(bg, 10*time.Second)
			time.Sleep(4 * time.Second)
			c.readings.Store(1)
			require.NoError(t, tm.Sync(bg), "has it fail, and waits until it is asked again")
			futuretest.RequireSettled(t, f)
			require.Equal(t, 10*time.Second, time.Since(began))
		})
	})
	t.Run("TIMER-5 a deadline at the last good reading does not keep it from being asked again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &sickClock{}
			c.fail = func() {
				stack := make([]byte, 4096)
				if containsLife(stack[:runtime.Stack(stack, false)]) {
					panic("boom")
				}
			}
			tm := start(t, timer.Config{Clock: c, Logger: (&records{}).logger()})
			tm.Delay(bg, time.Hour)
			synctest.Wait()
			began := time.Now()
			c.back.Store(int64(10 * time.Second))
			c.readings.Store(2) // of the call, which is well, and of the goroutine
			f := tm.Delay(bg, 10*time.Second)
			futuretest.Await(t, f)
			require.Less(t, time.Since(began), time.Minute)
		})
	})
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
