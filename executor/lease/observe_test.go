package lease_test

import (
	"context"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
)

func TestEvents(t *testing.T) {
	t.Run("LEASE-69 what is told, in order", func(t *testing.T) {
		events := make(chan lease.Event, 100)
		p, _ := newPool(t, config{Name: "p", MaxWaiters: lease.NoWait, OnEvent: func(e lease.Event) { events <- e }})
		h := p.Handle()
		next := func(kind lease.EventKind) lease.Event {
			e := testwait.Value(t, events)
			require.Equal(t, kind, e.Kind, e.Kind)
			require.Equal(t, "p", e.Pool)
			require.Equal(t, p.Stats().ID, e.ID)
			return e
		}
		l := acquire(t, p)
		failed(t, begin(bg, h), lease.ErrSaturated)
		require.Equal(t, h.ID(), next(lease.EventSaturated).Handle)
		require.NoError(t, l.Discard(errDirty))
		require.Equal(t, errDirty, next(lease.EventDiscard).Err)
		require.Error(t, l.Release())
		next(lease.EventDoubleRelease)
		require.NoError(t, p.Close())
		next(lease.EventClosing)
		next(lease.EventClosed)
		require.Error(t, l.Release())
		require.Empty(t, events, "after the end only counters move")
		require.Equal(t, uint64(2), p.Stats().DoubleReleases)
	})
	t.Run("LEASE-69 the failure", func(t *testing.T) {
		events := make(chan lease.Event, 100)
		p, _ := newPool(t, config{OnEvent: func(e lease.Event) { events <- e }, Connect: func(context.Context) (*thing, error) { panic("boom") }})
		_, err := p.Acquire(bg)
		require.Error(t, err)
		require.Equal(t, p.Close(), err)
		require.Equal(t, lease.EventClosing, testwait.Value(t, events).Kind)
		require.Equal(t, err, testwait.Value(t, events).Err)
	})
	t.Run("LEASE-69 what there is no room for is counted", func(t *testing.T) {
		started, free := make(chan struct{}), make(chan struct{})
		n := 0
		p, _ := newPool(t, config{OnEvent: func(lease.Event) {
			if n++; n == 1 {
				close(started)
				<-free
			}
		}})
		l := acquire(t, p)
		release(t, l)
		require.Error(t, l.Release())
		testwait.Done(t, started)
		for range 300 {
			require.Error(t, l.Release())
		}
		require.Equal(t, uint64(301), p.Stats().DoubleReleases)
		require.Equal(t, uint64(300-256), p.Stats().EventsLost)
		close(free)
		require.NoError(t, p.Close())
		require.GreaterOrEqual(t, n, 1+256)
	})
	t.Run("LEASE-69 by id, without keeping the pool", func(t *testing.T) {
		p, _ := newPool(t, config{Name: "p"})
		st, ok := lease.Inspect(p.Stats().ID)
		require.True(t, ok)
		require.Equal(t, []any{p.Stats().ID, "p", "Running"}, []any{st.ID, st.Name, st.State})
		_, ok = lease.Inspect(1 << 62)
		require.False(t, ok)
		last := inspected(t)
		collect(t, func() bool { _, ok := lease.Inspect(last); return !ok })
	})
	labeled := func(t *testing.T) {
		testwait.Until(t, func() bool {
			var b strings.Builder
			require.NoError(t, pprof.Lookup("goroutine").WriteTo(&b, 1))
			return strings.Contains(b.String(), `{"lease":"labeled"}`)
		})
	}
	t.Run("LEASE-14 the label of the goroutine", func(t *testing.T) {
		p, _ := newPool(t, config{Name: "labeled"})
		labeled(t)
		require.NoError(t, p.Close())
	})
	t.Run("LEASE-14 the label of the goroutine after an OnEvent that left its own", func(t *testing.T) {
		told := make(chan struct{}, 8)
		p, _ := newPool(t, config{Name: "labeled", OnEvent: func(lease.Event) {
			pprof.SetGoroutineLabels(pprof.WithLabels(bg, pprof.Labels("hook", "left")))
			told <- struct{}{}
		}})
		l := acquire(t, p)
		release(t, l)
		require.Error(t, l.Release())
		testwait.Value(t, told)
		labeled(t)
		require.NoError(t, p.Close())
	})
}

