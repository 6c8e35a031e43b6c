package executor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

// badError is an error that cannot be printed.
type badError struct{}

func (badError) Error() string { panic("Error panics") }

func TestNet(t *testing.T) {
	t.Run("EXEC-7_a_bare_Post_is_logged_once", func(t *testing.T) {
		var index []int
		for name, end := range map[string]func(){
			"a value":           func() { panic("boom") },
			"panic(nil)":        func() { panic(nil) }, //nolint:govet // on purpose
			"a runtime error":   func() { index[1]++ },
			"an error that...":  func() { panic(badError{}) },
			"a wrapped failure": func() { panic(fmt.Errorf("%w", badError{})) },
		} {
			l := newLogs()
			p := newPool(t, executor.Config{Name: "net", Size: 1, Logger: l.Logger()})
			require.NoError(t, p.Post(with("task", 7), func(context.Context) { panicsWith(end) }))
			barrier(t, p)
			require.Len(t, l.Records(), 1, name)
			r := l.Records()[0]
			require.Equal(t, slog.LevelError, r.Level, name)
			require.Equal(t, "net", r.Attrs["pool"].String(), name)
			require.Contains(t, r.Attrs["stack"].String(), "executor_test.panicsWith", name)
			require.Contains(t, r.Attrs, "panic", name)
			require.Equal(t, "task=7", r.Context, name)
			s := p.Stats()
			require.EqualValues(t, 1, s.Panicked, name)
			require.Equal(t, 1, s.Workers, name)
		}
	})
	t.Run("EXEC-7_the_value_of_the_panic", func(t *testing.T) {
		l := newLogs()
		p := newPool(t, executor.Config{Size: 1, Logger: l.Logger()})
		require.NoError(t, p.Post(bg, func(context.Context) { panic(errBoom) }))
		barrier(t, p)
		require.Equal(t, errBoom, l.Records()[0].Attrs["panic"].Any())
	})
	t.Run("EXEC-7_Goexit_is_logged_once", func(t *testing.T) {
		l := newLogs()
		p := newPool(t, executor.Config{Size: 1, Logger: l.Logger()})
		require.NoError(t, p.Post(with("task", 7), func(context.Context) { runtime.Goexit() }))
		barrier(t, p)
		require.Len(t, l.Records(), 1)
		require.Equal(t, slog.LevelError, l.Records()[0].Level)
		require.Equal(t, "task=7", l.Records()[0].Context)
		require.EqualValues(t, 1, p.Stats().Exited)
	})
	t.Run("EXEC-7_what_a_Submit_ends_with_is_its_futures", func(t *testing.T) {
		l := newLogs()
		p := newPool(t, executor.Config{Size: 1, Logger: l.Logger()})
		f := executor.Submit(bg, p, func(context.Context) (int, error) { panic(badError{}) })
		var panicked *future.PanicError
		require.True(t, errors.As(settled(t, f).Err, &panicked))
		require.Equal(t, badError{}, panicked.Value)
		futuretest.RequireError(t, executor.Submit(bg, p, func(context.Context) (int, error) {
			runtime.Goexit()
			return 0, nil
		}), future.ErrGoexit)
		barrier(t, p)
		require.Empty(t, l.Records())
	})
	t.Run("B30_callbacks_that_panic_and_Goexit", func(t *testing.T) {
		l := newLogs()
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 4, Logger: l.Logger()})
		g := occupy(t, p, 1)
		one := executor.Submit(with("task", 1), p, value(1))
		one.OnSettle(func(future.Outcome[int]) { panic("callback") })
		two := executor.Submit(with("task", 2), p, value(2))
		two.OnSettle(func(future.Outcome[int]) { runtime.Goexit() })
		three := executor.Submit(bg, p, value(3))
		four := executor.Submit(bg, p, value(4))
		g.Open()
		require.Equal(t, 1, futuretest.Await(t, one))
		require.Equal(t, 2, futuretest.Await(t, two))
		require.Equal(t, 3, futuretest.Await(t, three))
		require.Equal(t, 4, futuretest.Await(t, four))
		barrier(t, p)
		require.Len(t, l.Records(), 2)
		require.Equal(t, "task=1", l.Records()[0].Context)
		require.Equal(t, "task=2", l.Records()[1].Context)
		s := p.Stats()
		custody(t, s)
		require.Equal(t, 1, s.Workers)
		require.EqualValues(t, 6, s.Finished, "the tasks themselves ended well")
	})
	t.Run("B30_both_callbacks_on_one_future", func(t *testing.T) {
		panics := func(future.Outcome[int]) { panic("callback") }
		exits := func(future.Outcome[int]) { runtime.Goexit() }
		for name, callbacks := range map[string][]func(future.Outcome[int]){
			"panic first":  {panics, exits},
			"Goexit first": {exits, panics},
		} {
			l := defaultLogs(t) // of package future, and of the pool as well
			p := newPool(t, executor.Config{Size: 1, QueueLimit: 8})
			g := occupy(t, p, 1)
			f := executor.Submit(bg, p, value(1))
			for _, fn := range callbacks {
				f.OnSettle(fn)
			}
			rest := make([]*future.Future[int], 3)
			for i := range rest {
				rest[i] = executor.Submit(bg, p, value(i))
			}
			g.Open()
			require.Equal(t, 1, futuretest.Await(t, f))
			for i, f := range rest {
				require.Equal(t, i, futuretest.Await(t, f))
			}
			require.Equal(t, 1, p.Stats().Workers)
			require.Len(t, l.Of(slog.LevelError), 2, name)
		}
	})
	t.Run("EXEC-7_a_callback_of_a_task_that_ended_badly", func(t *testing.T) {
		for name, end := range map[string]func(){"panic": func() { panic(1) }, "Goexit": runtime.Goexit} {
			l := newLogs()
			p := newPool(t, executor.Config{Size: 1, Logger: l.Logger()})
			g := occupy(t, p, 1)
			f := executor.Submit(bg, p, func(context.Context) (int, error) { end(); return 0, nil })
			f.OnSettle(func(future.Outcome[int]) { panic("callback") })
			g.Open()
			require.Error(t, settled(t, f).Err)
			barrier(t, p)
			require.Len(t, l.Records(), 1, name)
			require.Equal(t, "callback", l.Records()[0].Attrs["panic"].Any(), name)
			s := p.Stats()
			custody(t, s)
			require.EqualValues(t, 1, s.Panicked+s.Exited, name)
		}
	})
	t.Run("EXEC-7_a_callback_at_the_end_of_the_callers_ctx", func(t *testing.T) {
		l := defaultLogs(t)
		p := newPool(t, executor.Config{Size: 1})
		occupy(t, p, 1)
		for _, end := range []func(){func() { panic("callback") }, runtime.Goexit} {
			ctx, cancel := context.WithCancel(bg)
			f := executor.Submit(ctx, p, value(1))
			f.OnSettle(func(future.Outcome[int]) { end() })
			cancel()
			testwait.Done(t, l.wrote)
			require.True(t, futuretest.RequireSettled(t, f).Canceled())
		}
	})
}

