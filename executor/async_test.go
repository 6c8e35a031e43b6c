package executor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/executortest"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
)

// call is a call that returns v.
func call[T any](v T, err error) func(context.Context, string) (T, error) {
	return func(context.Context, string) (T, error) { return v, err }
}

func isNoValue[T any](t *testing.T, v T) bool {
	f := executor.Async(executor.Inline(), call(v, nil))(bg, "")
	o := futuretest.RequireSettled(t, f)
	return o.Err == future.ErrNoValue
}

type response struct{ closed atomic.Int64 }

func (r *response) Close() error { r.closed.Add(1); return nil }

func TestAsync(t *testing.T) {
	t.Run("EXEC-12 a nil response is no value", func(t *testing.T) {
		require.True(t, isNoValue[*int](t, nil))
		require.True(t, isNoValue[error](t, nil))
		require.True(t, isNoValue[any](t, nil))
		require.True(t, isNoValue[map[string]int](t, nil))
		require.True(t, isNoValue[[]int](t, nil))
		require.True(t, isNoValue[chan int](t, nil))
		require.True(t, isNoValue[func()](t, nil))
		require.False(t, isNoValue(t, 0))
		require.False(t, isNoValue(t, ""))
		require.False(t, isNoValue(t, struct{ p *int }{}))
		require.False(t, isNoValue(t, []int{}))
		require.False(t, isNoValue(t, new(int)))
		require.False(t, isNoValue[any](t, 0))
		f := executor.Async(executor.Inline(), call[*int](nil, errCause))(bg, "")
		require.Equal(t, errCause, futuretest.RequireSettled(t, f).Err)
	})
	t.Run("EXEC-9 every failure arrives through the future", func(t *testing.T) {
		for name, f := range map[string]*future.Future[int]{
			"no executor": executor.Async(nil, call(7, nil))(bg, ""),
			"no call":     executor.Async[string, int](executor.Inline(), nil)(bg, ""),
			"no context":  executor.Async(executor.Inline(), call(7, nil))(nil, ""),
		} {
			require.ErrorIs(t, futuretest.RequireSettled(t, f).Err, executor.ErrConfig, name)
		}
		for target, ex := range map[error]executor.Executor{
			executor.ErrQueueFull: executortest.Saturated(),
			executor.ErrClosed:    executortest.Closed(),
		} {
			f := executor.Async(ex, call(7, nil))(bg, "")
			require.ErrorIs(t, futuretest.RequireSettled(t, f).Err, target)
			serial := newSerial(t, ex, 1)
			require.ErrorIs(t, futuretest.RequireSettled(t, executor.Async(serial, call(7, nil))(bg, "")).Err, target)
		}
		f := executor.Async(executor.Inline(), call(7, nil))(ended(errCause), "")
		require.ErrorIs(t, futuretest.RequireSettled(t, f).Err, errCause)
	})
	t.Run("EXEC-12 a response that nobody receives is disposed of once", func(t *testing.T) {
		disposed := 0
		for _, opts := range [][]future.Option[io.Closer]{nil, {future.WithDispose(func(io.Closer) { disposed++ })}} {
			m := executortest.NewManual()
			for _, ex := range []executor.Executor{m, newSerial(t, m, 5)} {
				for _, end := range []func(*future.Future[io.Closer]) bool{
					func(f *future.Future[io.Closer]) bool { return f.Cancel(nil) },
					func(f *future.Future[io.Closer]) bool { return f.Abandon(nil) },
				} {
					r := &response{}
					var f *future.Future[io.Closer]
					f = executor.Async(ex, func(context.Context, string) (io.Closer, error) {
						require.True(t, end(f))
						return r, nil
					}, opts...)(bg, "")
					m.RunAll()
					if opts == nil {
						require.EqualValues(t, 1, r.closed.Load())
					} else {
						require.Zero(t, r.closed.Load())
					}
				}
			}
		}
		require.Equal(t, 4, disposed)
	})
	t.Run("EXEC-4 one adapter under two contexts", func(t *testing.T) {
		who := executor.Async(executor.Inline(), func(ctx context.Context, key string) (string, error) { return attr(ctx, key), nil })
		require.Equal(t, "A", futuretest.Await(t, who(with("tenant", "A"), "tenant")))
		require.Equal(t, "B", futuretest.Await(t, who(with("tenant", "B"), "tenant")))
	})
}

