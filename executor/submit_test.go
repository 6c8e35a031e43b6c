//lint:file-ignore SA1012 nil contexts are part of what is tested

package executor_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
)

var errBoom = errors.New("boom")

func value[T any](v T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return v, nil }
}

// started submits a task that tells when it runs and ends with its context or
// with the gate.
func started(t testing.TB, ctx context.Context, p executor.Executor, g *gate) (*future.Future[int], context.Context) {
	t.Helper()
	running := make(chan context.Context, 1)
	f := executor.Submit(ctx, p, func(ctx context.Context) (int, error) {
		running <- ctx
		<-g.C
		return 1, nil
	})
	return f, testwait.Value(t, running)
}

func TestSubmit(t *testing.T) {
	t.Run("EXEC-9_the_identical_outcome", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 2})
		require.Equal(t, 7, futuretest.Await(t, executor.Submit(bg, p, value(7))))
		f := executor.Submit(bg, p, func(context.Context) (int, error) { return 3, errBoom })
		err := futuretest.RequireError(t, f, errBoom)
		require.True(t, err == errBoom, "nothing is wrapped") //nolint:errorlint // on purpose
	})
	t.Run("EXEC-9_failures_arrive_through_the_future", func(t *testing.T) {
		p := newPool(t, executor.Config{Name: "small", Size: 1, QueueLimit: executor.NoQueue})
		g := occupy(t, p, 1)
		var rejected *executor.RejectedError
		o := futuretest.RequireSettled(t, executor.Submit(bg, p, value(1)))
		require.ErrorAs(t, o.Err, &rejected)
		require.ErrorIs(t, o.Err, executor.ErrQueueFull)
		require.False(t, o.Canceled())
		o = futuretest.RequireSettled(t, executor.Submit(ended(errCause), p, value(1)))
		require.ErrorIs(t, o.Err, errCause)
		require.ErrorIs(t, o.Err, context.Canceled)
		require.ErrorIs(t, o.Err, executor.ErrRejected)
		for field, f := range map[string]*future.Future[int]{
			"ctx": executor.Submit[int](nil, p, value(1)),
			"ex":  executor.Submit(bg, nil, value(1)),
			"fn":  executor.Submit[int](bg, p, nil),
		} {
			var bad *executor.ConfigError
			require.ErrorAs(t, futuretest.RequireSettled(t, f).Err, &bad)
			require.Equal(t, field, bad.Field)
		}
		g.Open()
		closeAll(t, p)
		o = futuretest.RequireSettled(t, executor.Submit(bg, p, value(1)))
		require.ErrorAs(t, o.Err, &rejected)
		require.ErrorIs(t, o.Err, executor.ErrClosed)
		require.ErrorIs(t, futuretest.RequireSettled(t, p.Delay(bg, time.Second)).Err, executor.ErrClosed)
		require.ErrorIs(t, futuretest.RequireSettled(t, executor.SubmitAfter(bg, p, time.Second, value(1))).Err, executor.ErrClosed)
		require.EqualValues(t, 3, p.Stats().Rejected)
	})
	t.Run("B13_a_refusal_is_synchronous_and_makes_nothing", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		occupy(t, p, 1)
		require.NoError(t, p.Post(bg, func(context.Context) {}))
		goroutines := runtime.NumGoroutine()
		require.ErrorIs(t, p.Post(bg, func(context.Context) {}), executor.ErrQueueFull)
		require.ErrorIs(t, futuretest.RequireSettled(t, executor.Submit(bg, p, value(1))).Err, executor.ErrQueueFull)
		require.ErrorIs(t, p.Post(ended(errCause), func(context.Context) {}), errCause)
		require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	})
	t.Run("B01_tasks_that_panic_leave_the_worker", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 8})
		var failing []*future.Future[int]
		for i := range 5 {
			failing = append(failing, executor.Submit(bg, p, func(context.Context) (int, error) { return panicsHere(i), nil }))
		}
		last := executor.Submit(bg, p, value(7))
		for i, f := range failing {
			var panicked *future.PanicError
			require.ErrorAs(t, settled(t, f).Err, &panicked)
			require.Equal(t, i, panicked.Value)
			require.Contains(t, string(panicked.Stack), "executor_test.panicsHere")
		}
		require.Equal(t, 7, futuretest.Await(t, last))
		s := p.Stats()
		require.Equal(t, 1, s.Workers)
		require.Zero(t, s.Running)
		require.EqualValues(t, 5, s.Panicked)
		require.EqualValues(t, 1, s.Finished)
	})
	t.Run("EXEC-21_an_executor_that_runs_a_task_twice_at_once_runs_the_function_once", func(t *testing.T) {
		var ran atomic.Int64
		var both sync.WaitGroup
		both.Add(2)
		twice := postFunc(func(ctx context.Context, task func(context.Context)) error {
			for range 2 {
				go func() { defer both.Done(); task(ctx) }()
			}
			return nil
		})
		f := executor.Submit(bg, twice, func(context.Context) (int64, error) { return ran.Add(1), nil })
		require.EqualValues(t, 1, futuretest.Await(t, f))
		testwait.Call(t, both.Wait)
		require.EqualValues(t, 1, ran.Load())
	})
	t.Run("B06_a_third_way_to_end", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 2, QueueLimit: 4})
		fs := []*future.Future[int]{
			executor.Submit(bg, p, func(context.Context) (int, error) { runtime.Goexit(); return 1, nil }),
			executor.Submit(bg, p, func(context.Context) (int, error) { panic(nil) }), //nolint:govet // on purpose
			executor.Submit(bg, p, value(3)),
		}
		futuretest.RequireError(t, fs[0], future.ErrGoexit)
		var none *runtime.PanicNilError
		require.ErrorAs(t, settled(t, fs[1]).Err, &none)
		require.Equal(t, 3, futuretest.Await(t, fs[2]))
		s := p.Stats()
		custody(t, s)
		require.Equal(t, 2, s.Workers)
		require.EqualValues(t, 1, s.Exited)
		require.EqualValues(t, 1, s.Panicked)
		ctx, cancel := context.WithTimeout(bg, testwait.Bound)
		defer cancel()
		require.NoError(t, p.Shutdown(ctx))
	})
	t.Run("B07_a_task_of_a_full_pool", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		short, cancel := context.WithTimeout(bg, 50*time.Millisecond)
		defer cancel()
		var b *future.Future[int]
		a := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
			b = executor.Submit(ctx, p, value(2))
			if err := p.Post(ctx, func(context.Context) { t.Error("C ran") }); !errors.Is(err, executor.ErrQueueFull) {
				t.Errorf("C: %v", err)
			}
			_, err := b.Await(short) // not the task's own context, so it does not lend its slot
			return 1, err
		})
		futuretest.RequireError(t, a, context.DeadlineExceeded)
		require.Equal(t, 2, futuretest.Await(t, b))
	})
}

