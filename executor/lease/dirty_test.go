package lease_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/executortest"
	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
)

func TestDirty(t *testing.T) {
	accepted := errors.New("accepted")
	dead := ended(errCause)
	for _, c := range []struct {
		name  string
		use   func(p *pool) error
		dirty bool
	}{
		{"a nil error", func(p *pool) error { return p.Do(bg, use) }, false},
		{"an error", func(p *pool) error { return p.Do(bg, func(context.Context, *thing) error { return errDirty }) }, true},
		{"an error that KeepOn accepts", func(p *pool) error {
			return p.Do(bg, func(context.Context, *thing) error { return accepted })
		}, false},
		{"a nil error though ctx has ended", func(p *pool) error {
			return inside(p, dead, func() error { return nil })
		}, false},
		{"an error that KeepOn accepts, and that is not about the end of ctx", func(p *pool) error {
			return inside(p, dead, func() error { return accepted })
		}, false},
		{"the error of ctx, whatever KeepOn says", func(p *pool) error {
			return inside(p, dead, func() error { return errors.Join(accepted, dead.Err()) })
		}, true},
		{"the cause of ctx, whatever KeepOn says", func(p *pool) error {
			return inside(p, dead, func() error { return errors.Join(accepted, errCause) })
		}, true},
		{"MarkDirty", func(p *pool) error {
			l, err := p.Acquire(bg)
			l.MarkDirty(errDirty)
			l.MarkDirty(errDirty)
			return errors.Join(err, l.Release())
		}, true},
		{"Discard", func(p *pool) error {
			l, err := p.Acquire(bg)
			return errors.Join(err, l.Discard(errDirty))
		}, true},
		{"armed", func(p *pool) error {
			l, err := p.Acquire(bg)
			l.Arm()
			l.Arm()
			l.Disarm()
			return errors.Join(err, l.Release())
		}, true},
		{"released while Run is at it", func(p *pool) error {
			l, err := p.Acquire(bg)
			if err != nil {
				return err
			}
			return l.Run(bg, func(context.Context, *thing) error { return l.Release() })
		}, true},
		{"armed and disarmed", func(p *pool) error {
			l, err := p.Acquire(bg)
			l.Disarm() // one too many
			l.Arm()
			l.Disarm()
			return errors.Join(err, l.Release())
		}, false},
	} {
		t.Run("LEASE-53 LEASE-45 LEASE-48 "+c.name, func(t *testing.T) {
			p, m := newPool(t, config{KeepOn: func(err error) bool { return errors.Is(err, accepted) }})
			_ = c.use(p)
			made := 1
			if c.dirty {
				made = 2
			}
			l := acquire(t, p)
			require.Equal(t, made, l.Value().n)
			release(t, l)
			require.Equal(t, uint64(made-1), p.Stats().Discards)
			_, alive := m.made()
			require.Equal(t, 1, alive)
			atRest(t, p)
		})
	}
	t.Run("LEASE-53 Run arms for the time of its function only", func(t *testing.T) {
		p, _ := newPool(t, config{KeepOn: func(error) bool { return true }})
		l := acquire(t, p)
		require.ErrorIs(t, l.Run(bg, func(ctx context.Context, _ *thing) error {
			return errors.Join(errCause, l.Run(ctx, use))
		}), errCause)
		require.Panics(t, func() {
			_ = l.Run(bg, func(context.Context, *thing) error { panic("boom") })
		})
		require.ErrorIs(t, l.Run(bg, func(context.Context, *thing) error {
			_, err := l.Detach()
			return errors.Join(err, errDirty)
		}), errDirty)
		require.False(t, l.Held())
		l = acquire(t, p)
		require.NoError(t, l.Run(bg, use))
		release(t, l)
		require.Equal(t, uint64(1), p.Stats().Discards, "the panic")
		require.Equal(t, 1, p.Stats().Idle)
	})
	t.Run("LEASE-54 LEASE-55 a shared one is disposed of once, by the last", func(t *testing.T) {
		p, m := newPool(t, config{PermitsPerSlot: 4})
		a, b, c := acquire(t, p), acquire(t, p), acquire(t, p)
		old := a.Value()
		a.MarkDirty(errDirty)
		fresh := acquire(t, p)
		require.NotSame(t, old, fresh.Value())
		require.Same(t, old, b.Value(), "who shares it keeps it")
		require.NoError(t, p.Check())
		st := p.Stats()
		require.Equal(t, []int{1, 1}, []int{st.InUse, st.Condemned})
		release(t, b)
		release(t, a)
		require.Zero(t, old.disposed.Load())
		release(t, c)
		require.Zero(t, old.disposed.Load(), "never inside Release")
		release(t, fresh)
		release(t, acquire(t, p))
		require.Equal(t, int32(1), old.disposed.Load())
		require.NoError(t, p.Shutdown(bg))
		m.requireOnce(t)
	})
	t.Run("LEASE-55 on the Executor", func(t *testing.T) {
		ex := executortest.NewManual()
		m := &maker{}
		p, _ := newPool(t, config{Executor: ex, Dispose: m.dispose, Connect: m.connect})
		ch := begin(bg, p)
		testwait.Until(t, func() bool { return ex.RunAll() == 1 })
		require.NoError(t, got(t, ch).Discard(errDirty))
		require.Equal(t, 1, ex.Queued())
		_, alive := m.made()
		require.Equal(t, 1, alive)
		ex.RunAll()
		m.requireOnce(t)
	})
	t.Run("LEASE-55 nothing is posted where there is no Dispose", func(t *testing.T) {
		ex := executortest.NewManual()
		m := &maker{}
		p, err := lease.New(config{Slots: 1, Executor: ex, Connect: m.connect, Logger: quiet})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		ch := begin(bg, p)
		testwait.Until(t, func() bool { return ex.RunAll() == 1 })
		require.NoError(t, got(t, ch).Discard(errDirty))
		require.Zero(t, ex.Queued())
		require.Equal(t, 1, p.Stats().Condemned, "parked")
	})
	t.Run("LEASE-55 an Executor that drops the Dispose", func(t *testing.T) {
		ex, err := executor.New(executor.Config{Size: 1, Logger: quiet})
		require.NoError(t, err)
		p, m := newPool(t, config{Executor: ex})
		l := acquire(t, p)
		stuck := make(chan struct{})
		require.NoError(t, ex.Post(bg, func(context.Context) { <-stuck }))
		require.NoError(t, l.Discard(errDirty))
		require.Error(t, ex.Shutdown(ended(errCause)))
		close(stuck)
		testwait.Done(t, ex.Done())
		testwait.Until(t, func() bool { return p.Stats().Condemned == 1 })
		require.NoError(t, p.Shutdown(bg))
		m.requireOnce(t)
	})
	t.Run("LEASE-55 an inline Executor whose Dispose exits", func(t *testing.T) {
		p, _ := newPool(t, config{Executor: executor.Inline(), Dispose: func(*thing) { runtime.Goexit() }})
		l := acquire(t, p)
		require.True(t, goexit(t, func() { _ = l.Discard(errDirty) }))
		require.Equal(t, 1, p.Stats().Free)
		atRest(t, p)
	})
	t.Run("LEASE-56 after the end, by whoever releases", func(t *testing.T) {
		p, m := newPool(t, config{PermitsPerSlot: 2})
		a, b := acquire(t, p), acquire(t, p)
		require.NoError(t, p.Close())
		release(t, a)
		_, alive := m.made()
		require.Equal(t, 1, alive)
		release(t, b)
		m.requireOnce(t)
	})
}

// inside acquires a lease and runs fn with it under ctx.
func inside(p *pool, ctx context.Context, fn func() error) error {
	l, err := p.Acquire(bg)
	if err != nil {
		return err
	}
	err = l.Run(ctx, func(context.Context, *thing) error { return fn() })
	return errors.Join(err, l.Release())
}
