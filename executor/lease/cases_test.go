package lease_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
)

// Each of these reproduces what went wrong in some other pool.
func TestCases(t *testing.T) {
	t.Run("B49 a ctx that has ended, and a free slot", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			p, m := testPool(t, config{}, slow, nil)
			dead := ended(nil)
			for range 1000 {
				_, err := p.Acquire(dead)
				require.ErrorIs(t, err, context.Canceled)
			}
			made, _ := m.made()
			require.Zero(t, made)
			require.Equal(t, 1, p.Stats().Free)
			require.Zero(t, p.Stats().Grants)
			ctx, cancel := context.WithCancel(bg)
			l, err := p.Acquire(ctx)
			require.NoError(t, err)
			cancel()
			require.True(t, l.Held(), "it ended later")
			release(t, l)
		})
	})
	t.Run("B50 the maker outlives the caller who asked for it", func(t *testing.T) {
		m := &maker{gate: make(chan struct{})}
		p, _ := newPool(t, config{Executor: executor.Go(), Connect: m.connect})
		ctx, cancel := context.WithTimeout(bg, 20*time.Millisecond)
		defer cancel()
		failed(t, begin(ctx, p), context.DeadlineExceeded)
		close(m.gate)
		l := acquire(t, p)
		require.Equal(t, 1, l.Value().n)
		require.Equal(t, uint64(1), p.Stats().Connects)
		release(t, l)

		m = &maker{gate: make(chan struct{})}
		p, _ = newPool(t, config{Executor: executor.Go(), Connect: m.connect})
		ch := begin(bg, p)
		testwait.Until(t, func() bool { return p.Stats().Connects == 1 })
		require.NoError(t, p.Close())
		failed(t, ch, lease.ErrClosed)
		require.NoError(t, p.Shutdown(bg), "Close ended it")
	})
	t.Run("B52 the function panics or exits", func(t *testing.T) {
		p, m := newPool(t, config{})
		require.PanicsWithValue(t, "boom", func() {
			_ = p.Do(bg, func(context.Context, *thing) error { panic("boom") })
		})
		require.Equal(t, 1, p.Stats().Free)
		require.Equal(t, uint64(1), p.Stats().Discards)
		require.True(t, goexit(t, func() {
			_ = p.Handle().Do(bg, func(context.Context, *thing) error { runtime.Goexit(); return nil })
		}))
		require.Equal(t, 1, p.Stats().Free)
		l := acquire(t, p)
		require.Equal(t, 3, l.Value().n)
		release(t, l)
		_, alive := m.made()
		require.Equal(t, 1, alive)
		require.NoError(t, p.Close(), "it is no failure of the pool")
	})
	t.Run("B54 one discard wakes one", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			p, m := testPool(t, config{Slots: 4}, slow, nil)
			var held []leased
			for range 4 {
				held = append(held, acquire(t, p))
			}
			woken := make(chan leased, 5)
			for range 5 {
				ch := waiting(t, p, bg, p)
				go func() { woken <- (<-ch).lease }()
			}
			require.NoError(t, held[0].Discard(errDirty))
			held[0] = testwait.Value(t, woken)
			require.Equal(t, 4, p.Stats().Waiters)
			require.Empty(t, woken)
			made, alive := m.made()
			require.Equal(t, []int{5, 4}, []int{made, alive})
			for range 4 {
				release(t, held[0])
				held[0] = testwait.Value(t, woken)
			}
			for _, l := range held {
				release(t, l)
			}
			atRest(t, p)
		})
	})
	t.Run("B57 released twice", func(t *testing.T) {
		p, _ := newPool(t, config{Slots: 2})
		for _, end := range []func(leased) error{leased.Release, func(l leased) error { return l.Discard(errDirty) }} {
			l := acquire(t, p)
			require.NoError(t, end(l))
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() {
					if err := l.Release(); !errors.Is(err, lease.ErrReleased) {
						panic(err)
					}
				})
			}
			testwait.Call(t, all.Wait)
			require.Equal(t, 2, p.Stats().Free)
			a, b := acquire(t, p), acquire(t, p)
			require.NotSame(t, a.Value(), b.Value())
			_, err := p.TryAcquire(bg)
			require.ErrorIs(t, err, lease.ErrNoCapacity)
			require.Panics(t, func() { l.Value() })
			release(t, a)
			release(t, b)
		}
		atRest(t, p)
	})
	t.Run("B59 served in the order of arrival", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			fail := false
			m := &maker{}
			p, _ := testPool(t, config{Fairness: lease.FIFO, Dispose: m.dispose, Connect: func(ctx context.Context) (*thing, error) {
				if fail {
					fail = false
					return nil, errCause
				}
				return m.connect(ctx)
			}}, slow, nil)
			l := acquire(t, p)
			type turn struct {
				i int
				a answer
			}
			served := make(chan turn, 50)
			var want []int
			for i := range 50 {
				ctx, cancel := context.WithCancel(bg)
				ch := waiting(t, p, ctx, p.Handle())
				if i%7 == 3 {
					cancel()
					failed(t, ch, context.Canceled)
					testwait.Until(t, func() bool { return p.Stats().Waiters == len(want) })
					continue
				}
				defer cancel()
				want = append(want, i)
				go func() { served <- turn{i, <-ch} }()
			}
			_, err := p.TryAcquire(bg)
			require.ErrorIs(t, err, lease.ErrNoCapacity, "a newcomer does not overtake")
			var order []int
			for len(order) < len(want) {
				if n := len(order); n == 9 {
					fail = true
				}
				if n := len(order); n == 5 || n == 9 {
					require.NoError(t, l.Discard(errDirty))
				} else {
					release(t, l)
				}
				next := testwait.Value(t, served)
				if len(order) == 9 { // the failed create, and the one who got its permit at once
					other := testwait.Value(t, served)
					if next.a.err == nil {
						next, other = other, next
					}
					require.ErrorIs(t, next.a.err, errCause)
					order = append(order, next.i)
					next = other
				}
				require.NoError(t, next.a.err)
				order, l = append(order, next.i), next.a.lease
			}
			require.Equal(t, want, order)
			release(t, l)
			atRest(t, p)
		})
	})
	t.Run("B61 the number of waiters is bounded", func(t *testing.T) {
		p, _ := newPool(t, config{MaxWaiters: 2})
		l := acquire(t, p)
		ctx, cancel := context.WithCancel(bg)
		second, third := waiting(t, p, ctx, p), waiting(t, p, bg, p)
		failed(t, begin(bg, p), lease.ErrSaturated)
		cancel()
		failed(t, second, context.Canceled)
		fourth := begin(bg, p) // its place is free at once
		release(t, l)
		release(t, got(t, third))
		release(t, got(t, fourth))

		p, _ = newPool(t, config{MaxWaiters: lease.NoWait})
		l = acquire(t, p)
		failed(t, begin(bg, p), lease.ErrSaturated)
		release(t, l)
		release(t, acquire(t, p))
	})
	t.Run("B62 the owner stands still", func(t *testing.T) {
		stalled, resume := make(chan struct{}), make(chan struct{})
		var once sync.Once
		p, _ := newPool(t, config{OnEvent: func(lease.Event) { once.Do(func() { close(stalled); <-resume }) }})
		l := acquire(t, p)
		other := l
		require.NoError(t, l.Discard(errDirty))
		testwait.Done(t, stalled)
		l = acquire(t, p) // the fast path needs no owner
		_ = other
		var all sync.WaitGroup
		var late, bad atomic.Int32
		for range 100 {
			all.Go(func() {
				for range 50 {
					ctx, cancel := context.WithTimeout(bg, 10*time.Millisecond)
					at, _ := ctx.Deadline()
					if _, err := p.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
						bad.Add(1)
					}
					if time.Since(at) > time.Second {
						late.Add(1)
					}
					cancel()
				}
			})
		}
		testwait.Call(t, all.Wait)
		require.Zero(t, bad.Load())
		require.Zero(t, late.Load())
		require.Zero(t, p.Boxed(), "who leaves takes its command along")
		live := begin(bg, p)
		testwait.Until(t, func() bool { return p.Boxed() == 1 })
		close(resume)
		release(t, l)
		release(t, got(t, live))
		require.Equal(t, uint64(3), p.Stats().Grants)
		require.Equal(t, uint64(2), p.Stats().Connects)
		atRest(t, p)
	})
}