//go:noinline
func panicsHere(v int) int { panic(v) }

func TestCancel(t *testing.T) {
	t.Run("EXEC-11_still_queued", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		occupy(t, p, 1)
		for range 100 { // more than the ring has cells
			f := executor.Submit(bg, p, func(context.Context) (int, error) { t.Error("ran"); return 1, nil })
			futuretest.RequirePending(t, f)
			require.True(t, f.Cancel(errCause))
			require.False(t, f.Cancel(errCause))
			o := futuretest.RequireSettled(t, f)
			require.True(t, o.Canceled())
			require.ErrorIs(t, o.Err, errCause)
			s := p.Stats()
			custody(t, s)
			require.Zero(t, s.Queued, "its place is free when Cancel returns")
		}
		require.EqualValues(t, 100, p.Stats().Skipped)
	})
	t.Run("EXEC-11_running", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		g := newGate(t)
		f, ctx := started(t, bg, p, g)
		require.NoError(t, ctx.Err())
		require.True(t, f.Cancel(errCause))
		futuretest.RequireSettled(t, f)
		testwait.Done(t, ctx.Done())
		require.Equal(t, context.Canceled, ctx.Err())
		require.Equal(t, errCause, context.Cause(ctx))
		require.Equal(t, 1, p.Stats().Running, "the task itself runs on")
		g.Open()
		barrier(t, p)
		require.Zero(t, p.Stats().Skipped)
	})
	t.Run("EXEC-11_finished", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		kept := make(chan context.Context, 1)
		f := executor.Submit(bg, p, func(ctx context.Context) (int, error) { kept <- ctx; return 1, nil })
		futuretest.Await(t, f)
		require.False(t, f.Cancel(errCause))
		require.False(t, f.Abandon(errCause))
		require.Equal(t, 1, futuretest.Await(t, f))
		require.NoError(t, testwait.Value(t, kept).Err(), "what it returned may go on to use it")
	})
	t.Run("EXEC-11_Abandon_lets_it_run_with_a_live_ctx", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		caller, cancel := context.WithCancelCause(bg)
		g := newGate(t)
		f, ctx := started(t, caller, p, g)
		require.True(t, f.Abandon(errCause))
		require.True(t, futuretest.RequireSettled(t, f).Canceled())
		cancel(errBoom)
		require.NoError(t, ctx.Err())
		g.Open()
		barrier(t, p)
		require.EqualValues(t, 2, p.Stats().Finished)

		queued := newGate(t)
		occupy(t, p, 1).Open()
		f = executor.Submit(bg, p, func(context.Context) (int, error) { queued.Open(); return 1, nil })
		f.Abandon(nil)
		testwait.Done(t, queued.C)
	})
	t.Run("EXEC-11_the_end_of_the_callers_ctx_is_a_cancel", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		caller, cancel := context.WithCancelCause(bg)
		g := newGate(t)
		running, ctx := started(t, caller, p, g)
		queued := executor.Submit(caller, p, func(context.Context) (int, error) { t.Error("ran"); return 0, nil })
		cancel(errCause)
		for _, f := range []*future.Future[int]{running, queued} {
			err := futuretest.RequireError(t, f, errCause)
			require.ErrorIs(t, err, context.Canceled)
			require.True(t, futuretest.RequireSettled(t, f).Canceled())
		}
		testwait.Done(t, ctx.Done())
		require.Equal(t, errCause, context.Cause(ctx))
		g.Open()
		barrier(t, p)
		require.EqualValues(t, 1, p.Stats().Skipped)
	})
	t.Run("EXEC-11_a_late_cancel_reaches_no_other_task", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 4})
		for range 300 {
			a := executor.Submit(bg, p, value(1))
			var wg sync.WaitGroup
			wg.Go(func() { a.Cancel(errCause) })
			b := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
				a.Cancel(errCause)
				return 2, context.Cause(ctx)
			})
			require.Equal(t, 2, futuretest.Await(t, b))
			wg.Wait()
		}
		custody(t, p.Stats())
	})
	t.Run("EXEC-11_a_settled_future_has_let_go_of_the_callers_ctx", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: executor.NoQueue})
		caller := newCountingCtx()
		futuretest.Await(t, executor.Submit(caller, p, value(1)))
		testwait.Until(t, func() bool { return caller.active.Load() == 0 }) // tied after the task may have ended
		g := newGate(t)
		f, _ := started(t, caller, p, g)
		require.EqualValues(t, 1, caller.active.Load())
		futuretest.RequireSettled(t, executor.Submit(caller, p, value(1))) // refused
		require.EqualValues(t, 1, caller.active.Load())
		f.Cancel(nil)
		require.Zero(t, caller.active.Load())
	})
	t.Run("EXEC-12_a_late_value_is_disposed_of_once", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		for name, end := range map[string]func(*future.Future[*closer]) bool{
			"cancel":  func(f *future.Future[*closer]) bool { return f.Cancel(nil) },
			"abandon": func(f *future.Future[*closer]) bool { return f.Abandon(nil) },
		} {
			c, g := &closer{}, newGate(t)
			running := make(chan struct{})
			f := executor.Submit(bg, p, func(context.Context) (*closer, error) { close(running); <-g.C; return c, nil })
			testwait.Done(t, running)
			require.True(t, end(f), name)
			g.Open()
			barrier(t, p)
			require.EqualValues(t, 1, c.closed.Load(), name)

			var disposed atomic.Int32
			g, running = newGate(t), make(chan struct{})
			f = executor.Submit(bg, p, func(context.Context) (*closer, error) { close(running); <-g.C; return c, nil },
				future.WithDispose(func(got *closer) {
					if got == c {
						disposed.Add(1)
					}
				}))
			testwait.Done(t, running)
			end(f)
			g.Open()
			barrier(t, p)
			require.EqualValues(t, 1, disposed.Load(), name)
			require.EqualValues(t, 1, c.closed.Load(), name)
		}
		c := &closer{}
		f := executor.Submit(bg, p, value(c))
		futuretest.Await(t, f)
		f.Cancel(nil)
		require.Zero(t, c.closed.Load(), "a value that was delivered stays")
	})
}

