package lease_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer/timertest"
)

func TestLease(t *testing.T) {
	t.Run("LEASE-41 LEASE-78 one of all copies is the one that releases", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			p, _ := testPool(t, config{Slots: 2}, slow, nil)
			for range 50 {
				l := acquire(t, p)
				var won atomic.Int32
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						switch err := l.Release(); {
						case err == nil:
							won.Add(1)
						case !errors.Is(err, lease.ErrReleased):
							panic(err)
						}
					})
				}
				testwait.Call(t, all.Wait)
				require.Equal(t, int32(1), won.Load())
			}
			require.Equal(t, uint64(50*7), p.Stats().DoubleReleases)
			atRest(t, p)
		})
	})
	t.Run("LEASE-44 LEASE-45 a stale lease", func(t *testing.T) {
		p, _ := newPool(t, config{Name: "p"})
		old := acquire(t, p)
		release(t, old)
		l := acquire(t, p) // of the same permit
		var zero leased
		for _, stale := range []leased{old, zero} {
			require.False(t, stale.Held())
			func() {
				defer func() {
					var err *lease.StaleLeaseError
					require.ErrorAs(t, recover().(error), &err)
				}()
				stale.Value()
			}()
			stale.Arm()
			stale.Disarm()
			stale.MarkDirty(errDirty)
			require.ErrorIs(t, stale.Discard(errDirty), lease.ErrReleased)
			require.ErrorIs(t, stale.Release(), lease.ErrReleased)
			require.ErrorIs(t, stale.Run(bg, use), lease.ErrStaleLease)
			_, err := stale.Detach()
			require.ErrorIs(t, err, lease.ErrStaleLease)
			require.Zero(t, stale.Slot())
		}
		require.True(t, l.Held())
		require.ErrorIs(t, l.Run(noCtx, use), lease.ErrConfig)
		require.ErrorIs(t, l.Run(bg, nil), lease.ErrConfig)
		require.Equal(t, 1, l.Value().n)
		require.Zero(t, p.Stats().Discards)
		release(t, l)
	})
	t.Run("LEASE-57 Detach", func(t *testing.T) {
		p, m := newPool(t, config{PermitsPerSlot: 2})
		a, b := acquire(t, p), acquire(t, p)
		_, err := a.Detach()
		require.ErrorIs(t, err, lease.ErrShared)
		require.True(t, a.Held())
		release(t, b)
		x, err := a.Detach()
		require.NoError(t, err)
		require.Equal(t, 1, x.n)
		require.False(t, a.Held())
		require.Equal(t, 2, p.Stats().Free)
		atRest(t, p)
		l := acquire(t, p)
		require.Equal(t, 2, l.Value().n)
		l.MarkDirty(errDirty)
		_, err = l.Detach()
		require.NoError(t, err)
		require.NoError(t, p.Shutdown(bg))
		_, alive := m.made()
		require.Equal(t, 2, alive, "they are the caller's")
	})
	t.Run("LEASE-43 the resource is settled before the permit is back", func(t *testing.T) {
		var p *pool
		var at []int
		p, _ = testPool(t, config{}, false, func(point string) {
			if point == "settled" {
				at = append(at, p.GateFree())
			}
		})
		release(t, acquire(t, p))
		require.NoError(t, acquire(t, p).Discard(errDirty))
		require.Equal(t, []int{0, 0}, at)
		require.Equal(t, 1, p.GateFree())
	})
	t.Run("LEASE-70 Outstanding", func(t *testing.T) {
		mock := timertest.NewMock()
		p, _ := newPool(t, config{Slots: 2, Clock: mock})
		h := p.Handle()
		a := acquire(t, h)
		mock.Add(time.Second)
		b := acquire(t, p)
		mock.Add(time.Second)
		require.Equal(t, []lease.LeaseInfo{
			{Slot: a.Slot(), Handle: h.ID(), Age: 2 * time.Second}, {Slot: b.Slot(), Age: time.Second},
		}, p.Outstanding())
		release(t, a)
		release(t, b)
		require.Empty(t, p.Outstanding())
	})
}