// inspected makes a pool, closes it, and returns its id. Nothing else of it is
// left.
func inspected(t *testing.T) uint64 {
	m := &maker{}
	p, err := lease.New(config{Slots: 1, Connect: m.connect})
	require.NoError(t, err)
	id := p.Stats().ID
	_, ok := lease.Inspect(id)
	require.True(t, ok)
	require.NoError(t, p.Close())
	st, ok := lease.Inspect(id)
	require.True(t, ok)
	require.Equal(t, "Closed", st.State)
	return id
}

func TestStats(t *testing.T) {
	t.Run("LEASE-67 LEASE-68 gauges, and every acquisition accounted for", func(t *testing.T) {
		p, m := newPool(t, config{Slots: 2, PermitsPerSlot: 2, MaxWaiters: 1})
		a, b, c, d := acquire(t, p), acquire(t, p), acquire(t, p), acquire(t, p)
		waits := waiting(t, p, bg, p.Handle())
		failed(t, begin(bg, p), lease.ErrSaturated)
		_, err := p.TryAcquire(bg)
		require.ErrorIs(t, err, lease.ErrNoCapacity)
		failed(t, begin(ended(errCause), p), errCause)
		st := p.Stats()
		require.Equal(t, "Running", st.State)
		require.Equal(t, []int{2, 4, 0, 4, 0, 1, 1, 0, 2, 0},
			[]int{st.Slots, st.Capacity, st.Free, st.Leased, st.Preparing, st.Waiters, st.WaitingHandles, st.Idle, st.InUse, st.Condemned})
		require.Equal(t, []uint64{8, 4, 4, 4, 1, 1, 1},
			[]uint64{st.Acquires, st.Leases, st.Grants, st.FastGrants, st.CapacityWaits, st.Saturated, st.NoCapacity})
		require.Equal(t, [4]uint64{1, 0, 0, 0}, st.Canceled)
		requireConserved(t, p)
		require.NoError(t, p.Check())
		release(t, a)
		e := got(t, waits)
		st = p.Stats()
		require.Equal(t, uint64(1), st.CapacityWaits)
		require.Equal(t, uint64(1), st.Hints)
		require.Positive(t, st.WaitTime)
		require.Equal(t, st.WaitTime, st.MaxWait)
		for _, l := range []leased{b, c, d, e} {
			release(t, l)
		}
		atRest(t, p)
		require.Equal(t, 2, p.Stats().Idle)
		_ = m
	})
	t.Run("LEASE-67 CapacityWaits counts who was queued, and not who was granted at once", func(t *testing.T) {
		p, _ := testPool(t, config{}, true, nil)
		l := acquire(t, p)
		require.Equal(t, []uint64{1, 0}, []uint64{p.Stats().Grants, p.Stats().CapacityWaits})
		ctx, cancel := context.WithCancel(bg)
		ch := waiting(t, p, ctx, p)
		cancel()
		failed(t, ch, context.Canceled)
		release(t, l)
		require.Equal(t, []uint64{1, 1}, []uint64{p.Stats().Grants, p.Stats().CapacityWaits})
	})
}

// lose acquires a lease and forgets it.
func lose(t *testing.T, p *pool) { acquire(t, p) }

