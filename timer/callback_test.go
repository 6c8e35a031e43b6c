package timer_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

type settled = future.Outcome[time.Time]

func TestCallback(t *testing.T) {
	t.Run("TIMER-6 DIAG-4 callbacks run under their delay's labels, cleared after each", func(t *testing.T) {
		tm, c := mocked(t)
		var got []string
		note := func(settled) { got = append(got, labelsHere()) }
		pprof.Do(bg, pprof.Labels("who", "starter"), func(ctx context.Context) {
			tm.Delay(bg, 1).OnSettle(note) // the goroutine is born here
			tm.Delay(ctx, 2).OnSettle(note)
		})
		tm.Delay(bg, 3).OnSettle(note)
		tm.Delay(labeled(bg, "b"), 4).OnSettle(func(o settled) {
			note(o)
			pprof.SetGoroutineLabels(labeled(bg, "left behind"))
		})
		tm.Delay(bg, 5).OnSettle(note)
		tm.Delay(bg, 6).OnSettle(func(settled) { pprof.SetGoroutineLabels(labeled(bg, "left behind")) })
		tm.Delay(bg, 7).OnSettle(note)
		c.add(time.Second)
		synced(t, tm)
		require.Equal(t, []string{"", labels("starter"), "", labels("b"), "", ""}, got)
	})
	for name, fail := range failures {
		t.Run("TIMER-6 DIAG-4 nothing is left behind by "+name, func(t *testing.T) {
			var log records
			c := newClock(t)
			tm := start(t, timer.Config{Clock: c, Logger: log.logger()})
			var got []string
			tm.Delay(labeled(bg, "a"), 1).OnSettle(func(settled) {
				pprof.SetGoroutineLabels(labeled(bg, "left behind"))
				fail()
			})
			tm.Delay(bg, 2).OnSettle(func(settled) { got = append(got, labelsHere()) })
			c.add(time.Second)
			synced(t, tm)
			require.Equal(t, []string{""}, got)
		})
		t.Run("TIMER-6 DIAG-7 reported once, and the rest is served: "+name, func(t *testing.T) {
			var log records
			c := newClock(t)
			tm := start(t, timer.Config{Clock: c, Logger: log.logger(), Name: "named"})
			ctx := diagnostics.With(labeled(bg, "bad"), slog.String("job", "17"))
			gone(t, 0) // those of other tests
			served := 0
			tm.Delay(ctx, 1).OnSettle(func(settled) { fail() })
			tm.Delay(bg, 1).OnSettle(func(settled) { served++ })
			tm.Delay(bg, 2).OnSettle(func(settled) { served++ })
			c.add(time.Second)
			synced(t, tm)
			tm.Delay(bg, 1).OnSettle(func(settled) { served++ })
			c.add(1)
			synced(t, tm)
			require.Equal(t, 3, served)
			require.Len(t, log.all(), 1)
			rec := log.all()[0]
			require.Equal(t, slog.LevelError, rec.Level)
			require.Equal(t, "named", rec.attr("timer"))
			require.Equal(t, labels("bad"), rec.labels)
			v, ok := diagnostics.Value(rec.ctx, "job")
			require.True(t, ok, "the record carries the delay's context")
			require.Equal(t, "17", v.String())
			if name == "Goexit" {
				require.ErrorIs(t, rec.attr("error").(error), future.ErrGoexit)
			} else {
				require.NotNil(t, rec.attr("panic"))
				require.Contains(t, rec.attr("stack"), "failing_test.go")
			}
			gone(t, 1) // never two at once
		})
	}
	t.Run("TIMER-6 without a Logger the report goes to slog.Default", func(t *testing.T) {
		var log records
		useDefaultLogger(t, &log)
		tm, c := mocked(t)
		tm.Delay(bg, 1).OnSettle(func(settled) { panic("boom") })
		c.add(1)
		synced(t, tm)
		require.Len(t, log.all(), 1)
	})
	t.Run("TIMER-6 DIAG-7 a logger that panics or exits", func(t *testing.T) {
		var def records
		useDefaultLogger(t, &def)
		for name, fail := range failures {
			c := newClock(t)
			handler := &reentrant{touch: fail}
			tm := start(t, timer.Config{Clock: c, Logger: handler.logger()})
			for range 3 {
				tm.Delay(labeled(bg, "a"), 1).OnSettle(func(settled) { panic("boom") })
			}
			var got []string
			tm.Delay(bg, 2).OnSettle(func(settled) { got = append(got, labelsHere()) })
			c.add(time.Second)
			synced(t, tm)
			require.Equal(t, []string{""}, got, name)
		}
	})
	t.Run("DIAG-1 DIAG-2 the record shows the context as it was at the call", func(t *testing.T) {
		var log records
		c := newClock(t)
		tm := start(t, timer.Config{Clock: c, Logger: log.logger()})
		ctx := diagnostics.Capture(diagnostics.With(bg, slog.String("k", "then"))).Install(bg)
		tm.Delay(diagnostics.With(ctx, slog.String("over", "yes")), 1).OnSettle(func(settled) { panic("boom") })
		diagnostics.Set(ctx, slog.String("k", "later"))
		c.add(1)
		synced(t, tm)
		v, _ := diagnostics.Value(log.all()[0].ctx, "k")
		require.Equal(t, "then", v.String())
		v, _ = diagnostics.Value(log.all()[0].ctx, "over")
		require.Equal(t, "yes", v.String())
	})
	t.Run("DIAG-7 a context whose Value panics", func(t *testing.T) {
		var log records
		c := newClock(t)
		tm := start(t, timer.Config{Clock: c, Logger: log.logger()})
		ctx := &badValue{Context: bg}
		f, g := tm.Delay(ctx, 1), tm.Delay(ctx, 1)
		called := false
		f.OnSettle(func(settled) { called = true })
		g.OnSettle(func(settled) { panic("boom") })
		ctx.bad = true
		c.add(1)
		synced(t, tm)
		testwait.Done(t, f.Done())
		testwait.Done(t, g.Done())
		require.True(t, called, "without labels")
		require.Len(t, log.all(), 1, "of the callback, under no context")
		other := tm.Delay(bg, 1)
		c.add(1)
		synced(t, tm)
		testwait.Done(t, other.Done())
	})
	t.Run("TIMER-6 a stuck callback leaves the others cancelable", func(t *testing.T) {
		tm, c := mocked(t)
		gate, entered := make(chan struct{}), make(chan struct{})
		tm.Delay(bg, 1).OnSettle(func(settled) { close(entered); <-gate })
		second := tm.Delay(bg, 1)
		c.add(time.Second)
		testwait.Done(t, entered)
		require.Equal(t, 1, tm.Len())
		require.True(t, second.Cancel(nil))
		require.Zero(t, tm.Len())
		close(gate)
		synced(t, tm)
	})
	t.Run("TIMER-6 a callback runs on the timer's goroutine", func(t *testing.T) {
		tm, c := mocked(t)
		inside := false
		tm.Delay(bg, 1).OnSettle(func(settled) { inside = link.Inside(tm, goid.ID()) })
		c.add(1)
		synced(t, tm)
		require.True(t, inside)
		require.False(t, link.Inside(tm, goid.ID()))
	})
	t.Run("TIMER-8 a batch shares one reading of the clock", func(t *testing.T) {
		tm, c := mocked(t)
		for range 100 {
			tm.Delay(bg, time.Second)
		}
		synced(t, tm)
		reads := 0
		c.hook(nil, func() { reads++ }) // Sync orders the accesses
		c.mu.Lock()
		c.now = c.now.Add(time.Second)
		c.mu.Unlock()
		synced(t, tm)
		c.hook(nil, nil)
		require.LessOrEqual(t, reads, 3)
		require.Zero(t, tm.Len())
	})
}

