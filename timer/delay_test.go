package timer_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

func at(d time.Duration) time.Time { return time.Unix(0, 0).Add(d) }

func TestDelay(t *testing.T) {
	t.Run("TIMER-1 the first positive delay starts the one goroutine", func(t *testing.T) {
		gone(t, 0) // those of other tests
		tm, c := mocked(t)
		tm.Delay(bg, 0)
		tm.Delay(bg, -1)
		tm.At(bg, at(0))
		require.Zero(t, goroutines())
		for i := range 1000 {
			tm.Delay(bg, time.Duration(i+1))
		}
		require.Equal(t, 1, goroutines())
		c.add(time.Second)
		synced(t, tm)
		require.Equal(t, 1, goroutines())
		require.Zero(t, tm.Len())
	})
	t.Run("TIMER-1 TIMER-5 with nothing outstanding the clock's timer is stopped", func(t *testing.T) {
		tm, c := mocked(t)
		f := tm.Delay(bg, time.Hour)
		synced(t, tm)
		armed, _, _ := c.counts()
		require.Equal(t, 1, armed)
		f.Cancel(nil)
		synced(t, tm)
		armed, _, _ = c.counts()
		require.Zero(t, armed)
	})
	t.Run("TIMER-2 zero settles before it returns", func(t *testing.T) {
		tm, _ := mocked(t)
		require.Equal(t, at(0), futuretest.RequireSettled(t, tm.Delay(bg, 0)).Value)
	})
	t.Run("TIMER-2 negative fails and starts nothing", func(t *testing.T) {
		gone(t, 0)
		tm, _ := mocked(t)
		o := futuretest.RequireSettled(t, tm.Delay(bg, -1))
		require.ErrorIs(t, o.Err, timer.ErrNegativeDelay)
		require.Zero(t, tm.Len())
		require.Zero(t, goroutines())
	})
	t.Run("TIMER-2 the longest duration never fires early", func(t *testing.T) {
		tm, c := mocked(t)
		c.add(time.Hour)
		synced(t, tm)
		var fs []*future.Future[time.Time]
		for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - time.Hour} {
			fs = append(fs, tm.Delay(bg, d))
		}
		fs = append(fs, tm.At(bg, at(math.MaxInt64).Add(time.Second)))
		c.set(at(math.MaxInt64)) // an hour before the first ones are due
		synced(t, tm)
		for _, f := range fs {
			futuretest.RequirePending(t, f)
		}
		require.Equal(t, 4, tm.Len())
	})
	t.Run("TIMER-2 a long delay that fits fires on time", func(t *testing.T) {
		tm, c := mocked(t)
		f := tm.Delay(bg, math.MaxInt64-1)
		c.set(at(math.MaxInt64 - 2))
		synced(t, tm)
		futuretest.RequirePending(t, f)
		c.add(1)
		synced(t, tm)
		futuretest.RequireSettled(t, f)
	})
	t.Run("TIMER-2 the order of answers", func(t *testing.T) {
		cause := errors.New("cause")
		ended, cancel := context.WithCancelCause(bg)
		cancel(cause)
		var noCtx context.Context
		err := func(f *future.Future[time.Time]) error {
			t.Helper()
			return futuretest.RequireSettled(t, f).Err
		}
		tm := start(t, timer.Config{Limit: 1, Name: "limited"})
		tm.Delay(bg, time.Hour)

		require.ErrorIs(t, err(tm.Delay(noCtx, -1)), timer.ErrConfig)
		require.ErrorIs(t, err(tm.At(noCtx, time.Time{})), timer.ErrConfig)
		require.ErrorIs(t, err(tm.Delay(ended, -1)), timer.ErrNegativeDelay)
		for _, f := range []*future.Future[time.Time]{tm.Delay(ended, 0), tm.At(ended, time.Time{})} {
			require.ErrorIs(t, err(f), cause)
			require.ErrorIs(t, err(f), context.Canceled)
			require.True(t, futuretest.RequireSettled(t, f).Canceled())
		}
		require.NoError(t, err(tm.Delay(bg, 0)), "zero before Limit")
		require.NoError(t, err(tm.At(bg, time.Time{})))
		require.ErrorIs(t, err(tm.Delay(bg, 1)), timer.ErrLimit)
		require.ErrorContains(t, err(tm.Delay(bg, 1)), `"limited"`)
		require.Equal(t, 1, tm.Len())

		require.NoError(t, tm.Close())
		require.ErrorIs(t, err(tm.Delay(noCtx, 1)), timer.ErrConfig)
		require.ErrorIs(t, err(tm.Delay(bg, -1)), timer.ErrNegativeDelay)
		require.ErrorIs(t, err(tm.Delay(ended, 0)), timer.ErrClosed)
		require.ErrorIs(t, err(tm.At(ended, time.Time{})), timer.ErrClosed)
	})
	t.Run("TIMER-2 At in the past settles at once", func(t *testing.T) {
		tm, c := mocked(t)
		c.add(time.Hour)
		for _, when := range []time.Time{{}, at(0), at(time.Hour)} {
			require.Equal(t, at(time.Hour), futuretest.RequireSettled(t, tm.At(bg, when)).Value)
		}
		f := tm.At(bg, at(2*time.Hour))
		c.add(time.Hour - 1)
		synced(t, tm)
		futuretest.RequirePending(t, f)
		c.add(1)
		synced(t, tm)
		require.Equal(t, at(2*time.Hour), futuretest.RequireSettled(t, f).Value)
	})
	t.Run("TIMER-2 what is due now does not need the clock to move", func(t *testing.T) {
		tm, c := mocked(t)
		f := tm.Delay(bg, time.Second)
		synced(t, tm)
		c.mu.Lock() // move it so that no timer goes off
		c.now = c.now.Add(time.Second)
		c.mu.Unlock()
		synced(t, tm)
		futuretest.RequireSettled(t, f)
	})
	t.Run("TIMER-3 never early, in order of deadlines and then of calls", func(t *testing.T) {
		tm, c := mocked(t)
		var got []int
		for i, d := range []time.Duration{5, 3, 5, 1, 3, 4, 5} {
			tm.Delay(bg, d*time.Second).OnSettle(func(o future.Outcome[time.Time]) {
				require.NoError(t, o.Err)
				got = append(got, i)
			})
		}
		c.add(3*time.Second - 1)
		synced(t, tm)
		require.Equal(t, []int{3}, got)
		c.add(1)
		synced(t, tm)
		require.Equal(t, []int{3, 1, 4}, got)
		c.add(time.Hour)
		synced(t, tm)
		require.Equal(t, []int{3, 1, 4, 5, 0, 2, 6}, got)
	})
	t.Run("TIMER-5 a new earliest deadline parks the goroutine anew", func(t *testing.T) {
		tm, c := mocked(t)
		late := tm.Delay(bg, time.Hour)
		synced(t, tm)
		early := tm.Delay(bg, time.Second)
		// No Sync: the kick of the new delay has to do it.
		testwait.Until(t, func() bool { _, arms, _ := c.counts(); return arms >= 2 })
		c.add(time.Second)
		testwait.Done(t, early.Done())
		futuretest.RequirePending(t, late)
	})
	t.Run("TIMER-5 a later deadline leaves the goroutine parked", func(t *testing.T) {
		tm, c := mocked(t)
		tm.Delay(bg, time.Second)
		synced(t, tm)
		_, before, _ := c.counts()
		for i := range 100 {
			tm.Delay(bg, time.Duration(i+2)*time.Second)
		}
		_, after, _ := c.counts()
		require.Equal(t, before, after)
	})
	t.Run("TIMER-5 a canceled earliest deadline costs one idle wake-up at most", func(t *testing.T) {
		tm, c := mocked(t)
		first := tm.Delay(bg, time.Second)
		second := tm.Delay(bg, time.Hour)
		synced(t, tm)
		first.Cancel(nil)
		c.add(time.Hour)
		testwait.Done(t, second.Done())
		_, _, fired := c.counts()
		require.LessOrEqual(t, fired, 2)
	})
	t.Run("TIMER-5 a value that nobody has read is gone before the next arming", func(t *testing.T) {
		tm, c := mocked(t)
		gate, entered := make(chan struct{}), make(chan struct{})
		tm.Delay(bg, time.Second).OnSettle(func(settled) { close(entered); <-gate })
		last := tm.Delay(bg, time.Hour)
		synced(t, tm)
		c.mu.Lock() // move it so that no timer goes off
		c.now = c.now.Add(time.Second)
		c.mu.Unlock()
		synced := make(chan error)
		go func() { synced <- tm.Sync(bg) }() // a kick, not a tick
		testwait.Done(t, entered)
		c.add(0) // it goes off now, while the goroutine is away
		close(gate)
		require.NoError(t, testwait.Value(t, synced))
		c.add(time.Hour)
		testwait.Done(t, last.Done())
	})
	t.Run("TIMER-8 the clock moves between the reading and the arming", func(t *testing.T) {
		for _, move := range []time.Duration{time.Millisecond, time.Second, time.Minute} {
			tm, c := mocked(t)
			moved := false // only the timer's goroutine arms
			c.hook(func() {
				if !moved {
					moved = true
					c.add(move)
				}
			}, nil)
			f := tm.Delay(bg, time.Second)
			synced(t, tm)
			c.hook(nil, nil)
			if move < time.Second {
				futuretest.RequirePending(t, f)
				c.add(time.Second - move) // to its time exactly, no Sync
			}
			testwait.Done(t, f.Done())
		}
	})
	t.Run("TIMER-8 the clock moves to the next deadline at each arming", func(t *testing.T) {
		tm, c := mocked(t)
		var fs []*future.Future[time.Time]
		for i := range 3 {
			fs = append(fs, tm.Delay(bg, time.Duration(i+1)*time.Second))
		}
		synced(t, tm)
		moves := 0 // only the timer's goroutine arms
		c.hook(func() {
			if moves++; moves <= len(fs) {
				c.add(time.Second)
			}
		}, nil)
		synced(t, tm)
		c.hook(nil, nil)
		for i, f := range fs {
			require.Equal(t, at(time.Duration(i+1)*time.Second), futuretest.RequireSettled(t, f).Value)
		}
	})
	t.Run("TIMER-8 a clock that never stands still is armed a few times at most", func(t *testing.T) {
		tm, c := mocked(t)
		c.hook(func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.now = c.now.Add(1)
		}, nil)
		tm.Delay(bg, time.Second)
		synced(t, tm)
		_, arms, _ := c.counts()
		require.LessOrEqual(t, arms, 6)
	})
	t.Run("TIMER-8 a clock set back neither hangs nor fires", func(t *testing.T) {
		tm, c := mocked(t)
		c.add(time.Hour)
		f := tm.Delay(bg, time.Hour)
		synced(t, tm)
		c.add(-30 * time.Minute)
		synced(t, tm)
		c.add(time.Hour)
		synced(t, tm)
		futuretest.RequirePending(t, f)
		before := tm.Delay(bg, time.Minute)
		c.add(time.Minute)
		synced(t, tm)
		futuretest.RequireSettled(t, before)
		c.add(29 * time.Minute)
		synced(t, tm)
		require.Equal(t, at(2*time.Hour), futuretest.RequireSettled(t, f).Value)
		c.set(time.Time{}) // before everything
		synced(t, tm)
	})
	t.Run("TIMER-3 TIMER-8 a clock set back during a callback fires nothing that came after", func(t *testing.T) {
		tm, c := mocked(t)
		c.add(time.Hour)
		entered, gate := make(chan struct{}), make(chan struct{})
		tm.Delay(bg, time.Second).OnSettle(func(settled) {
			close(entered)
			<-gate
		})
		with := tm.Delay(bg, 2*time.Second)
		c.add(2 * time.Second)
		testwait.Done(t, entered)
		c.add(-time.Minute)
		after := tm.Delay(bg, time.Second)
		close(gate)
		synced(t, tm)
		futuretest.RequirePending(t, after)
		futuretest.RequirePending(t, with)
		c.add(time.Second)
		synced(t, tm)
		futuretest.RequireSettled(t, after)
		c.add(time.Minute)
		synced(t, tm)
		futuretest.RequireSettled(t, with)
	})
	t.Run("TIMER-3 TIMER-8 entries that come while the clock is read keep nothing from firing", func(t *testing.T) {
		tm, c := mocked(t)
		f := tm.Delay(bg, time.Second)
		synced(t, tm)
		reading := false
		c.hook(nil, func() { // Sync orders the accesses
			if !reading {
				reading = true
				tm.Delay(bg, time.Hour)
				reading = false
			}
		})
		c.add(time.Second)
		synced(t, tm)
		c.hook(nil, nil)
		futuretest.RequireSettled(t, f)
	})
	t.Run("TIMER-5 callbacks, clock and logger may call anything on the timer", func(t *testing.T) {
		c := newClock(t)
		var tm *timer.Timer
		handler := &reentrant{}
		tm = start(t, timer.Config{Clock: c, Logger: handler.logger()})
		touch := func() {
			tm.Len()
			tm.Delay(bg, time.Hour).Cancel(nil)
		}
		handler.touch = touch
		deep := false
		var ticker *timer.Ticker
		tm.Delay(bg, time.Second).OnSettle(func(future.Outcome[time.Time]) {
			touch()
			ticker.Stop()
			require.Zero(t, ticker.Missed())
			c.hook(nil, func() { // Now, on this goroutine
				if !deep {
					deep = true
					touch()
				}
			})
			panic("logged")
		})
		ticker, err := tm.Every(bg, 2*time.Second, func(context.Context) error { return nil })
		require.NoError(t, err)
		c.add(time.Second)
		synced(t, tm)
		c.hook(nil, nil)
		require.True(t, deep)
		require.Len(t, handler.all(), 1)
	})
	t.Run("one allocation of no more than 160 bytes", func(t *testing.T) {
		require.LessOrEqual(t, timer.EntrySize, uintptr(160))
		tm := start(t, timer.Config{})
		tm.Delay(bg, time.Hour)
		n := testing.AllocsPerRun(1000, func() { tm.Delay(bg, time.Hour) })
		require.Equal(t, 1.0, n)
		n = testing.AllocsPerRun(1000, func() { tm.Delay(bg, time.Hour).Cancel(nil) })
		require.Equal(t, 2.0, n, "and the error of a cancellation")
	})
}

// reentrant is a log handler that calls the timer whose record it gets.
type reentrant struct {
	records
	touch func()
}