func TestLeak(t *testing.T) {
	for _, mode := range []lease.LeakMode{lease.LeakReport, lease.LeakReclaim} {
		t.Run(name("LEASE-70 LEASE-78 mode %d", mode), func(t *testing.T) {
			var log lockedBuffer
			events := make(chan lease.Event, 10)
			p, m := newPool(t, config{Name: "p", Leak: mode, Logger: logTo(&log), OnEvent: func(e lease.Event) { events <- e }})
			lose(t, p)
			require.Contains(t, string(p.Outstanding()[0].Stack), "lease_test.lose(")
			collect(t, func() bool { return p.Stats().Leaks == 1 })
			e := testwait.Value(t, events)
			require.Equal(t, lease.EventLeak, e.Kind)
			var leak *lease.LeakError
			require.ErrorAs(t, e.Err, &leak)
			require.Contains(t, string(leak.Stack), "lease_test.lose(")
			require.Contains(t, e.Err.Error(), "a lease was lost after")
			require.Contains(t, log.String(), "lease_test.lose(")
			require.Equal(t, mode == lease.LeakReclaim, leak.Reclaimed)
			if mode == lease.LeakReport {
				require.Equal(t, 0, p.Stats().Free)
				require.ErrorIs(t, p.Shutdown(ended(errCause)), errCause)
				return
			}
			require.Equal(t, 1, p.Stats().Free)
			require.Equal(t, 1, p.Stats().Condemned, "parked")
			require.Zero(t, m.all[0].disposed.Load(), "not by the cleanup")
			release(t, acquire(t, p))
			require.Equal(t, int32(1), m.all[0].disposed.Load())
			atRest(t, p)
		})
	}
	t.Run("LEASE-70 lost after the end, Shutdown sees to it", func(t *testing.T) {
		p, m := newPool(t, config{Leak: lease.LeakReclaim})
		lose(t, p)
		require.NoError(t, p.Close())
		collect(t, func() bool { return p.Stats().Leaks == 1 })
		require.NoError(t, p.Shutdown(bg))
		m.requireOnce(t)
	})
	t.Run("LEASE-70 a lease that is released, or in use, is not lost", func(t *testing.T) {
		p, _ := newPool(t, config{Leak: lease.LeakReclaim})
		for range 10 {
			release(t, acquire(t, p))
		}
		require.NoError(t, p.Do(bg, func(context.Context, *thing) error {
			for range 3 {
				collect(t, func() bool { return true })
			}
			return nil
		}))
		l := acquire(t, p)
		collect(t, func() bool { return true })
		require.True(t, l.Held())
		release(t, l)
		require.Zero(t, p.Stats().Leaks)
	})
}

func TestReachability(t *testing.T) {
	t.Run("LEASE-77 LEASE-62 a dropped pool ends", func(t *testing.T) {
		var log lockedBuffer
		id := dropped(t, &log)
		collect(t, func() bool { return owners() == 0 })
		collect(t, func() bool { _, ok := lease.Inspect(id); return !ok })
		require.Contains(t, log.String(), "unreachable without Close")
	})
	t.Run("LEASE-77 LEASE-63 with a lease still held", func(t *testing.T) {
		m := &maker{}
		core := make(chan struct{})
		l := func() leased {
			p, err := lease.New(config{Slots: 1, Logger: logTo(&lockedBuffer{}), Connect: m.connect, Dispose: m.dispose})
			require.NoError(t, err)
			p.Watch(core)
			return acquire(t, p.Handle())
		}()
		collect(t, func() bool { return owners() == 0 })
		require.True(t, l.Held())
		release(t, l)
		m.requireOnce(t)
		l = leased{}
		collect(t, func() bool {
			select {
			case <-core:
				return true
			default:
				return false
			}
		})
	})
	t.Run("LEASE-77 LEASE-63 a blocked Acquire keeps the pool", func(t *testing.T) {
		m := &maker{}
		l, ch := func() (leased, <-chan answer) {
			p, err := lease.New(config{Slots: 1, Logger: logTo(&lockedBuffer{}), Connect: m.connect})
			require.NoError(t, err)
			l := acquire(t, p)
			return l, waiting(t, p, bg, p.Handle())
		}()
		for range 5 {
			collect(t, func() bool { return true })
		}
		requireOwners(t, 1)
		release(t, l)
		release(t, got(t, ch))
		collect(t, func() bool { return owners() == 0 })
	})
	t.Run("LEASE-62 a handle keeps the pool", func(t *testing.T) {
		m := &maker{}
		h := func() *lease.Handle[*thing] {
			p, err := lease.New(config{Slots: 1, Logger: logTo(&lockedBuffer{}), Connect: m.connect})
			require.NoError(t, err)
			return p.Handle()
		}()
		for range 5 {
			collect(t, func() bool { return true })
		}
		release(t, acquire(t, h))
		requireOwners(t, 1)
		h = nil
		collect(t, func() bool { return owners() == 0 })
	})
}

// dropped makes a pool, uses it, and drops it.
func dropped(t *testing.T, log *lockedBuffer) uint64 {
	m := &maker{}
	p, err := lease.New(config{Slots: 1, Logger: logTo(log), Connect: m.connect})
	require.NoError(t, err)
	release(t, acquire(t, p.Handle()))
	return p.Stats().ID
}