type badValue struct {
	context.Context
	bad bool
}

func (b *badValue) Value(key any) any {
	if b.bad {
		panic("bad Value")
	}
	return b.Context.Value(key)
}

func TestClock(t *testing.T) {
	for name, fail := range failures {
		t.Run("DIAG-7 a clock that fails on the timer's goroutine is reported: "+name, func(t *testing.T) {
			var log records
			c := newClock(t)
			tm := start(t, timer.Config{Clock: c, Logger: log.logger(), Name: "named"})
			f := tm.Delay(bg, time.Second)
			synced(t, tm)
			var owner uint64
			tm.Delay(bg, 1).OnSettle(func(settled) { owner = goid.ID() })
			c.add(1)
			synced(t, tm)
			var asked atomic.Int32
			c.hook(nil, func() {
				if goid.ID() == owner {
					asked.Add(1)
					fail()
				}
			})
			c.add(time.Second)
			testwait.Until(t, func() bool { return len(log.all()) > 0 })
			giveWay()
			require.Equal(t, int32(1), asked.Load(), "it is not asked again at once")
			c.hook(nil, nil)
			require.Len(t, log.all(), 1)
			require.Equal(t, bg, log.all()[0].ctx, "a record about the timer carries no context")
			require.Equal(t, name != "Goexit", log.all()[0].attr("panic") != nil)
			require.Equal(t, name == "Goexit", log.all()[0].attr("error") == future.ErrGoexit)
			other := tm.Delay(bg, 1)
			testwait.Done(t, f.Done()) // the timer was used again
			c.add(1)
			synced(t, tm)
			testwait.Done(t, other.Done())
		})
	}
	t.Run("TIMER-7 a clock that always fails does not hinder the shutdown", func(t *testing.T) {
		var log records
		c := newClock(t)
		tm := start(t, timer.Config{Clock: c, Logger: log.logger()})
		f := tm.Delay(bg, time.Hour)
		synced(t, tm)
		c.hook(nil, func() {
			stack := make([]byte, 4096)
			if containsLife(stack[:runtime.Stack(stack, false)]) {
				panic("boom")
			}
		})
		require.NoError(t, tm.Close())
		require.ErrorIs(t, futuretest.RequireSettled(t, f).Err, timer.ErrClosed)
		require.Empty(t, log.all())
	})
	t.Run("TIMER-7 a clock that fails while the timer leaves", func(t *testing.T) {
		var log records
		c := newClock(t)
		var armed atomic.Bool
		tm := start(t, timer.Config{Clock: failingStop{c, &armed}, Logger: log.logger()})
		tm.Delay(bg, time.Hour)
		synced(t, tm)
		armed.Store(true)
		require.NoError(t, tm.Close())
		require.Len(t, log.all(), 1)
	})
	t.Run("TIMER-9 a clock that fails when a run ends does not end the ticks", func(t *testing.T) {
		var log records
		c := newClock(t)
		tm := start(t, timer.Config{Clock: c, Logger: log.logger()})
		runs := 0
		_, err := tm.Every(bg, time.Second, func(context.Context) error {
			if runs++; runs == 1 {
				c.hook(nil, func() { c.hook(nil, nil); panic("boom") })
			}
			return nil
		})
		require.NoError(t, err)
		c.add(time.Second)
		testwait.Until(t, func() bool { return len(log.all()) == 1 })
		synced(t, tm)
		c.add(time.Second)
		synced(t, tm)
		require.Equal(t, 2, runs)
	})
}

