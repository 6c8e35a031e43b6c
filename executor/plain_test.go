//lint:file-ignore SA1012 nil contexts are part of what is tested

package executor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/executortest"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
)

// mute is an error that cannot say what it is.
type mute struct{}

func (mute) Error() string { panic("no text") }

func TestPlain_EXEC_7_net(t *testing.T) {
	for name, ex := range map[string]executor.Executor{
		"inline": executor.Inline(),
		"go":     executor.Go(),
	} {
		t.Run("EXEC-7 "+name, func(t *testing.T) {
			logs := defaultLogs(t)
			for i, v := range []any{"boom", nil, mute{}, errCause} {
				require.NoError(t, ex.Post(with("n", i), func(context.Context) { panic(v) }))
				testwait.Done(t, logs.wrote)
			}
			testwait.Call(t, func() {
				_ = ex.Post(with("n", 4), func(context.Context) { runtime.Goexit() })
			})
			testwait.Done(t, logs.wrote)
			records := logs.Records()
			require.Len(t, records, 5, "each once")
			for i, r := range records {
				require.Equal(t, slog.LevelError, r.Level)
				require.Equal(t, fmt.Sprintf("n=%d", i), r.Context)
				require.Equal(t, name, r.Attrs["pool"].String())
			}
			require.Equal(t, "boom", records[0].Attrs["panic"].Any())
			require.Contains(t, records[0].Attrs["stack"].String(), "TestPlain_EXEC_7_net")
			require.IsType(t, &runtime.PanicNilError{}, records[1].Attrs["panic"].Any())
			require.Equal(t, future.ErrGoexit, records[4].Attrs["panic"].Any())

			testwait.Call(t, func() {
				f := executor.Submit(bg, ex, func(context.Context) (int, error) { panic(errCause) })
				var panicked *future.PanicError
				_, err := f.Await(bg)
				require.ErrorAs(t, err, &panicked)
				executor.Submit(bg, ex, func(context.Context) (int, error) { runtime.Goexit(); return 0, nil })
			})
			require.NoError(t, ex.Post(bg, func(context.Context) { panic("last") }))
			testwait.Done(t, logs.wrote)
			require.Len(t, logs.Records(), 6, "a Submit's end is in its future")
		})
	}
	t.Run("EXEC-20 on the caller's stack a Goexit is the caller's own", func(t *testing.T) {
		defaultLogs(t)
		for _, ex := range []executor.Executor{executor.Inline(), executor.CallerRuns(executortest.Saturated())} {
			returned := false
			testwait.Call(t, func() {
				_ = ex.Post(bg, func(context.Context) { runtime.Goexit() })
				returned = true
			})
			require.False(t, returned)
		}
	})
	t.Run("EXEC-20 in a pool's task it reports to the pool's log", func(t *testing.T) {
		logs := newLogs()
		p := newPool(t, executor.Config{Size: 1, Name: "mine", Logger: logs.Logger()})
		require.NoError(t, p.Post(bg, func(ctx context.Context) {
			_ = executor.Inline().Post(withIn(ctx, "n", 1), func(context.Context) { panic("boom") })
		}))
		closeAll(t, p)
		records := logs.Of(slog.LevelError)
		require.Len(t, records, 1)
		require.Equal(t, "n=1", records[0].Context)
		require.Equal(t, "mine", records[0].Attrs["pool"].String())
		require.Equal(t, uint64(1), p.Stats().Finished)
	})
}

