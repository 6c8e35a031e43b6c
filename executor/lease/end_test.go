package lease_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
)

func TestClose(t *testing.T) {
	t.Run("LEASE-76 LEASE-58 with callers that wait", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			p, m := testPool(t, config{Name: "p"}, slow, nil)
			l := acquire(t, p)
			first, second := waiting(t, p, bg, p), waiting(t, p, bg, p.Handle())
			require.NoError(t, p.Close(), "though it is saturated")
			testwait.Done(t, p.Done())
			for _, ch := range []<-chan answer{first, second} {
				var closed *lease.ClosedError
				require.True(t, errors.As(failed(t, ch, lease.ErrClosed), &closed))
				require.Equal(t, "p", closed.Pool)
			}
			require.ErrorIs(t, p.Err(), lease.ErrClosed)
			require.True(t, l.Held())
			require.Equal(t, 1, l.Value().n)
			release(t, l)
			m.requireOnce(t)
			require.ErrorIs(t, l.Release(), lease.ErrReleased)
			require.Equal(t, 1, p.Stats().Free)
		})
	})
	for what, way := range ways {
		for often, limit := range map[string]int32{"once": 1, "each time": 1000} {
			t.Run(name("LEASE-58 LEASE-65 everybody is settled in spite of a %s on the owner %s on the way", what, often), func(t *testing.T) {
				var left atomic.Int32
				cfg := config{Logger: slog.New(exitLog{slog.DiscardHandler})}
				p, m := testPool(t, cfg, false, func(point string) {
					if point == "reject" && left.Add(-1) >= 0 {
						way.end()
					}
				})
				l := acquire(t, p)
				callers := []<-chan answer{waiting(t, p, bg, p), waiting(t, p, bg, p.Handle()), waiting(t, p, bg, p)}
				left.Store(limit)
				var failure *lease.SchedulerFailedError
				require.ErrorAs(t, p.Close(), &failure)
				require.Equal(t, way.said, failure.Panic)
				for _, ch := range callers {
					require.Error(t, testwait.Value(t, ch).err)
				}
				release(t, l)
				require.NoError(t, p.Check())
				m.requireOnce(t)
				requireConserved(t, p)
			})
		}
	}
	t.Run("LEASE-58 LEASE-65 everybody is settled though the owner fails with a permit in hand, and on the way", func(t *testing.T) {
		var armed atomic.Bool
		p, m := testPool(t, config{}, false, func(point string) {
			if armed.Load() && (point == "commit" || point == "reject") {
				panic(point)
			}
		})
		l := acquire(t, p)
		callers := []<-chan answer{waiting(t, p, bg, p), waiting(t, p, bg, p.Handle()), waiting(t, p, bg, p)}
		armed.Store(true)
		release(t, l)
		for _, ch := range callers {
			var failure *lease.SchedulerFailedError
			require.ErrorAs(t, testwait.Value(t, ch).err, &failure)
			require.Equal(t, "commit", failure.Panic)
		}
		testwait.Done(t, p.Done())
		require.Equal(t, 1, p.Stats().Free)
		require.NoError(t, p.Check())
		m.requireOnce(t)
		requireConserved(t, p)
	})
	t.Run("LEASE-58 idle resources are disposed of", func(t *testing.T) {
		p, m := newPool(t, config{Slots: 3})
		a, b, c := acquire(t, p), acquire(t, p), acquire(t, p)
		release(t, a)
		require.NoError(t, b.Discard(errDirty)) // parked
		require.NoError(t, p.Close())
		made, alive := m.made()
		require.Equal(t, []int{3, 1}, []int{made, alive})
		release(t, c)
		m.requireOnce(t)
	})
	t.Run("LEASE-76 LEASE-59 from many goroutines", func(t *testing.T) {
		p, _ := newPool(t, config{})
		require.NoError(t, p.Err())
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				if err := p.Close(); err != nil {
					panic(err)
				}
				<-p.Done()
			})
		}
		testwait.Call(t, all.Wait)
	})
	t.Run("LEASE-76 LEASE-60 nothing that begins after it succeeds", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			p, m := testPool(t, config{}, slow, nil)
			h := p.Handle()
			require.NoError(t, p.Close())
			for _, from := range []acquirer{p, h, p.Handle()} {
				failed(t, begin(bg, from), lease.ErrClosed)
			}
			made, _ := m.made()
			require.Zero(t, made)
			require.Equal(t, "Closed", p.Stats().State)
			requireConserved(t, p)
		})
	})
	t.Run("LEASE-76 LEASE-49 inside Connect and during it", func(t *testing.T) {
		var p *pool
		cfg := config{Slots: 1, Connect: func(ctx context.Context) (*thing, error) {
			if err := p.Close(); err != nil {
				panic(err)
			}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), lease.ErrClosed) {
				panic("another cause")
			}
			return nil, context.Cause(ctx)
		}}
		p, _ = newPool(t, cfg)
		failed(t, begin(bg, p), lease.ErrClosed)
		require.Equal(t, 1, p.Stats().Free)
	})
	t.Run("LEASE-51 a resource that comes after the end is disposed of", func(t *testing.T) {
		started, go_ := make(chan struct{}), make(chan struct{})
		m := &maker{}
		p, _ := newPool(t, config{Dispose: m.dispose, Connect: func(context.Context) (*thing, error) {
			close(started)
			<-go_ // deaf to its context
			return m.connect(bg)
		}})
		ch := begin(bg, p)
		testwait.Done(t, started)
		require.NoError(t, p.Close())
		close(go_)
		failed(t, ch, lease.ErrClosed)
		m.requireOnce(t)
		require.NoError(t, p.Shutdown(bg))
	})
	t.Run("LEASE-59 on the pool's own goroutine it does not wait for itself", func(t *testing.T) {
		var p *pool
		closed := make(chan error, 10)
		p, _ = newPool(t, config{MaxWaiters: lease.NoWait, OnEvent: func(lease.Event) {
			closed <- p.Close()
			closed <- p.Shutdown(bg)
		}})
		l := acquire(t, p)
		failed(t, begin(bg, p), lease.ErrSaturated)
		require.NoError(t, testwait.Value(t, closed))
		require.NoError(t, testwait.Value(t, closed))
		testwait.Done(t, p.Done())
		release(t, l)
	})
	t.Run("LEASE-59 in a Dispose at the end", func(t *testing.T) {
		var p *pool
		p, _ = newPool(t, config{Dispose: func(*thing) {
			if err := p.Close(); err != nil {
				panic(err)
			}
		}})
		release(t, acquire(t, p))
		require.NoError(t, p.Close())
	})
}