func TestSync(t *testing.T) {
	p := newPool(t, executor.Config{Size: 2})
	t.Run("EXEC-19 the exact value or the identical error", func(t *testing.T) {
		want := &response{}
		got, err := executor.Sync(executor.Async(p, call(want, nil)))(bg, "")
		require.NoError(t, err)
		require.Same(t, want, got)
		canceled := &future.CanceledError{Cause: errCause}
		for _, want := range []error{
			errCause, canceled, &future.InterruptedError{Err: errCause, Cause: errCause}, fmt.Errorf("mine: %w", canceled),
		} {
			_, err = executor.Sync(executor.Async(p, call(0, want)))(bg, "")
			require.True(t, err == want, "%v", err)
		}
	})
	t.Run("EXEC-19 the end of ctx cancels", func(t *testing.T) {
		for name, cause := range map[string]error{"comparable": errCause, "not comparable": listError{errCause}} {
			ctx, cancel := context.WithCancelCause(bg)
			began, seen := make(chan struct{}), make(chan error, 1)
			blocking := executor.Sync(executor.Async(p, func(ctx context.Context, _ string) (int, error) {
				close(began)
				<-ctx.Done()
				seen <- context.Cause(ctx)
				return 0, nil
			}))
			result := make(chan error, 1)
			go func() { _, err := blocking(ctx, ""); result <- err }()
			testwait.Done(t, began)
			cancel(cause)
			err := testwait.Value(t, result)
			require.Equal(t, &future.InterruptedError{Err: context.Canceled, Cause: cause}, err, name)
			require.Equal(t, cause, testwait.Value(t, seen), name)
		}
	})
	t.Run("EXEC-19 it cancels a future that is not tied to ctx", func(t *testing.T) {
		c := future.NewCompleter[int]()
		_, err := executor.Sync(func(context.Context, string) *future.Future[int] { return c.Future() })(ended(errCause), "")
		require.Equal(t, &future.InterruptedError{Err: context.Canceled, Cause: errCause}, err)
		require.Equal(t, &future.CanceledError{Cause: errCause}, futuretest.RequireSettled(t, c.Future()).Err)
	})
	t.Run("EXEC-19 what arrives in the same instant is not lost", func(t *testing.T) {
		for _, c := range []struct {
			settle func(*future.Completer[int])
			value  int
			err    error
		}{
			{func(c *future.Completer[int]) { c.Complete(7) }, 7, nil},
			{func(c *future.Completer[int]) { c.Fail(errCause) }, 0, errCause},
		} {
			// The context ends before the outcome is there, and the wait sees
			// it end; the outcome comes before the cancel.
			completer := future.NewCompleter[int]()
			ctx := &settling{Context: bg, settle: func() { c.settle(completer) }}
			v, err := executor.Sync(func(context.Context, string) *future.Future[int] { return completer.Future() })(ctx, "")
			require.Equal(t, c.value, v)
			require.True(t, err == c.err, "%v", err)
		}
	})
	t.Run("EXEC-19 an error of the call's own stays, whenever ctx ends", func(t *testing.T) {
		own := fmt.Errorf("mine: %w", &future.CanceledError{Cause: errCause})
		other := &future.CanceledError{Cause: errors.New("another")}
		for _, want := range []error{own, other} {
			_, err := executor.Sync(func(context.Context, string) *future.Future[int] { return future.Failed[int](want) })(ended(errCause), "")
			require.True(t, err == want, "%v", err)
		}
	})
	t.Run("EXEC-9 misuse", func(t *testing.T) {
		_, err := executor.Sync[string, int](nil)(bg, "")
		require.ErrorIs(t, err, executor.ErrConfig)
		_, err = executor.Sync(executor.Async(p, call(7, nil)))(nil, "")
		require.ErrorIs(t, err, executor.ErrConfig)
		_, err = executor.Sync(func(context.Context, string) *future.Future[int] { return nil })(bg, "")
		require.ErrorIs(t, err, future.ErrNoValue)
	})
	t.Run("EXEC-13 in a task of the same pool", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		length := executor.Sync(executor.Async(p, func(_ context.Context, s string) (int, error) { return len(s), nil }))
		f := executor.Submit(bg, p, func(ctx context.Context) (int, error) { return length(ctx, "abc") })
		require.Equal(t, 3, futuretest.Await(t, f))
	})
}

// listError is an error that cannot be compared.
type listError []error

func (listError) Error() string { return "several" }

// settling is a context that has ended, and settles something when Err is asked.
type settling struct {
	context.Context
	settle func()
}

func (*settling) Done() <-chan struct{} { c := make(chan struct{}); close(c); return c }

func (s *settling) Err() error {
	s.settle()
	return context.Canceled
}

func ExampleAsync() {
	pool, err := executor.New(executor.Config{Size: 2})
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	length := executor.Async(pool, func(_ context.Context, s string) (int, error) { return len(s), nil })
	a, b := length(context.Background(), "one"), length(context.Background(), "three")
	fmt.Println(a.Await(context.Background()))
	fmt.Println(b.Await(context.Background()))
	// Output:
	// 3 <nil>
	// 5 <nil>
}

func ExampleSync() {
	pool, err := executor.New(executor.Config{Size: 2})
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	async := executor.Async(pool, func(_ context.Context, s string) (int, error) { return len(s), nil })
	length := executor.Sync(async)
	fmt.Println(length(context.Background(), "one"))
	// Output:
	// 3 <nil>
}