func TestPlain_EXEC_4_context(t *testing.T) {
	t.Run("EXEC-4 of Inline in a pool's task ends with the pool", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		cause := make(chan error, 1)
		began := make(chan struct{})
		require.NoError(t, p.Post(bg, func(ctx context.Context) {
			_ = executor.Inline().Post(ctx, func(ctx context.Context) {
				close(began)
				<-ctx.Done()
				cause <- context.Cause(ctx)
			})
		}))
		testwait.Done(t, began)
		require.Error(t, p.Shutdown(ended(errCause)))
		require.ErrorIs(t, testwait.Value(t, cause), executor.ErrClosed)
	})
	t.Run("EXEC-4 the end of the caller's context reaches a Submit on the caller's stack", func(t *testing.T) {
		for _, ex := range []executor.Executor{executor.Inline(), newSerial(t, executor.Inline(), 0)} {
			ctx, cancel := context.WithCancelCause(bg)
			f := executor.Submit(ctx, ex, func(ctx context.Context) (int, error) {
				cancel(errCause)
				<-ctx.Done()
				require.Equal(t, errCause, context.Cause(ctx))
				return 0, nil
			})
			futuretest.RequireError(t, f, errCause)
		}
	})
	t.Run("DIAG-3 Submit to an executor that passes its context on", func(t *testing.T) {
		type key struct{}
		for name, ex := range map[string]executor.Executor{
			"as it is": passOn,
			"not at all": postFunc(func(_ context.Context, task func(context.Context)) error {
				go task(bg)
				return nil
			}),
			"with attributes": postFunc(func(ctx context.Context, task func(context.Context)) error {
				go task(diagnostics.With(ctx, slog.String("of", "ex")))
				return nil
			}),
		} {
			caller := diagnostics.Capture(bg).Install(context.WithValue(bg, key{}, "value"))
			require.True(t, diagnostics.Set(caller, slog.String("n", "1")))
			f := executor.Submit(caller, ex, func(ctx context.Context) (string, error) {
				require.True(t, diagnostics.Set(ctx, slog.String("left", "behind")))
				got := attr(ctx, "n") + fmt.Sprint(ctx.Value(key{}))
				// A task of its own must not pass for the operation.
				_ = passOn(ctx, func(ctx context.Context) { executor.Discard(ctx, nil) })
				executor.Discard(ctx, nil)
				return got, nil
			})
			require.Equal(t, "1value", futuretest.Await(t, f), name)
			require.Equal(t, "absent", attr(caller, "left"), name)
		}
	})
	t.Run("EXEC-4 what an executor adds is there for what a task posts", func(t *testing.T) {
		type key struct{}
		adds := postFunc(func(ctx context.Context, task func(context.Context)) error {
			return executor.Inline().Post(ctx, func(ctx context.Context) { task(context.WithValue(ctx, key{}, "added")) })
		})
		f := executor.Submit(bg, adds, func(ctx context.Context) (any, error) {
			var got any
			err := executor.Inline().Post(ctx, func(ctx context.Context) { got = ctx.Value(key{}) })
			return got, err
		})
		require.Equal(t, "added", futuretest.Await(t, f))
	})
	t.Run("DIAG-4 Inline leaves the caller's labels, Go clears what it inherits", func(t *testing.T) {
		pprof.SetGoroutineLabels(labeledCtx(bg, "own", "1"))
		defer pprof.SetGoroutineLabels(bg)
		for _, c := range []struct {
			ex            executor.Executor
			labeled, bare string
		}{
			{executor.Inline(), `{"own":"1"}`, `{"own":"1"}`},
			{executor.CallerRuns(executortest.Saturated()), `{"own":"1"}`, `{"own":"1"}`},
			{executor.Go(), `{"k":"v"}`, ""},
		} {
			got := make(chan string, 1)
			require.NoError(t, c.ex.Post(labeledCtx(bg, "k", "v"), func(context.Context) { got <- labelsHere() }))
			require.Equal(t, c.labeled, testwait.Value(t, got))
			require.NoError(t, c.ex.Post(bg, func(context.Context) { got <- labelsHere() }))
			require.Equal(t, c.bare, testwait.Value(t, got))
		}
		require.Equal(t, `{"own":"1"}`, labelsHere())
	})
}

func TestCallerRuns(t *testing.T) {
	require.Panics(t, func() { executor.CallerRuns(nil) })
	t.Run("EXEC-20 only where ex is full", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		ex := executor.CallerRuns(p)
		g := occupy(t, ex, 1)
		queued, inline := false, false
		require.NoError(t, ex.Post(bg, func(context.Context) { queued = true }))
		require.NoError(t, ex.Post(bg, func(context.Context) { inline = true }))
		require.True(t, inline)
		g.Open()
		closeAll(t, p)
		require.True(t, queued)
		require.ErrorIs(t, ex.Post(bg, nothing), executor.ErrClosed)
	})
	t.Run("EXEC-2 arguments are checked whatever ex does", func(t *testing.T) {
		ex := executor.CallerRuns(postFunc(func(context.Context, func(context.Context)) error { return executor.ErrQueueFull }))
		require.ErrorIs(t, ex.Post(nil, nothing), executor.ErrConfig)
		require.ErrorIs(t, ex.Post(bg, nil), executor.ErrConfig)
		require.ErrorIs(t, ex.Post(ended(errCause), nothing), errCause)
	})
}