//go:noinline
func panicsWith(end func()) { end() }

// settled waits for f without printing what it failed with.
func settled[T any](t testing.TB, f *future.Future[T]) future.Outcome[T] {
	t.Helper()
	testwait.Done(t, f.Done())
	return futuretest.RequireSettled(t, f)
}

// sickClock panics, or ends the goroutine, when it is told to.
type sickClock struct {
	sick atomic.Bool
	end  func()
}

func (c *sickClock) Now() time.Time {
	if c.sick.Load() {
		c.end()
	}
	return time.Now()
}

func (c *sickClock) NewTimer(d time.Duration) timer.ClockTimer {
	return realTimer{time.NewTimer(d)}
}

type realTimer struct{ *time.Timer }

func (t realTimer) C() <-chan time.Time { return t.Timer.C }

func TestForeignCodeFails(t *testing.T) {
	t.Run("EXEC-7_a_clock_that_fails_loses_no_task", func(t *testing.T) {
		for name, end := range map[string]func(){"panic": func() { panic("the clock") }, "Goexit": runtime.Goexit} {
			l := newLogs()
			clock := &sickClock{end: end}
			p := newPool(t, executor.Config{Size: 1, QueueLimit: 8, Clock: clock, Logger: l.Logger()})
			g := occupy(t, p, 1)
			f := executor.Submit(bg, p, value(1))
			require.NoError(t, p.Post(with("task", 2), func(context.Context) {}))
			wrapped := executor.Submit(bg, executor.CallerRuns(p), value(3))
			clock.sick.Store(true)
			g.Open()
			settled(t, f)
			settled(t, wrapped)
			testwait.Done(t, l.wrote) // of the Post at least
			clock.sick.Store(false)
			require.Equal(t, 4, futuretest.Await(t, executor.Submit(bg, p, value(4))), name)
			barrier(t, p)
			s := p.Stats()
			custody(t, s)
			require.EqualValues(t, 6, s.Accepted, name)
			require.Zero(t, s.Queued+s.Running, name)
			require.Equal(t, 1, s.Workers, name)
		}
	})
	t.Run("DIAG-7_a_handler_that_panics", func(t *testing.T) {
		l := defaultLogs(t)
		p := newPool(t, executor.Config{Size: 1, Logger: slog.New(panickingHandler{})})
		require.NoError(t, p.Post(bg, func(context.Context) { panic("boom") }))
		require.Equal(t, 1, futuretest.Await(t, executor.Submit(bg, p, value(1))))
		require.Len(t, l.Records(), 1, "one report in its stead")
		require.Equal(t, "the handler", l.Records()[0].Attrs["panic"].Any())
		closeAll(t, p)
		require.Len(t, l.Records(), 2, "another for the record of the shutdown")
	})
	t.Run("DIAG-7_a_default_handler_that_panics_too", func(t *testing.T) {
		old := slog.Default()
		defer slog.SetDefault(old)
		slog.SetDefault(slog.New(panickingHandler{}))
		p := newPool(t, executor.Config{Size: 1})
		require.NoError(t, p.Post(bg, func(context.Context) { panic("boom") }))
		require.Equal(t, 1, futuretest.Await(t, executor.Submit(bg, p, value(1))))
		closeAll(t, p)
	})
	t.Run("EXEC-7_a_handler_that_ends_the_goroutine", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, Logger: slog.New(exitingHandler{})})
		require.NoError(t, p.Post(bg, func(context.Context) { panic("boom") }))
		require.Equal(t, 1, futuretest.Await(t, executor.Submit(bg, p, value(1))))
		s := p.Stats()
		custody(t, s)
		require.Equal(t, 1, s.Workers)
		require.EqualValues(t, 1, s.Panicked)
		testwait.Call(t, func() { _ = p.Close() }) // its record ends that goroutine
		testwait.Done(t, p.Done())
	})
	t.Run("EXEC-7_a_context_whose_Value_panics", func(t *testing.T) {
		l := newLogs()
		p := newPool(t, executor.Config{Size: 1, Logger: l.Logger()})
		g := occupy(t, p, 1)
		ctx := &sickCtx{Context: bg}
		require.NoError(t, p.Post(ctx, func(context.Context) {}))
		f := executor.Submit(ctx, p, value(1))
		ctx.sick.Store(true)
		g.Open()
		require.Equal(t, 1, futuretest.Await(t, f), "it runs, without labels")
		barrier(t, p)
		custody(t, p.Stats())
		require.Zero(t, p.Stats().Panicked)

		for name, ex := range map[string]executor.Executor{"Go": executor.Go(), "Serial": newSerial(t, p, 4)} {
			g = occupy(t, p, 1)
			ctx.sick.Store(false)
			f = executor.Submit(ctx, ex, value(1))
			ctx.sick.Store(true)
			g.Open()
			require.Equal(t, 1, futuretest.Await(t, f), name)
		}

		g = occupy(t, p, 1) // discarded, its labels cannot be had either
		ctx.sick.Store(false)
		f = executor.Submit(ctx, p, value(1))
		called := make(chan struct{})
		f.OnSettle(func(future.Outcome[int]) { close(called) })
		ctx.sick.Store(true)
		require.Error(t, p.Shutdown(ended(errCause)))
		futuretest.RequireError(t, f, executor.ErrClosed)
		testwait.Done(t, called)
		g.Open()
		testwait.Done(t, p.Done())
	})
}

type panickingHandler struct{ slog.Handler }

func (panickingHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (panickingHandler) Handle(context.Context, slog.Record) error { panic("the handler") }

type exitingHandler struct{ slog.Handler }

func (exitingHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (exitingHandler) Handle(context.Context, slog.Record) error { runtime.Goexit(); return nil }

// sickCtx panics when it is asked for a value that it does not carry.
type sickCtx struct {
	context.Context
	sick atomic.Bool
}

func (c *sickCtx) Value(key any) any {
	if c.sick.Load() {
		panic("the context")
	}
	return c.Context.Value(key)
}
