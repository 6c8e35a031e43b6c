package lease_test

import (
	"context"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer/timertest"
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
		require.Error(t, p.Do(bg, func(context.Context, *thing) error { return errCause }))
		require.Equal(t, errCause, next(lease.EventDiscard).Err)
		require.Panics(t, func() { _ = p.Do(bg, func(context.Context, *thing) error { panic("boom") }) })
		require.EqualError(t, next(lease.EventDiscard).Err, "the operation did not return")
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
	t.Run("LEASE-67 gauges are sums over the slots", func(t *testing.T) {
		p, m := newPool(t, config{Slots: 2})
		m.gate = make(chan struct{})
		ch := begin(bg, p)
		testwait.Until(t, func() bool { return p.Stats().Preparing == 1 })
		close(m.gate)
		l := got(t, ch)
		l.MarkDirty(errDirty)
		require.Equal(t, 1, p.Stats().Condemned)
		release(t, l)
	})
	t.Run("LEASE-67 a wait is counted once", func(t *testing.T) {
		mock := timertest.NewMock()
		p, _ := newPool(t, config{Clock: mock})
		l := acquire(t, p)
		ch := waiting(t, p, bg, p)
		mock.Add(time.Minute)
		require.NoError(t, l.Discard(errDirty)) // there is something to do for the lease
		release(t, got(t, ch))
		require.Equal(t, time.Minute, p.Stats().WaitTime)
		require.Equal(t, time.Minute, p.Stats().MaxWait)
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