func TestDiscard(t *testing.T) {
	t.Run("EXEC-20 however many wrappers are in between", func(t *testing.T) {
		type key struct{}
		var posted context.Context
		var ex executor.Executor = postFunc(func(ctx context.Context, _ func(context.Context)) error {
			posted = ctx
			return nil
		})
		for range 3 {
			next := ex
			ex = postFunc(func(ctx context.Context, task func(context.Context)) error {
				ctx = diagnostics.With(context.WithValue(ctx, key{}, 1), slog.Int("a", 1))
				ctx = diagnostics.Capture(ctx).Install(context.WithoutCancel(ctx))
				return next.Post(ctx, func(ctx context.Context) { task(ctx) })
			})
		}
		f := executor.Submit(bg, ex, func(context.Context) (int, error) { return 7, nil })
		futuretest.RequirePending(t, f)
		executor.Discard(posted, errCause)
		require.Equal(t, errCause, futuretest.RequireSettled(t, f).Err)
		executor.Discard(posted, nil) // too late
		require.Equal(t, errCause, futuretest.RequireSettled(t, f).Err)

		f = executor.Submit(bg, ex, func(context.Context) (int, error) { return 7, nil })
		f.OnSettle(func(future.Outcome[int]) { panic("boom") })
		require.PanicsWithValue(t, "boom", func() { executor.Discard(posted, nil) }, "callbacks are the caller's")
		require.Equal(t, executor.ErrClosed, futuretest.RequireSettled(t, f).Err)
	})
	t.Run("EXEC-20 a task that is run all the same does nothing", func(t *testing.T) {
		ex := postFunc(func(ctx context.Context, task func(context.Context)) error {
			executor.Discard(ctx, nil)
			task(ctx)
			return nil
		})
		f := executor.Submit(bg, ex, func(context.Context) (int, error) { t.Error("ran"); return 0, nil })
		futuretest.RequireError(t, f, executor.ErrClosed)
	})
	t.Run("EXEC-20 other contexts", func(t *testing.T) {
		executor.Discard(bg, nil)
		executor.Discard(with("a", 1), nil)
		require.Panics(t, func() { executor.Discard(nil, nil) })
	})
	t.Run("EXEC-20 a pool tells all that it carries", func(t *testing.T) {
		defaultLogs(t)
		p := newPool(t, executor.Config{Size: 1})
		g := occupy(t, p, 1)
		var inner *future.Future[int]
		ex := postFunc(func(ctx context.Context, task func(context.Context)) error {
			inner = executor.Submit(ctx, p, func(ctx context.Context) (int, error) { task(ctx); return 0, nil })
			return nil
		})
		told := make(chan struct{}, 2)
		f := executor.Submit(bg, ex, func(context.Context) (int, error) { t.Error("ran"); return 0, nil })
		f.OnSettle(func(future.Outcome[int]) { told <- struct{}{} })
		inner.OnSettle(func(future.Outcome[int]) { told <- struct{}{}; panic("boom") })
		require.Error(t, p.Shutdown(ended(errCause)))
		require.ErrorIs(t, futuretest.RequireSettled(t, f).Err, executor.ErrClosed)
		require.ErrorIs(t, futuretest.RequireSettled(t, inner).Err, executor.ErrClosed)
		testwait.Done(t, told)
		testwait.Done(t, told)
		g.Open()
	})
}

func ExampleCallerRuns() {
	pool, err := executor.New(executor.Config{Size: 1, QueueLimit: executor.NoQueue})
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	ex := executor.CallerRuns(pool)
	busy := make(chan struct{})
	_ = ex.Post(bg, func(context.Context) { <-busy }) // takes the only worker
	err = ex.Post(bg, func(context.Context) { fmt.Println("on the caller's stack") })
	fmt.Println(err, errors.Is(err, executor.ErrQueueFull))
	close(busy)
	// Output:
	// on the caller's stack
	// <nil> false
}
