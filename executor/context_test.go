package executor_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
)

type valueKey struct{}

func TestTaskContext(t *testing.T) {
	t.Run("EXEC-4_Post_has_the_callers_values_and_the_pools_lifetime", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		caller, cancel := context.WithTimeout(context.WithValue(bg, valueKey{}, "v"), time.Hour)
		running, g := make(chan context.Context, 1), newGate(t)
		require.NoError(t, p.Post(caller, func(ctx context.Context) { running <- ctx; <-g.C }))
		ctx := testwait.Value(t, running)
		require.Equal(t, "v", ctx.Value(valueKey{}))
		_, ok := ctx.Deadline()
		require.False(t, ok, "the caller's deadline is the caller's")
		cancel()
		require.NoError(t, ctx.Err())
		require.ErrorIs(t, p.Shutdown(ended(errCause)), errCause)
		testwait.Done(t, ctx.Done())
		require.Equal(t, context.Canceled, ctx.Err())
		require.Equal(t, executor.ErrClosed, context.Cause(ctx))
		g.Open()
		testwait.Done(t, p.Done())
	})
	t.Run("EXEC-4_a_drained_pool_ends_the_contexts_of_its_tasks", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		kept := make(chan context.Context, 1)
		require.NoError(t, p.Post(bg, func(ctx context.Context) { kept <- ctx }))
		closeAll(t, p)
		ctx := testwait.Value(t, kept)
		require.Equal(t, executor.ErrClosed, context.Cause(ctx))
	})
	t.Run("EXEC-4_Submit_also_ends_with_the_callers_ctx", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		at := time.Now().Add(time.Hour)
		caller, cancel := context.WithDeadline(context.WithValue(bg, valueKey{}, "v"), at)
		g := newGate(t)
		_, ctx := started(t, caller, p, g)
		require.Equal(t, "v", ctx.Value(valueKey{}))
		deadline, ok := ctx.Deadline()
		require.True(t, ok)
		require.True(t, deadline.Equal(at))
		cancel()
		testwait.Done(t, ctx.Done())
		require.Equal(t, context.Canceled, context.Cause(ctx))
	})
	t.Run("EXEC-4_Submit_ends_with_the_pool", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		g := newGate(t)
		f, ctx := started(t, bg, p, g)
		require.ErrorIs(t, p.Shutdown(ended(errCause)), errCause)
		testwait.Done(t, ctx.Done())
		require.Equal(t, executor.ErrClosed, context.Cause(ctx))
		g.Open()
		require.Equal(t, 1, futuretest.Await(t, f), "it ran to its end")
	})
	t.Run("EXEC-4_a_child_context_costs_no_goroutine", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		children := func(ctx context.Context) int {
			before := runtime.NumGoroutine()
			for range 50 {
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				grandchild, cancel := context.WithTimeout(context.WithValue(child, valueKey{}, 1), time.Hour)
				defer cancel()
				_ = grandchild.Done()
			}
			return runtime.NumGoroutine() - before
		}
		posted := make(chan int, 1)
		require.NoError(t, p.Post(with("k", 1), func(ctx context.Context) { posted <- children(ctx) }))
		require.LessOrEqual(t, testwait.Value(t, posted), 0)
		caller, cancel := context.WithCancel(bg)
		defer cancel()
		require.LessOrEqual(t, futuretest.Await(t, executor.Submit(caller, p, func(ctx context.Context) (int, error) {
			return children(ctx), nil
		})), 0)
	})
	t.Run("EXEC-4_a_child_context_ends_with_its_parent", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		g := newGate(t)
		f, ctx := started(t, bg, p, g)
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		f.Cancel(errCause)
		testwait.Done(t, child.Done())
		require.Equal(t, errCause, context.Cause(child))
	})
	t.Run("EXEC-4_values_of_a_chain_of_tasks", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		got := make(chan any, 1)
		var nest func(ctx context.Context, n int)
		nest = func(ctx context.Context, n int) {
			if n == 0 {
				got <- ctx.Value(valueKey{})
				return
			}
			_ = p.Post(ctx, func(ctx context.Context) { nest(ctx, n-1) })
		}
		nest(context.WithValue(bg, valueKey{}, "root"), 50)
		require.Equal(t, "root", testwait.Value(t, got))
		inner := executor.Submit(context.WithValue(bg, valueKey{}, "root"), p, func(ctx context.Context) (any, error) {
			return executor.Submit(ctx, p, func(ctx context.Context) (any, error) { return ctx.Value(valueKey{}), nil }).Await(ctx)
		})
		require.Equal(t, "root", futuretest.Await(t, inner))
	})
}

func TestCause(t *testing.T) {
	// running submits a function that waits for gate, and returns its context
	// when it runs.
	running := func(t *testing.T, ex executor.Executor, gate chan struct{}) (context.Context, *future.Future[int]) {
		ran := make(chan context.Context, 1)
		f := executor.Submit(bg, ex, func(ctx context.Context) (int, error) {
			ran <- ctx
			<-gate
			return 0, nil
		})
		return testwait.Value(t, ran), f
	}
	t.Run("EXEC-4_EXEC-14_a_Cancel_after_the_pool_has_ended_the_context_changes_no_cause", func(t *testing.T) {
		p, gate := newPool(t, executor.Config{Size: 1}), make(chan struct{})
		ctx, f := running(t, p, gate)
		var gaveUp *executor.ShutdownError
		require.ErrorAs(t, p.Shutdown(ended(errCause)), &gaveUp)
		require.Error(t, ctx.Err())
		require.True(t, f.Cancel(errBoom))
		require.ErrorIs(t, context.Cause(ctx), executor.ErrClosed)
		close(gate)
	})
	t.Run("EXEC-4_nor_after_another_executor_has", func(t *testing.T) {
		life, end := context.WithCancelCause(bg)
		ex := postFunc(func(_ context.Context, task func(context.Context)) error {
			go task(life)
			return nil
		})
		gate := make(chan struct{})
		ctx, f := running(t, ex, gate)
		end(errCause)
		require.True(t, f.Cancel(errBoom))
		require.ErrorIs(t, context.Cause(ctx), errCause)
		close(gate)
	})
}
