package timer_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

func every(t testing.TB, tm *timer.Timer, ctx context.Context, fn func(context.Context) error) *timer.Ticker {
	t.Helper()
	k, err := tm.Every(ctx, time.Second, fn)
	require.NoError(t, err)
	return k
}

// requireTicks checks that k has so many runs and misses.
func requireTicks(t testing.TB, k *timer.Ticker, runs, missed int) {
	t.Helper()
	require.Equal(t, []int{runs, missed}, []int{int(k.Runs()), int(k.Missed())}, "runs and misses")
}

func nothing(context.Context) error { return nil }

func TestEvery(t *testing.T) {
	t.Run("TIMER-9 at a fixed rate on the first grid", func(t *testing.T) {
		tm, c := mocked(t)
		c.add(300 * time.Millisecond)
		var runs []time.Time
		k := every(t, tm, bg, func(context.Context) error {
			require.True(t, link.Inside(tm, goid.ID()))
			runs = append(runs, c.Now())
			return nil
		})
		synced(t, tm)
		require.Empty(t, runs)
		for _, step := range []time.Duration{1000, 1000, 1200, 500, 300, 1000} { // late by 200, on time
			c.add(step * time.Millisecond)
			synced(t, tm)
		}
		want := []time.Duration{1300, 2300, 3500, 4300, 5300}
		require.Len(t, runs, len(want))
		for i, d := range want {
			require.Equal(t, at(d*time.Millisecond), runs[i])
		}
		requireTicks(t, k, 5, 0)
	})
	t.Run("TIMER-9 ticks jumped over are missed, not made up for", func(t *testing.T) {
		tm, c := mocked(t)
		k := every(t, tm, bg, nothing)
		synced(t, tm)
		c.add(10 * time.Second)
		synced(t, tm)
		requireTicks(t, k, 1, 9)
		c.add(2500 * time.Millisecond)
		synced(t, tm)
		requireTicks(t, k, 2, 10)
		c.add(500 * time.Millisecond)
		synced(t, tm)
		requireTicks(t, k, 3, 10)
	})
	t.Run("TIMER-9 Runs is counted at the start, Missed while it goes on", func(t *testing.T) {
		tm, c := mocked(t)
		gate, entered := make(chan struct{}), make(chan struct{}, 9)
		k := every(t, tm, bg, func(context.Context) error { entered <- struct{}{}; <-gate; return nil })
		c.add(time.Second)
		testwait.Done(t, entered)
		requireTicks(t, k, 1, 0)
		c.add(2 * time.Second)
		requireTicks(t, k, 1, 2)
		c.add(-3 * time.Second)
		requireTicks(t, k, 1, 2) // it never falls
		c.add(4 * time.Second)
		requireTicks(t, k, 1, 3)
		close(gate)
		synced(t, tm)
		c.add(time.Second)
		synced(t, tm)
		requireTicks(t, k, 2, 3)
	})
	t.Run("TIMER-9 ticks that wait behind another's callback", func(t *testing.T) {
		tm, c := mocked(t)
		gate, entered := make(chan struct{}), make(chan struct{})
		tm.Delay(bg, time.Millisecond).OnSettle(func(settled) { close(entered); <-gate })
		k := every(t, tm, bg, nothing)
		c.add(time.Millisecond)
		testwait.Done(t, entered)
		c.add(5 * time.Second)
		requireTicks(t, k, 0, 4) // the fifth can still run
		close(gate)
		synced(t, tm)
		requireTicks(t, k, 1, 4)
	})
	t.Run("TIMER-8 a clock set back runs no tick twice", func(t *testing.T) {
		tm, c := mocked(t)
		k := every(t, tm, bg, nothing)
		for range 3 {
			c.add(time.Second)
			synced(t, tm)
		}
		c.set(at(0))
		for range 3 {
			c.add(time.Second)
			synced(t, tm)
		}
		requireTicks(t, k, 3, 0)
		c.add(time.Second)
		synced(t, tm)
		requireTicks(t, k, 4, 0)
	})
	t.Run("TIMER-8 a tick that Missed has given up does not run when the clock is set back", func(t *testing.T) {
		tm, c := mocked(t)
		gate, entered := make(chan struct{}), make(chan struct{})
		tm.Delay(bg, time.Millisecond).OnSettle(func(settled) { close(entered); <-gate })
		k := every(t, tm, bg, nothing)
		c.add(time.Millisecond)
		testwait.Done(t, entered)
		c.set(at(5 * time.Second))
		requireTicks(t, k, 0, 4)
		c.set(at(2 * time.Second))
		close(gate)
		synced(t, tm)
		requireTicks(t, k, 0, 4)
		c.set(at(5 * time.Second))
		synced(t, tm)
		requireTicks(t, k, 1, 4)
	})
	t.Run("TIMER-2 an interval that does not fit never ticks", func(t *testing.T) {
		tm, c := mocked(t)
		c.add(1)
		k, err := tm.Every(bg, math.MaxInt64, nothing)
		require.NoError(t, err)
		c.set(at(math.MaxInt64))
		synced(t, tm)
		requireTicks(t, k, 0, 0)
	})
	t.Run("TIMER-9 Stop from inside a run", func(t *testing.T) {
		tm, c := mocked(t)
		var k *timer.Ticker
		k = every(t, tm, bg, func(context.Context) error {
			k.Stop()
			require.Zero(t, tm.Len())
			select {
			case <-k.Done():
				t.Error("Done before the last run has ended")
			default:
			}
			return nil
		})
		require.Equal(t, 1, tm.Len())
		c.add(time.Second)
		testwait.Done(t, k.Done())
		c.add(time.Minute)
		synced(t, tm)
		requireTicks(t, k, 1, 0)
		k.Stop()
	})
	t.Run("TIMER-9 Stop between runs and during one", func(t *testing.T) {
		tm, c := mocked(t)
		k := every(t, tm, bg, nothing)
		c.add(2500 * time.Millisecond)
		synced(t, tm)
		k.Stop()
		testwait.Done(t, k.Done())
		require.Zero(t, tm.Len())
		requireTicks(t, k, 1, 1)

		gate, entered := make(chan struct{}), make(chan struct{})
		k = every(t, tm, bg, func(context.Context) error { close(entered); <-gate; return nil })
		c.add(time.Second)
		testwait.Done(t, entered)
		require.Equal(t, 1, tm.Len(), "a ticker counts while it runs")
		c.add(3 * time.Second)
		k.Stop()
		require.Zero(t, tm.Len())
		c.add(3 * time.Second)
		requireTicks(t, k, 1, 3) // those until Stop
		close(gate)
		testwait.Done(t, k.Done())
	})
	t.Run("TIMER-9 the end of the context stops it", func(t *testing.T) {
		tm, c := mocked(t)
		ctx, cancel := context.WithCancel(bg)
		k := every(t, tm, ctx, nothing)
		cancel()
		testwait.Done(t, k.Done())
		require.Zero(t, tm.Len())
		c.add(time.Minute)
		synced(t, tm)
		require.Zero(t, k.Runs())
	})
	t.Run("TIMER-9 no registration is left on a long-lived context", func(t *testing.T) {
		tm, c := mocked(t)
		ctx := &registry{Context: bg, done: make(chan struct{})}
		k := every(t, tm, ctx, nothing)
		require.Equal(t, 1, ctx.live())
		k.Stop()
		require.Zero(t, ctx.live())
		var inside *timer.Ticker
		ctx.onRegister = func() { c.add(time.Second); synced(t, tm) } // it runs while it registers
		inside = every(t, tm, ctx, nothing)
		requireTicks(t, inside, 1, 0)
		inside.Stop()
		require.Zero(t, ctx.live())
	})
	t.Run("TIMER-9 bad arguments, each of them", func(t *testing.T) {
		tm, _ := mocked(t)
		var noCtx context.Context
		k, err := tm.Every(noCtx, 0, nil)
		require.Nil(t, k)
		require.ErrorIs(t, err, timer.ErrConfig)
		for _, field := range []string{"ctx", "interval", "fn"} {
			require.ErrorContains(t, err, field)
		}
		_, err = tm.Every(bg, -time.Second, nothing)
		require.ErrorIs(t, err, timer.ErrConfig)
		require.Zero(t, tm.Len())
	})
	t.Run("TIMER-2 the order of answers", func(t *testing.T) {
		cause := errors.New("cause")
		ended, cancel := context.WithCancelCause(bg)
		cancel(cause)
		tm := start(t, timer.Config{Limit: 1})
		k := every(t, tm, bg, nothing)
		_, err := tm.Every(ended, 1, nothing)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, cause)
		_, err = tm.Every(bg, 1, nothing)
		require.ErrorIs(t, err, timer.ErrLimit)
		k.Stop()
		every(t, tm, bg, nothing)
		require.NoError(t, tm.Close())
		_, err = tm.Every(ended, 1, nothing)
		require.ErrorIs(t, err, timer.ErrClosed)
	})
	t.Run("DIAG-1 DIAG-3 DIAG-4 each run starts from the context of the call", func(t *testing.T) {
		tm, c := mocked(t)
		caller := diagnostics.Capture(diagnostics.With(bg, slog.String("tenant", "A"))).Install(labeled(bg, "caller"))
		var got []string
		k := every(t, tm, diagnostics.With(caller, slog.String("over", "yes")), func(ctx context.Context) error {
			got = append(got, labelsHere())
			for _, key := range []string{"tenant", "over"} {
				v, _ := diagnostics.Value(ctx, key)
				got = append(got, v.String())
			}
			_, left := diagnostics.Value(ctx, "run")
			require.False(t, left, "what a run has set is gone")
			require.True(t, diagnostics.Set(ctx, slog.String("tenant", "run"), slog.String("run", "set")))
			pprof.SetGoroutineLabels(labeled(bg, "left behind"))
			return nil
		})
		diagnostics.Set(caller, slog.String("tenant", "B"))
		for range 2 {
			c.add(time.Second)
			synced(t, tm)
		}
		require.Equal(t, []string{labels("caller"), "A", "yes", labels("caller"), "A", "yes"}, got)
		v, _ := diagnostics.Value(caller, "tenant")
		require.Equal(t, "B", v.String())
		k.Stop()
		tm.Delay(bg, 1).OnSettle(func(settled) { got = []string{labelsHere()} })
		c.add(1)
		synced(t, tm)
		require.Equal(t, []string{""}, got)
	})
	t.Run("TIMER-9 DIAG-7 a record carries the run's context", func(t *testing.T) {
		var log records
		c := newClock(t)
		tm := start(t, timer.Config{Clock: c, Logger: log.logger()})
		fail := errors.New("failed")
		ends := []func() error{func() error { return fail }}
		for _, how := range failures {
			ends = append(ends, func() error { how(); return nil })
		}
		run := 0
		k := every(t, tm, diagnostics.With(labeled(bg, "a"), slog.String("job", "17")), func(ctx context.Context) error {
			diagnostics.Set(ctx, slog.Int("run", run))
			run++
			return ends[run-1]()
		})
		for i := range ends {
			c.add(time.Second)
			synced(t, tm)
			require.Len(t, log.all(), i+1, "one report")
			rec := log.all()[i]
			require.Equal(t, labels("a"), rec.labels)
			v, _ := diagnostics.Value(rec.ctx, "job")
			require.Equal(t, "17", v.String())
			v, _ = diagnostics.Value(rec.ctx, "run")
			require.Equal(t, int64(i), v.Int64())
		}
		require.Equal(t, fail, log.all()[0].attr("error"))
		requireTicks(t, k, len(ends), 0)
		k.Stop()
	})
	t.Run("TIMER-7 a shutdown during a run", func(t *testing.T) {
		tm, c := mocked(t)
		gate, entered := make(chan struct{}), make(chan struct{})
		k := every(t, tm, bg, func(ctx context.Context) error {
			close(entered)
			<-gate
			require.NoError(t, ctx.Err(), "the context lives on")
			return nil
		})
		c.add(time.Second)
		testwait.Done(t, entered)
		link.Stop(tm)
		require.Zero(t, tm.Len())
		c.add(time.Second)
		requireTicks(t, k, 1, 0)
		close(gate)
		testwait.Done(t, k.Done())
		testwait.Done(t, tm.Done())
	})
	t.Run("the zero Ticker is a stopped one", func(t *testing.T) {
		var k timer.Ticker
		k.Stop()
		testwait.Done(t, k.Done())
		requireTicks(t, &k, 0, 0)
	})
}
