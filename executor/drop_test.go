package executor_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
)

// A pool that is dropped, and what a pool keeps alive.
func TestDropped(t *testing.T) {
	t.Run("EXEC-18_a_pool_that_becomes_unreachable", func(t *testing.T) {
		for _, logger := range []*logs{newLogs(), nil} {
			l, cfg := logger, executor.Config{Name: "dropped", Size: 2, QueueLimit: 8}
			if l != nil {
				cfg.Logger = l.Logger()
			} else {
				l = defaultLogs(t)
			}
			before := runtime.NumGoroutine()
			var ran atomic.Int32
			// Its own function, so that no frame keeps the pool.
			done, delay := drop(t, cfg, &ran)
			testwait.Until(t, func() bool {
				runtime.GC()
				select {
				case <-done:
					return len(l.Records()) > 0
				default:
					return false
				}
			})
			require.EqualValues(t, 10, ran.Load(), "what was queued has run")
			futuretest.RequireError(t, delay, executor.ErrClosed)
			require.Len(t, l.Records(), 1)
			require.Equal(t, slog.LevelWarn, l.Records()[0].Level)
			require.Equal(t, "dropped", l.Records()[0].Attrs["pool"].String())
			require.Empty(t, l.Records()[0].Context)
			testwait.Until(t, func() bool { return runtime.NumGoroutine() <= before })
		}
	})
	t.Run("EXEC-18_a_pool_that_is_closed_warns_of_nothing", func(t *testing.T) {
		for _, end := range []func(*executor.Pool) error{
			(*executor.Pool).Close,
			func(p *executor.Pool) error { return p.Shutdown(bg) },
		} {
			l := newLogs()
			// A cleanup of the test's own runs in the same collection.
			collected := make(chan struct{})
			func() {
				p, err := executor.New(executor.Config{Size: 1, Logger: l.Logger()})
				require.NoError(t, err)
				require.NoError(t, end(p))
				testwait.Done(t, p.Done())
				runtime.AddCleanup(p, func(c chan struct{}) { close(c) }, collected)
			}()
			testwait.Until(t, func() bool {
				runtime.GC()
				select {
				case <-collected:
					return true
				default:
					return false
				}
			})
			for range 100 {
				runtime.Gosched()
			}
			require.Len(t, l.Records(), 1)
			require.Equal(t, slog.LevelInfo, l.Records()[0].Level)
		}
	})
	t.Run("EXEC-18_an_adapter_does_not_close_its_executor", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		call := executor.Async(p, func(_ context.Context, i int) (int, error) { return i, nil })
		require.Equal(t, 1, futuretest.Await(t, call(bg, 1)))
		call = nil
		_, err := executor.Serial(p, 1)
		require.NoError(t, err)
		runtime.GC()
		require.NoError(t, p.Post(bg, func(context.Context) {}))
	})
}

//go:noinline
func drop(t *testing.T, cfg executor.Config, ran *atomic.Int32) (<-chan struct{}, *future.Future[time.Time]) {
	p, err := executor.New(cfg)
	require.NoError(t, err)
	delay := p.Delay(bg, time.Hour)
	_, err = p.Every(bg, time.Hour, func(context.Context) error { return nil })
	require.NoError(t, err)
	for range 10 {
		require.NoError(t, p.PostWait(bg, func(context.Context) { ran.Add(1) }))
	}
	return p.Done(), delay
}

type ballast [1 << 12]byte

func TestRetention(t *testing.T) {
	// Each task and its parts are made in a function of their own, and what
	// the collector may free is watched by weak pointers.
	watch := func() (*ballast, weak.Pointer[ballast]) {
		b := &ballast{1}
		return b, weak.Make(b)
	}
	freed := func(t *testing.T, ws ...weak.Pointer[ballast]) {
		t.Helper()
		testwait.Until(t, func() bool {
			runtime.GC()
			for _, w := range ws {
				if w.Value() != nil {
					return false
				}
			}
			return true
		})
	}
	for name, end := range map[string]func(*ballast){
		"returned": func(*ballast) {},
		"panicked": func(b *ballast) { panic(b) },
		"exited":   func(*ballast) { runtime.Goexit() },
	} {
		t.Run("EXEC-8_an_idle_worker_keeps_nothing_of_a_task_that_"+name, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 1, Logger: slog.New(slog.DiscardHandler)})
			ws := func() []weak.Pointer[ballast] {
				closure, w1 := watch()
				value, w2 := watch()
				diag, w3 := watch()
				ctx := withIn(context.WithValue(bg, valueKey{}, value), "diag", diag)
				require.NoError(t, p.Post(ctx, func(context.Context) { end(closure) }))
				result, w4 := watch()
				f := executor.Submit(ctx, p, func(context.Context) (*ballast, error) { end(result); return result, nil })
				settled(t, f) // and no other task after it
				return []weak.Pointer[ballast]{w1, w2, w3, w4}
			}()
			freed(t, ws...)
		})
	}
	t.Run("EXEC-8_nor_does_the_context_of_a_task_that_has_ended", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		kept := make(chan context.Context, 1)
		ws := func() []weak.Pointer[ballast] {
			closure, w := watch()
			require.NoError(t, p.Post(bg, func(ctx context.Context) { kept <- ctx; end(closure) }))
			return []weak.Pointer[ballast]{w}
		}()
		ctx := testwait.Value(t, kept)
		freed(t, ws...)
		require.NoError(t, ctx.Err())
	})
	t.Run("EXEC-11_nor_a_pool_of_a_SubmitAfter_that_was_canceled", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		ws := func() []weak.Pointer[ballast] {
			closure, w := watch()
			f := executor.SubmitAfter(bg, p, time.Hour, func(context.Context) (int, error) { end(closure); return 0, nil })
			require.True(t, f.Cancel(nil))
			return []weak.Pointer[ballast]{w}
		}()
		freed(t, ws...)
	})
	t.Run("EXEC-8_nor_a_pool_of_what_was_canceled_or_discarded", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, Logger: slog.New(slog.DiscardHandler)})
		g := occupy(t, p, 1)
		ws := func() []weak.Pointer[ballast] {
			a, w1 := watch()
			b, w2 := watch()
			require.True(t, executor.Submit(bg, p, func(context.Context) (*ballast, error) { return a, nil }).Cancel(nil))
			require.NoError(t, p.Post(bg, func(context.Context) { end(b) }))
			return []weak.Pointer[ballast]{w1, w2}
		}()
		require.Error(t, p.Shutdown(ended(errCause)))
		freed(t, ws...)
		g.Open()
	})
}

func end(*ballast) {}