func TestShutdown(t *testing.T) {
	t.Run("LEASE-61 LEASE-76 waits for leases and resources", func(t *testing.T) {
		p, m := newPool(t, config{Name: "p", Slots: 2})
		h := p.Handle()
		l := acquire(t, h)
		err := p.Shutdown(ended(errCause))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errCause)
		var incomplete *lease.ShutdownError
		require.ErrorAs(t, err, &incomplete)
		require.Len(t, incomplete.Outstanding, 1)
		require.Equal(t, h.ID(), incomplete.Outstanding[0].Handle)
		require.Nil(t, incomplete.Outstanding[0].Stack)
		require.EqualError(t, err, `lease "p": shutdown incomplete: 1 leases are out: the cause`)
		again := make(chan error, 1)
		go func() { again <- p.Shutdown(bg) }()
		release(t, l)
		require.NoError(t, testwait.Value(t, again))
		m.requireOnce(t)
		require.NoError(t, p.Shutdown(ended(errCause)), "it is done")
		require.ErrorIs(t, p.Shutdown(noCtx), lease.ErrConfig)
	})
	t.Run("LEASE-61 a detached resource is not waited for", func(t *testing.T) {
		p, m := newPool(t, config{})
		x, err := acquire(t, p).Detach()
		require.NoError(t, err)
		require.NoError(t, p.Shutdown(bg))
		require.Zero(t, x.disposed.Load())
		_ = m
	})
}
