package lease_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
)

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
	t.Run("LEASE-70 one that had to wait for its permit", func(t *testing.T) {
		p, _ := newPool(t, config{Leak: lease.LeakReclaim})
		l := acquire(t, p)
		func() {
			ch := waiting(t, p, bg, p)
			release(t, l)
			got(t, ch)
		}()
		collect(t, func() bool { return p.Stats().Leaks == 1 })
	})
	t.Run("LEASE-70 without an OnEvent it is in the log", func(t *testing.T) {
		var log lockedBuffer
		p, _ := newPool(t, config{Leak: lease.LeakReport, Logger: logTo(&log)})
		lose(t, p)
		collect(t, func() bool { return strings.Contains(log.String(), "a lease was lost") })
	})
	t.Run("LEASE-70 a reclaimed resource is parked, for all that there is an Executor", func(t *testing.T) {
		p, m := newPool(t, config{Leak: lease.LeakReclaim, Executor: executor.Inline()})
		lose(t, p)
		collect(t, func() bool { return p.Stats().Condemned == 1 })
		require.Zero(t, m.all[0].disposed.Load(), "not by the cleanup")
		release(t, acquire(t, p))
		require.Equal(t, int32(1), m.all[0].disposed.Load())
		atRest(t, p)
	})
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
