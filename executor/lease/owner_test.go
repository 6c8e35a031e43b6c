package lease_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
)

func TestOwner(t *testing.T) {
	t.Run("LEASE-76 LEASE-7 one goroutine, through 100,000 pairs, and none after Close", func(t *testing.T) {
		requireOwners(t, 0)
		before := runtime.NumGoroutine()
		p, _ := newPool(t, config{Slots: 2})
		testwait.Until(t, func() bool { return owners() == 1 })
		h := p.Handle()
		for range 50_000 {
			release(t, acquire(t, h))
			release(t, acquire(t, p))
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), before+1)
		requireOwners(t, 1)
		require.Equal(t, uint64(1), p.Stats().Spawned)
		require.Zero(t, p.Stats().CapacityWaits)
		require.NoError(t, p.Close())
		testwait.Until(t, func() bool { return owners() == 0 && runtime.NumGoroutine() <= before })
	})
	t.Run("LEASE-76 contended and canceled acquisitions start none", func(t *testing.T) {
		p, _ := newPool(t, config{})
		l := acquire(t, p)
		var callers []<-chan answer
		ctx, cancel := context.WithCancel(bg)
		for range 10 {
			callers = append(callers, waiting(t, p, ctx, p.Handle()))
		}
		requireOwners(t, 1)
		require.Equal(t, uint64(1), p.Stats().Spawned)
		cancel()
		for _, ch := range callers {
			failed(t, ch, context.Canceled)
		}
		release(t, l)
		atRest(t, p)
	})
	t.Run("LEASE-82 an uncontended pair allocates nothing", func(t *testing.T) {
		p, _ := newPool(t, config{Slots: 4, PermitsPerSlot: 2})
		h := p.Handle()
		for range 4 {
			release(t, acquire(t, p))
		}
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			l, _ := h.Acquire(bg)
			_ = l.Release()
		}))
	})
	t.Run("LEASE-82 a release reads the clock only where something ages", func(t *testing.T) {
		reads := 0
		clock := clockFunc(func() time.Time { reads++; return time.Time{} })
		sound := func(context.Context, *thing) error { return nil }
		for _, c := range []struct {
			cfg   config
			reads int
		}{
			{config{}, 0},
			{config{ValidateAfter: time.Hour}, 0},
			{config{Validate: sound}, 0},
			{config{Validate: sound, ValidateAfter: time.Hour}, 1},
			{config{MaxLifetime: time.Hour}, 1},
			{config{MaxIdle: time.Hour}, 1},
		} {
			c.cfg.Clock = clock
			p, _ := newPool(t, c.cfg)
			l := acquire(t, p)
			reads = 0
			release(t, l)
			require.Equal(t, c.reads, reads)
		}
	})
}

// onOwner reports whether this is a pool's own goroutine.
func onOwner() bool { return strings.Contains(string(debug.Stack()), "lease.(*core[...]).own(") }

func TestWhere(t *testing.T) {
	t.Run("LEASE-12 the owner runs no hook of a resource but Dispose at the end", func(t *testing.T) {
		var on []string
		note := func(hook string) {
			if onOwner() {
				on = append(on, hook)
			}
		}
		m := &maker{}
		p, _ := testPool(t, config{
			Connect:  func(ctx context.Context) (*thing, error) { note("Connect"); return m.connect(ctx) },
			Validate: func(context.Context, *thing) error { note("Validate"); return nil },
			KeepOn:   func(error) bool { note("KeepOn"); return true },
			Dispose:  func(*thing) { note("Dispose") },
		}, true, nil)
		require.NoError(t, p.Do(bg, use))
		require.Error(t, p.Do(bg, func(context.Context, *thing) error { return errCause }))
		require.NoError(t, acquire(t, p).Discard(errDirty))
		require.NoError(t, p.Do(bg, use))
		require.Empty(t, on)
		require.NoError(t, p.Close())
		require.Equal(t, []string{"Dispose"}, on)
	})
	t.Run("LEASE-42 LEASE-19 a release waits neither for the owner nor for a hook", func(t *testing.T) {
		stalled, resume := make(chan struct{}), make(chan struct{})
		var once sync.Once
		p, m := newPool(t, config{Slots: 3, OnEvent: func(lease.Event) { once.Do(func() { close(stalled); <-resume }) }})
		a, b := acquire(t, p), acquire(t, p)
		m.mu.Lock()
		m.gate = make(chan struct{})
		m.mu.Unlock()
		connecting := begin(bg, p)
		testwait.Until(t, func() bool { return p.Stats().Preparing == 1 })
		a.MarkDirty(errDirty)
		testwait.Done(t, stalled)
		waits := begin(bg, p)
		testwait.Until(t, func() bool { return p.Boxed() == 1 })
		testwait.Call(t, func() {
			_ = a.Release()
			_ = b.Release()
		})
		require.Equal(t, 2, p.Stats().Free)
		close(m.gate)
		close(resume)
		release(t, got(t, connecting))
		release(t, got(t, waits))
		atRest(t, p)
	})
	t.Run("LEASE-46 a slot has as many leases as permits", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			p, _ := testPool(t, config{Slots: 2, PermitsPerSlot: 3, MaxWaiters: lease.NoWait}, slow, nil)
			perSlot := make(map[int]int)
			for range 6 {
				perSlot[acquire(t, p).Slot()]++
				require.NoError(t, p.Check())
			}
			require.Equal(t, map[int]int{0: 3, 1: 3}, perSlot)
			failed(t, begin(bg, p), lease.ErrSaturated)
		})
	})
}
