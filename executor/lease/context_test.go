package lease_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/timer"
)

func TestContext(t *testing.T) {
	workers, err := executor.New(executor.Config{Size: 1, Logger: quiet})
	require.NoError(t, err)
	defer func() { require.NoError(t, workers.Close()) }()
	for where, ex := range map[string]executor.Executor{
		"without an Executor": nil, "with goroutines": executor.Go(), "inline": executor.Inline(), "with a pool": workers,
	} {
		t.Run("LEASE-64 a context that panics fails its Acquire and not the pool, "+where, func(t *testing.T) {
			type key struct{}
			cancelable, cancel := context.WithCancel(bg)
			defer cancel()
			ask := func(ctx context.Context) { _ = ctx.Value(key{}) }
			m := &maker{}
			p, _ := newPool(t, config{
				Executor: ex,
				Connect:  func(ctx context.Context) (*thing, error) { ask(ctx); return m.connect(ctx) },
				Validate: func(ctx context.Context, _ *thing) error { ask(ctx); return nil },
			})
			// Whether it panics for every key, in the pool, or for one, in the hook.
			for _, k := range []any{nil, key{}} {
				for range 2 { // connecting, validating
					bad := &badContext{Context: cancelable, key: k}
					bad.arm("Value")
					var err error
					v := panicked(func() { _, err = p.Acquire(bad) })
					if v == nil {
						require.ErrorIs(t, err, lease.ErrConnect)
						require.ErrorContains(t, err, "Value")
					}
					release(t, acquire(t, p))
				}
				p.Reset()
			}
			require.NoError(t, p.Shutdown(bg))
			m.requireOnce(t)
			require.NoError(t, p.Check())
			requireConserved(t, p)
		})
	}
	t.Run("LEASE-7 a context made from a hook's starts no goroutine", func(t *testing.T) {
		more := 0
		p, _ := newPool(t, config{ConnectTimeout: time.Hour, Connect: func(ctx context.Context) (*thing, error) {
			before := runtime.NumGoroutine()
			_, cancel := context.WithCancel(ctx)
			defer cancel()
			more = runtime.NumGoroutine() - before
			return &thing{}, nil
		}})
		cancelable, cancel := context.WithCancel(bg)
		defer cancel()
		l, err := p.Acquire(&badContext{Context: cancelable})
		require.NoError(t, err)
		require.LessOrEqual(t, more, 0)
		release(t, l)
	})
	t.Run("LEASE-68 an Acquire that foreign code ends is counted", func(t *testing.T) {
		for _, c := range []struct {
			name string
			cfg  config
			ctx  string // the method that panics
		}{
			{"ctx.Done panics", config{}, "Done"},
			{"NewTimer exits", config{AcquireTimeout: 1, Clock: exitTimers{}}, ""},
			{"Stop exits", config{AcquireTimeout: 1, Clock: exitStops{}}, ""},
		} {
			p, _ := newPool(t, c.cfg)
			l := acquire(t, p)
			bad := &badContext{Context: bg}
			bad.arm(c.ctx)
			goexit(t, func() { _ = panicked(func() { _, _ = p.Acquire(bad) }) })
			require.Equal(t, uint64(2), p.Stats().Acquires, c.name)
			release(t, l)
			atRest(t, p)
		}
	})
	t.Run("LEASE-68 a context that panics when its end is told", func(t *testing.T) {
		p, _ := newPool(t, config{})
		l := acquire(t, p)
		for _, ctx := range []context.Context{ended(nil), deadline(t)} {
			bad := &badContext{Context: ctx}
			bad.arm("Value")
			require.Equal(t, "Value", panicked(func() { _, _ = p.Acquire(bad) }))
			atRest(t, p)
		}
		release(t, l)
		atRest(t, p)
	})
}

// deadline returns a context that ends soon.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(bg, time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// exitTimers is a clock that makes no timers.
type exitTimers struct{}

func (exitTimers) Now() time.Time                          { return time.Time{} }
func (exitTimers) NewTimer(time.Duration) timer.ClockTimer { runtime.Goexit(); return nil }

// exitStops is a clock whose timers go off at once, and cannot be stopped.
type exitStops struct{ exitTimers }

func (exitStops) NewTimer(time.Duration) timer.ClockTimer {
	ch := make(chan time.Time, 1)
	ch <- time.Time{}
	return exitStop{eagerTimer(ch)}
}

type exitStop struct{ eagerTimer }

func (exitStop) Stop() bool { runtime.Goexit(); return false }