// failingStop is a clock whose timers' Stop panics on the timer's goroutine.
type failingStop struct {
	*clock
	armed *atomic.Bool
}

func (f failingStop) NewTimer(d time.Duration) timer.ClockTimer {
	return failingStopTimer{f.clock.NewTimer(d), f.armed}
}

type failingStopTimer struct {
	timer.ClockTimer
	armed *atomic.Bool
}

func (f failingStopTimer) Stop() bool {
	stack := make([]byte, 4096)
	if f.armed.Load() && containsLife(stack[:runtime.Stack(stack, false)]) {
		panic("boom")
	}
	return f.ClockTimer.Stop()
}

// exiting is a context that ends whoever asks it for pprof labels.
type exiting struct{ context.Context }

func (c exiting) Value(key any) any {
	if strings.HasPrefix(fmt.Sprintf("%T", key), "pprof.") {
		runtime.Goexit()
	}
	return c.Context.Value(key)
}

func TestExitingContext(t *testing.T) {
	t.Run("TIMER-6 a context that calls Goexit when it is asked keeps no delay from settling", func(t *testing.T) {
		tm, c := mocked(t)
		due, failed := tm.Delay(exiting{bg}, 1), tm.Delay(exiting{bg}, time.Hour)
		called := make(chan struct{})
		failed.OnSettle(func(settled) { close(called) })
		c.add(1)
		testwait.Done(t, due.Done())
		require.NoError(t, tm.Close())
		testwait.Done(t, called)
	})
}