func TestSubmitFailures(t *testing.T) {
	t.Run("EXEC-7_a_panic_after_the_future_has_settled_is_reported_and_an_error_is_not", func(t *testing.T) {
		for name, fail := range map[string]func() error{
			"error": func() error { return errCause },
			"panic": func() error { panic("boom") },
		} {
			l := newLogs()
			p := newPool(t, executor.Config{Size: 1, Logger: l.Logger()})
			begun, g := make(chan struct{}), newGate(t)
			f := executor.Submit(bg, p, func(context.Context) (int, error) { close(begun); <-g.C; return 0, fail() })
			testwait.Done(t, begun)
			f.Abandon(nil)
			g.Open()
			closeAll(t, p)
			require.Equal(t, name == "panic", len(l.Of(slog.LevelError)) == 1, name)
		}
	})
	t.Run("EXEC-7_a_callback_of_a_contexts_end_is_contained_and_the_record_says_how_it_failed", func(t *testing.T) {
		for how, fail := range map[string]func(){
			"executor: a callback panicked":              func() { panic("boom") },
			"executor: a callback called runtime.Goexit": runtime.Goexit,
		} {
			l := defaultLogs(t)
			p := newPool(t, executor.Config{Size: 1})
			g := occupy(t, p, 1)
			ctx, cancel := context.WithCancel(bg)
			executor.Submit(ctx, p, value(1)).OnSettle(func(future.Outcome[int]) { fail() })
			cancel()
			testwait.Until(t, func() bool { return len(l.Of(slog.LevelError)) == 1 })
			require.Equal(t, how, l.Of(slog.LevelError)[0].Message)
			g.Open()
		}
	})
	t.Run("EXEC-7_the_future_of_a_task_that_an_executor_loses_has_its_callbacks_called", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, Logger: newLogs().Logger()})
		g := occupy(t, p, 1)
		f := executor.Submit(bg, postFunc(func(ctx context.Context, _ func(context.Context)) error {
			return p.Post(ctx, func(context.Context) { panic("the executor") })
		}), value(1))
		told := make(chan error, 1)
		f.OnSettle(func(o future.Outcome[int]) { told <- o.Err })
		g.Open()
		var panicked *future.PanicError
		require.ErrorAs(t, testwait.Value(t, told), &panicked)
	})
	t.Run("EXEC-9_the_end_of_the_callers_pool_cancels_what_another_pool_has", func(t *testing.T) {
		mine, other := newPool(t, executor.Config{Size: 1}), newPool(t, executor.Config{Size: 1})
		g := occupy(t, other, 1)
		submitted := make(chan *future.Future[int], 1)
		executor.Submit(bg, mine, func(ctx context.Context) (int, error) {
			submitted <- executor.Submit(ctx, other, value(1))
			<-g.C
			return 0, nil
		})
		f := testwait.Value(t, submitted)
		require.Error(t, mine.Shutdown(ended(errCause)))
		require.True(t, settled(t, f).Canceled())
		g.Open()
	})
}

type closer struct{ closed atomic.Int32 }

var _ io.Closer = (*closer)(nil)

func (c *closer) Close() error { c.closed.Add(1); return nil }

// countingCtx counts what is registered with it.
type countingCtx struct {
	context.Context
	cancel context.CancelCauseFunc
	active atomic.Int64
}

func newCountingCtx() *countingCtx {
	c := &countingCtx{}
	c.Context, c.cancel = context.WithCancelCause(bg)
	return c
}

func (*countingCtx) Value(any) any { return nil }

func (c *countingCtx) AfterFunc(fn func()) (stop func() bool) {
	c.active.Add(1)
	end := context.AfterFunc(c.Context, func() { c.active.Add(-1); fn() })
	return func() bool {
		stopped := end()
		if stopped {
			c.active.Add(-1)
		}
		return stopped
	}
}
