package timer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

func TestShutdown(t *testing.T) {
	t.Run("TIMER-7 outstanding delays fail on the goroutine, under their labels", func(t *testing.T) {
		tm, _ := mocked(t)
		var got []string
		inside := 0
		for i, who := range []string{"b", "", "a"} {
			ctx := bg
			if who != "" {
				ctx = labeled(bg, who)
			}
			tm.Delay(ctx, time.Duration(i+1)*time.Hour).OnSettle(func(o settled) {
				require.ErrorIs(t, o.Err, timer.ErrClosed)
				require.False(t, o.Canceled())
				got = append(got, labelsHere())
				if link.Inside(tm, goid.ID()) {
					inside++
				}
			})
		}
		require.NoError(t, tm.Shutdown(bg))
		require.Equal(t, []string{labels("b"), "", labels("a")}, got)
		require.Equal(t, 3, inside)
		require.Zero(t, tm.Len())
		testwait.Done(t, tm.Done())
		gone(t, 0)
	})
	t.Run("TIMER-7 it is idempotent, whoever calls it", func(t *testing.T) {
		tm, _ := mocked(t)
		tm.Delay(bg, time.Hour)
		errs := make(chan error)
		for i := range 20 {
			go func() {
				if i%2 == 0 {
					errs <- tm.Close()
				} else {
					errs <- tm.Shutdown(bg)
				}
			}()
		}
		for range 20 {
			require.NoError(t, testwait.Value(t, errs))
		}
		ended, cancel := context.WithCancel(bg)
		cancel()
		require.NoError(t, tm.Shutdown(ended), "there is nothing to wait for")
	})
	t.Run("TIMER-7 a timer that never started closes at once", func(t *testing.T) {
		tm, _ := mocked(t)
		ended, cancel := context.WithCancel(bg)
		cancel()
		require.NoError(t, tm.Shutdown(ended))
		testwait.Done(t, tm.Done())
	})
	t.Run("TIMER-7 a nil context changes nothing", func(t *testing.T) {
		tm, _ := mocked(t)
		var noCtx context.Context
		require.ErrorIs(t, tm.Shutdown(noCtx), timer.ErrConfig)
		futuretest.RequirePending(t, tm.Delay(bg, 1))
	})
	for name, fail := range failures {
		t.Run("TIMER-7 a callback that fails in the shutdown stops nobody: "+name, func(t *testing.T) {
			var log records
			tm := start(t, timer.Config{Logger: log.logger()})
			served := 0
			for range 3 {
				tm.Delay(bg, time.Hour).OnSettle(func(settled) { served++; fail() })
			}
			require.NoError(t, tm.Shutdown(bg))
			require.Equal(t, 3, served)
			require.Len(t, log.all(), 3)
		})
	}
	t.Run("TIMER-7 from the timer's own goroutine it does not wait for itself", func(t *testing.T) {
		for _, end := range []func(*timer.Timer) error{
			(*timer.Timer).Close,
			func(tm *timer.Timer) error { return tm.Shutdown(bg) },
		} {
			tm, c := mocked(t)
			errs := make(chan error, 1)
			last := tm.Delay(bg, time.Hour)
			tm.Delay(bg, 1).OnSettle(func(settled) { errs <- end(tm) })
			c.add(1)
			require.NoError(t, testwait.Value(t, errs))
			testwait.Done(t, tm.Done())
			require.ErrorIs(t, futuretest.RequireSettled(t, last).Err, timer.ErrClosed)
		}
	})
	t.Run("TIMER-7 when its context ends the rest is served on one fresh goroutine", func(t *testing.T) {
		tm, c := mocked(t)
		gate, entered := make(chan struct{}), make(chan struct{})
		tm.Delay(bg, 1).OnSettle(func(settled) { close(entered); <-gate })
		c.add(1)
		testwait.Done(t, entered)
		var mu sync.Mutex
		ids := make(map[uint64]bool)
		var got []string
		var inside error
		rest := make(chan struct{})
		for i, who := range []string{"a", "b", "c"} {
			tm.Delay(labeled(bg, who), time.Hour).OnSettle(func(settled) {
				mu.Lock()
				defer mu.Unlock()
				if i == 0 {
					inside = tm.Close() // does not wait for itself either
				}
				ids[goid.ID()] = true
				got = append(got, labelsHere())
				if len(got) == 3 {
					close(rest)
				}
			})
		}
		cause := errors.New("cause")
		ctx, cancel := context.WithCancelCause(bg)
		cancel(cause)
		err := tm.Shutdown(ctx)
		var interrupted *future.InterruptedError
		require.ErrorAs(t, err, &interrupted)
		require.Equal(t, context.Canceled, interrupted.Err)
		require.Equal(t, cause, interrupted.Cause)
		require.Zero(t, tm.Len())
		testwait.Done(t, rest)
		require.Equal(t, []string{labels("a"), labels("b"), labels("c")}, got)
		require.Len(t, ids, 1)
		require.NoError(t, inside)
		select {
		case <-tm.Done():
			t.Fatal("Done before the stuck callback has ended")
		default:
		}
		require.ErrorIs(t, tm.Shutdown(ctx), cause, "it waits again, within its own bound")
		close(gate)
		require.NoError(t, tm.Shutdown(bg))
		gone(t, 0)
	})
	t.Run("TIMER-7 every outcome is there although the goroutine is stuck", func(t *testing.T) {
		tm, c := mocked(t)
		gate, entered := make(chan struct{}), make(chan struct{})
		tm.Delay(bg, 1).OnSettle(func(settled) { close(entered); <-gate })
		c.add(1)
		testwait.Done(t, entered)
		var fs []*future.Future[time.Time]
		for range 1000 {
			fs = append(fs, tm.Delay(bg, time.Hour))
		}
		link.Stop(tm)
		for _, f := range fs {
			require.ErrorIs(t, futuretest.RequireSettled(t, f).Err, timer.ErrClosed)
		}
		close(gate)
	})
	t.Run("TIMER-7 a fresh goroutine survives what the callbacks do", func(t *testing.T) {
		for name, fail := range failures {
			var log records
			c := newClock(t)
			tm := start(t, timer.Config{Clock: c, Logger: log.logger()})
			gate, entered := make(chan struct{}), make(chan struct{})
			tm.Delay(bg, 1).OnSettle(func(settled) { close(entered); <-gate })
			c.add(1)
			testwait.Done(t, entered)
			served := make(chan struct{}, 3)
			for range 3 {
				tm.Delay(bg, time.Hour).OnSettle(func(settled) { served <- struct{}{}; fail() })
			}
			link.Abort(tm)
			link.Abort(tm) // once
			for range 3 {
				testwait.Done(t, served)
			}
			testwait.Until(t, func() bool { return len(log.all()) == 3 })
			require.NoError(t, timer.Check(tm), name)
			close(gate)
		}
	})
	t.Run("TIMER-7 there is one fresh goroutine, however often it is asked for", func(t *testing.T) {
		tm, c := mocked(t)
		gate, entered := make(chan struct{}), make(chan struct{}, 9)
		stick := func(settled) { entered <- struct{}{}; <-gate }
		tm.Delay(bg, 1).OnSettle(stick)
		c.add(1)
		testwait.Done(t, entered)
		for range 3 {
			tm.Delay(bg, time.Hour).OnSettle(stick)
		}
		link.Abort(tm)
		testwait.Done(t, entered)
		link.Abort(tm)
		require.NoError(t, timer.Check(tm))
		close(gate)
	})
	t.Run("TIMER-7 Close is bounded on the timer's own clock", func(t *testing.T) {
		for bound, cfg := range map[time.Duration]timer.Config{
			30 * time.Second: {},
			time.Minute:      {ShutdownTimeout: time.Minute},
		} {
			c := newClock(t)
			cfg.Clock = c
			tm := start(t, cfg)
			gate, entered := make(chan struct{}), make(chan struct{})
			tm.Delay(bg, 1).OnSettle(func(settled) { close(entered); <-gate })
			c.add(1)
			testwait.Done(t, entered)
			errs := make(chan error)
			_, before, _ := c.counts()
			go func() { errs <- tm.Close() }()
			testwait.Until(t, func() bool { _, arms, _ := c.counts(); return arms > before })
			c.add(bound - 1)
			select {
			case err := <-errs:
				t.Fatalf("Close returned early: %v", err)
			default:
			}
			c.add(1)
			err := testwait.Value(t, errs)
			var interrupted *future.InterruptedError
			require.ErrorAs(t, err, &interrupted)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			close(gate)
		}
	})
	t.Run("TIMER-8 Close sees a clock that moves between the reading and the arming", func(t *testing.T) {
		for _, move := range []time.Duration{30 * time.Second, time.Hour} { // its bound exactly, and more
			tm, c := mocked(t)
			gate, entered := make(chan struct{}), make(chan struct{})
			tm.Delay(bg, 1).OnSettle(func(settled) { close(entered); <-gate })
			c.add(1)
			testwait.Done(t, entered)
			c.hook(func() { c.add(move) }, nil)
			testwait.Call(t, func() { require.ErrorIs(t, tm.Close(), context.DeadlineExceeded) })
			c.hook(nil, nil)
			close(gate)
		}
	})
	t.Run("TIMER-7 Close by package time", func(t *testing.T) {
		tm := start(t, timer.Config{ShutdownTimeout: time.Millisecond})
		gate, entered := make(chan struct{}), make(chan struct{})
		testwait.Later(func(d time.Duration, callback func()) {
			tm.Delay(bg, d).OnSettle(func(settled) { callback() })
		}, func() { close(entered); <-gate })
		testwait.Done(t, entered)
		require.ErrorIs(t, tm.Close(), context.DeadlineExceeded)
		close(gate)
	})
	t.Run("TIMER-7 a Delay that races it always settles", func(t *testing.T) {
		for range 200 {
			tm, err := timer.New(timer.Config{})
			require.NoError(t, err)
			var fs [4][]*future.Future[time.Time]
			var wg sync.WaitGroup
			for g := range fs {
				wg.Go(func() {
					for i := range 20 {
						fs[g] = append(fs[g], tm.Delay(bg, time.Duration(i%4)*time.Hour/3))
					}
				})
			}
			require.NoError(t, tm.Shutdown(bg))
			wg.Wait()
			testwait.Done(t, tm.Done())
			for _, list := range fs {
				for _, f := range list {
					if o := futuretest.RequireSettled(t, f); o.Err != nil {
						require.ErrorIs(t, o.Err, timer.ErrClosed)
					}
				}
			}
		}
	})
	t.Run("TIMER-7 closed between the check and the entry", func(t *testing.T) {
		tm, c := mocked(t)
		c.hook(nil, func() { c.hook(nil, nil); require.NoError(t, tm.Close()) })
		require.ErrorIs(t, futuretest.RequireSettled(t, tm.Delay(bg, 1)).Err, timer.ErrClosed)
		require.Zero(t, tm.Len())
	})
	t.Run("TIMER-7 it stops the tickers", func(t *testing.T) {
		tm, _ := mocked(t)
		ctx := &registry{Context: bg, done: make(chan struct{})}
		k, err := tm.Every(ctx, time.Second, func(context.Context) error { return nil })
		require.NoError(t, err)
		require.Equal(t, 1, ctx.live())
		require.NoError(t, tm.Close())
		testwait.Done(t, k.Done())
		require.Zero(t, ctx.live())
	})
}
