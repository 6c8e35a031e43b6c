package future_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/testwait"
)

// load is something that a test wants to see collected.
type load struct{ _ [1 << 10]byte }

func requireCollected[T any](t *testing.T, w weak.Pointer[T]) {
	t.Helper()
	testwait.Until(t, func() bool { runtime.GC(); return w.Value() == nil })
}

// uses are all the ways to wait for a future, each ended before the future
// settles. Each holds on to a load for as long as it is subscribed, and gives
// it to nobody else.
var uses = map[string]func(ctx context.Context, f *future.Future[int], l *load){
	"Await": func(_ context.Context, f *future.Future[int], l *load) {
		ctx := context.WithValue(ended(errWhy), l, l)
		_, _ = f.Await(ctx)
	},
	"Then abandoned": func(ctx context.Context, f *future.Future[int], l *load) {
		future.Then(ctx, f, func(context.Context, int) (*load, error) { return l, nil }).Abandon(nil)
	},
	"Recover abandoned": func(ctx context.Context, f *future.Future[int], l *load) {
		future.Recover(ctx, f, func(context.Context, error) (int, error) { runtime.KeepAlive(l); return 0, nil }).Abandon(nil)
	},
	"Then of a Shield canceled": func(ctx context.Context, f *future.Future[int], l *load) {
		future.Then(ctx, future.Shield(f), func(context.Context, int) (*load, error) { return l, nil }).Cancel(nil)
	},
	"All of a Shield failed": func(ctx context.Context, f *future.Future[int], l *load) {
		watch(future.All(ctx, future.Shield(f), future.Failed[int](errBoom)), l)
	},
	"All abandoned": func(ctx context.Context, f *future.Future[int], l *load) {
		watch(future.All(ctx, f, f), l).Abandon(nil)
	},
	"Settled abandoned": func(ctx context.Context, f *future.Future[int], l *load) {
		watch(future.Settled(ctx, future.Completed(1), f), l).Abandon(nil)
	},
	"Any won": func(ctx context.Context, f *future.Future[int], l *load) {
		c := future.NewCompleter[int]()
		watch(future.Any(ctx, future.Shield(f), c.Future()), l)
		c.Complete(1)
	},
	"Race lost": func(ctx context.Context, f *future.Future[int], l *load) {
		c := future.NewCompleter[int]()
		watch(future.Race(ctx, future.Shield(f), c.Future()), l)
		c.Fail(errBoom)
	},
	"Each broken": func(ctx context.Context, f *future.Future[int], l *load) {
		for range future.Each(ctx, f, future.Completed(1)) {
			break
		}
	},
	"Each interrupted": func(_ context.Context, f *future.Future[int], l *load) {
		for range future.Each(context.WithValue(ended(errWhy), l, l), f) {
		}
	},
}

func watch[T any](f *future.Future[T], l *load) *future.Future[T] {
	f.OnSettle(func(future.Outcome[T]) { runtime.KeepAlive(l) })
	return f
}

func TestLeftovers(t *testing.T) {
	for name, use := range uses {
		t.Run("FUT-11_a_finished_wait_leaves_nothing_on_a_long_lived_future_or_ctx/"+name, func(t *testing.T) {
			ctx := newCountingCtx()
			defer ctx.cancel(nil)
			c := future.NewCompleter[int]()
			l := weak.Make(func() *load {
				l := &load{}
				use(ctx, c.Future(), l)
				return l
			}())
			requireUnwatched(t, c)
			require.Zero(t, ctx.active.Load())
			requireCollected(t, l)
			requirePending(t, c.Future())
			runtime.KeepAlive(ctx)
		})
	}

	t.Run("FUT-11_a_registration_with_ctx_lasts_as_long_as_the_future_is_pending", func(t *testing.T) {
		ctx := newCountingCtx()
		defer ctx.cancel(nil)
		for name, combine := range combinators {
			cs, fs := pending(2)
			h := combine(ctx, fs...)
			require.EqualValues(t, 1, ctx.active.Load(), name)
			for i, c := range cs {
				c.Complete(i)
			}
			testwait.Done(t, h.Done())
			require.Zero(t, ctx.active.Load(), name)
			combine(ctx, fs...)
			require.Zero(t, ctx.active.Load(), name)
		}
		before := runtime.NumGoroutine()
		c := future.NewCompleter[int]()
		d := future.Then(ctx, c.Future(), func(ctx context.Context, _ int) (int, error) {
			ctx.Done() // a registration of the function's own context
			return 0, nil
		})
		require.EqualValues(t, 1, ctx.active.Load())
		c.Complete(1)
		requireValue(t, d, 0)
		testwait.Until(t, func() bool { return ctx.active.Load() == 0 })
		testwait.Until(t, func() bool { return runtime.NumGoroutine() <= before }) // package context's own, for a foreign ctx
	})

	t.Run("FUT-11_ctx_ends_while_it_is_being_registered", func(t *testing.T) {
		for range 200 {
			c := future.NewCompleter[int]()
			d := future.Then(&suddenCtx{Context: ended(nil)}, c.Future(), never[int, string](t))
			testwait.Done(t, c.Future().Done())
			requireCanceled(t, d, context.Canceled)
			requireUnwatched(t, c)
		}
	})

	t.Run("FUT-11_a_settled_derived_future_does_not_hold_its_source", func(t *testing.T) {
		c := future.NewCompleter[*load]()
		ds := []any{
			future.Then(bg, c.Future(), func(context.Context, *load) (int, error) { return 1, nil }),
			future.Then(bg, future.Shield(c.Future()), func(context.Context, *load) (int, error) { return 1, nil }),
			future.All(bg, c.Future(), future.Failed[*load](errBoom)),
			future.Race(bg, c.Future(), future.Failed[*load](errBoom)),
		}
		f := weak.Make(c)
		c.Complete(&load{})
		c = nil
		requireCollected(t, f)
		runtime.KeepAlive(ds)
	})

	t.Run("FUT-11_a_pending_aggregate_does_not_hold_what_else_waited_for_its_inputs", func(t *testing.T) {
		short, long := future.NewCompleter[int](), future.NewCompleter[int]()
		h := future.Settled(bg, short.Future(), long.Future())
		l := weak.Make(func() *load {
			l := &load{}
			watch(short.Future(), l)
			return l
		}())
		short.Complete(1)
		requireCollected(t, l)
		requirePending(t, h)
		runtime.KeepAlive(h)
	})

	t.Run("FUT-11_no_goroutine_per_pending_future", func(t *testing.T) {
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		before := runtime.NumGoroutine()
		const n = 200
		cs, fs := pending(n)
		for _, f := range fs {
			d := future.Then(ctx, f, itoa)
			future.Recover(ctx, future.Shield(f), func(context.Context, error) (int, error) { return 0, nil })
			future.Race(ctx, d, future.NewCompleter[string]().Future())
			future.Settled(ctx, f)
			f.OnSettle(func(future.Outcome[int]) {})
			f.Done()
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), before)
		for _, c := range cs {
			c.Complete(1)
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), before)
	})
}

// suddenCtx ends after it was first asked.
type suddenCtx struct {
	context.Context
	asked atomic.Bool
}

func (c *suddenCtx) Err() error {
	if c.asked.CompareAndSwap(false, true) {
		return nil
	}
	return c.Context.Err()
}
