package timer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

func TestCancel(t *testing.T) {
	t.Run("TIMER-4 the entry leaves at once and never fires", func(t *testing.T) {
		tm, c := mocked(t)
		var fs []*future.Future[time.Time]
		for i := range 10 {
			fs = append(fs, tm.Delay(bg, time.Duration(i+1)*time.Second))
		}
		cause := errors.New("cause")
		require.True(t, fs[0].Cancel(cause))
		require.Equal(t, 9, tm.Len())
		require.True(t, fs[5].Abandon(cause))
		require.Equal(t, 8, tm.Len())
		require.False(t, fs[5].Cancel(cause))
		require.Equal(t, 8, tm.Len())
		c.add(time.Minute)
		synced(t, tm)
		for i, f := range fs {
			o := futuretest.RequireSettled(t, f)
			require.Equal(t, i == 0 || i == 5, o.Canceled(), i)
			require.False(t, f.Cancel(nil), "it has settled")
		}
	})
	t.Run("TIMER-4 the end of the context cancels with its cause", func(t *testing.T) {
		tm, c := mocked(t)
		cause := errors.New("cause")
		ctx, cancel := context.WithCancelCause(bg)
		f := tm.Delay(ctx, time.Second)
		other := tm.Delay(bg, time.Second)
		var labels string
		settled := make(chan int)
		f.OnSettle(func(future.Outcome[time.Time]) {
			labels = labelsHere()
			settled <- tm.Len()
		})
		cancelLabeled(func() { cancel(cause) })
		require.Equal(t, 1, testwait.Value(t, settled), "Len has dropped before the callbacks run")
		require.Empty(t, labels, "DIAG-4: the labels of whoever canceled do not show")
		o := futuretest.RequireSettled(t, f)
		require.ErrorIs(t, o.Err, cause)
		c.add(time.Second)
		synced(t, tm)
		futuretest.Await(t, other)
	})
	t.Run("TIMER-4 a deadline of the context", func(t *testing.T) {
		tm := start(t, timer.Config{})
		ctx, cancel := context.WithTimeout(bg, time.Millisecond)
		defer cancel()
		futuretest.RequireError(t, tm.Delay(ctx, time.Hour), context.DeadlineExceeded)
		testwait.Until(t, func() bool { return tm.Len() == 0 }) // who waits may be ahead of who cancels
	})
	t.Run("TIMER-4 no registration is left on a long-lived context", func(t *testing.T) {
		tm, c := mocked(t)
		ctx := &registry{Context: bg, done: make(chan struct{})}
		ctx2, cancel := context.WithCancel(ctx)
		defer cancel()
		_ = ctx2
		tm.Delay(ctx, time.Second)
		tm.Delay(ctx, time.Hour).Cancel(nil)
		tm.Delay(ctx, time.Hour).Abandon(nil)
		last := tm.Delay(ctx, time.Hour)
		c.add(time.Second)
		synced(t, tm)
		require.Equal(t, 2, ctx.live(), "the pending one's, and the test's own")
		require.NoError(t, tm.Close())
		require.ErrorIs(t, futuretest.RequireSettled(t, last).Err, timer.ErrClosed)
		require.Equal(t, 1, ctx.live())
	})
	t.Run("TIMER-4 a context that ends while it is being registered", func(t *testing.T) {
		tm, c := mocked(t)
		ctx := &registry{Context: bg, done: make(chan struct{})}
		ctx.onRegister = func() { c.add(time.Second); synced(t, tm) } // fires it
		f := tm.Delay(ctx, time.Second)
		futuretest.Await(t, f)
		require.Zero(t, ctx.live())
	})
	t.Run("FUT-4 a callback of a context's end that fails is contained", func(t *testing.T) {
		var log records
		useDefaultLogger(t, &log)
		tm, _ := mocked(t)
		ctx, cancel := context.WithCancel(bg)
		for _, fail := range failures {
			tm.Delay(ctx, time.Second).OnSettle(func(future.Outcome[time.Time]) { fail() })
		}
		cancel()
		testwait.Until(t, func() bool { return len(log.all()) == len(failures) })
		var panics, exits int
		for _, r := range log.all() {
			switch {
			case r.attr("panic") != nil:
				panics++
			case r.attr("error") == future.ErrGoexit:
				exits++
			}
		}
		require.Equal(t, []int{2, 1}, []int{panics, exits}, "a record says how it failed")
		require.Zero(t, tm.Len())
	})
}
