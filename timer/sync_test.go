package timer_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

func TestSync(t *testing.T) {
	t.Run("TIMER-8 all that is due has fired, callbacks included", func(t *testing.T) {
		tm, c := mocked(t)
		for range 200 {
			n := 0
			for i := range 5 {
				tm.Delay(bg, time.Duration(i+1)*time.Millisecond).OnSettle(func(settled) { n++ })
			}
			c.add(5 * time.Millisecond)
			synced(t, tm)
			require.Equal(t, 5, n)
		}
	})
	t.Run("TIMER-8 the goroutine is parked on what is left", func(t *testing.T) {
		tm, c := mocked(t)
		for range 200 {
			tm.Delay(bg, time.Hour).Cancel(nil)
			f := tm.Delay(bg, time.Minute)
			synced(t, tm)
			armed, _, _ := c.counts()
			require.Equal(t, 1, armed)
			c.add(time.Minute)
			testwait.Done(t, f.Done())
		}
	})
	t.Run("TIMER-8 the goroutine stays parked after it has answered", func(t *testing.T) {
		tm, c := mocked(t)
		tm.Delay(bg, time.Hour)
		synced(t, tm)
		for range 20 {
			// A tick and the Sync's kick are both there when it parks.
			held, free := make(chan struct{}), make(chan struct{})
			var once sync.Once
			c.hook(func() { c.hook(nil, func() { once.Do(func() { close(held); <-free }) }) }, nil)
			f := tm.Delay(bg, time.Second) // kicks; the reading after the arming is held
			testwait.Done(t, held)
			c.hook(nil, nil)
			c.add(time.Second)
			errs := make(chan error)
			go func() { errs <- tm.Sync(bg) }()
			testwait.Until(t, func() bool { return timer.Syncs(tm) == 1 })
			var idle atomic.Bool
			c.hook(func() {
				giveWay() // to the test, if Sync has returned
				if idle.Load() {
					t.Error("armed anew after Sync")
				}
			}, giveWay)
			close(free)
			require.NoError(t, testwait.Value(t, errs))
			futuretest.RequireSettled(t, f) // it was due at the call of Sync
			idle.Store(true)
			giveWay()
			c.hook(nil, nil)
		}
	})
	t.Run("TIMER-8 many at once", func(t *testing.T) {
		tm, c := mocked(t)
		f := tm.Delay(bg, 1)
		c.add(1)
		errs := make(chan error)
		for range 20 {
			go func() { errs <- tm.Sync(bg) }()
		}
		for range 20 {
			require.NoError(t, testwait.Value(t, errs))
		}
		testwait.Done(t, f.Done())
	})
	t.Run("TIMER-8 its context ends while a callback is stuck", func(t *testing.T) {
		tm, c := mocked(t)
		gate, entered := make(chan struct{}), make(chan struct{})
		tm.Delay(bg, 1).OnSettle(func(settled) { close(entered); <-gate })
		c.add(1)
		testwait.Done(t, entered)
		cause := errors.New("cause")
		ctx, cancel := context.WithCancelCause(bg)
		cancel(cause)
		err := tm.Sync(ctx)
		var interrupted *future.InterruptedError
		require.ErrorAs(t, err, &interrupted)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, cause)
		require.Zero(t, timer.Syncs(tm), "nothing is left of it")
		close(gate)
		synced(t, tm)
	})
	t.Run("TIMER-8 on the timer's own goroutine it returns an error", func(t *testing.T) {
		tm, c := mocked(t)
		var err error
		tm.Delay(bg, 1).OnSettle(func(settled) { err = tm.Sync(bg) })
		c.add(1)
		synced(t, tm)
		require.ErrorContains(t, err, "own goroutine")
	})
	t.Run("TIMER-8 a timer that never started has nothing to wait for", func(t *testing.T) {
		tm, _ := mocked(t)
		require.NoError(t, tm.Sync(bg))
	})
	t.Run("TIMER-7 a closed timer, and one that closes meanwhile", func(t *testing.T) {
		tm, c := mocked(t)
		gate, entered := make(chan struct{}), make(chan struct{})
		tm.Delay(bg, 1).OnSettle(func(settled) { close(entered); <-gate })
		c.add(1)
		testwait.Done(t, entered)
		errs := make(chan error)
		go func() { errs <- tm.Sync(bg) }()
		testwait.Until(t, func() bool { return timer.Syncs(tm) == 1 })
		go func() { errs <- tm.Shutdown(bg) }()
		require.ErrorIs(t, testwait.Value(t, errs), timer.ErrClosed, "before the callback has ended")
		close(gate)
		require.NoError(t, testwait.Value(t, errs))
		require.ErrorIs(t, tm.Sync(bg), timer.ErrClosed)
	})
	t.Run("a nil context", func(t *testing.T) {
		tm, _ := mocked(t)
		var noCtx context.Context
		require.ErrorIs(t, tm.Sync(noCtx), timer.ErrConfig)
	})
}
