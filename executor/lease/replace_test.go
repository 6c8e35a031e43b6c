package lease_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer/timertest"
)

func TestReplace(t *testing.T) {
	// used returns which thing an acquisition gets.
	used := func(t *testing.T, p *pool) int {
		l := acquire(t, p)
		defer func() { release(t, l) }()
		return l.Value().n
	}
	t.Run("LEASE-52 by age", func(t *testing.T) {
		for _, c := range []struct {
			cfg     config
			at      []int // minutes, and what is used then
			want    []int
			counter func(lease.Stats) uint64
		}{
			{config{MaxLifetime: 2 * time.Minute}, []int{0, 1, 2, 3, 4}, []int{1, 1, 2, 2, 3}, func(s lease.Stats) uint64 { return s.LifetimeExpiries }},
			{config{MaxIdle: 2 * time.Minute}, []int{0, 1, 2, 4, 7}, []int{1, 1, 1, 2, 3}, func(s lease.Stats) uint64 { return s.IdleExpiries }},
		} {
			mock := timertest.NewMock()
			c.cfg.Clock = mock
			p, m := newPool(t, c.cfg)
			start := mock.Now()
			for i, at := range c.at {
				mock.Set(start.Add(time.Duration(at) * time.Minute))
				require.Equal(t, c.want[i], used(t, p), "at minute %d", at)
			}
			require.Equal(t, uint64(2), c.counter(p.Stats()))
			made, alive := m.made()
			require.Equal(t, []int{3, 1}, []int{made, alive})
			atRest(t, p)
		}
	})
	t.Run("LEASE-52 by Validate, before every use but the first", func(t *testing.T) {
		bad, asked := false, 0
		p, m := newPool(t, config{Validate: func(context.Context, *thing) error {
			if asked++; bad {
				bad = false
				return errCause
			}
			return nil
		}})
		require.Equal(t, 1, used(t, p))
		require.Zero(t, asked)
		require.Equal(t, 1, used(t, p))
		require.Equal(t, 1, asked)
		bad = true
		require.Equal(t, 2, used(t, p))
		require.Equal(t, 2, asked, "the fresh one is not asked about")
		require.Equal(t, uint64(1), p.Stats().ValidationsFailed)
		require.Equal(t, int32(1), m.all[0].disposed.Load())
		atRest(t, p)
	})
	t.Run("LEASE-52 what this Acquire has connected or validated is taken as it is", func(t *testing.T) {
		var p *pool
		sound := func(context.Context, *thing) error { return nil }
		unsound := func(context.Context, *thing) error { return errCause }
		for what, cfg := range map[string]config{
			"MaxLifetime":          {MaxLifetime: 1},
			"MaxIdle":              {MaxIdle: 1},
			"ValidateAfter, sound": {ValidateAfter: 1, Validate: sound},
			"ValidateAfter, not":   {ValidateAfter: 1, Validate: unsound},
			"a Reset in Connect":   {},
		} {
			for where, ex := range map[string]executor.Executor{"here": nil, "on the Executor": executor.Go()} {
				m, now := &maker{}, atomic.Int64{}
				cfg.Executor = ex
				cfg.Clock = clockFunc(func() time.Time { return time.Unix(0, now.Add(1)) }) // each time later
				cfg.Connect = func(ctx context.Context) (*thing, error) {
					if what == "a Reset in Connect" {
						p.Reset()
					}
					return m.connect(ctx)
				}
				p, _ = newPool(t, cfg)
				for i := range 3 {
					release(t, got(t, begin(bg, p)))
					if cfg.Validate == nil { // each is too old for the next
						made, _ := m.made()
						require.Equal(t, i+1, made, "%s, %s", what, where)
					}
				}
				require.LessOrEqual(t, p.Stats().Connects, uint64(3), "%s, %s", what, where)
			}
		}
	})
	t.Run("LEASE-52 a Validate for an Acquire that left vouches for no other", func(t *testing.T) {
		asked, cancel := 0, func(error) {}
		validated := false
		p, _ := newPool(t, config{
			Validate: func(context.Context, *thing) error { asked++; validated = true; return nil },
			Clock: clockFunc(func() time.Time {
				if validated {
					cancel(errCause)
				}
				return time.Time{}
			}),
		})
		require.Equal(t, 1, used(t, p))
		ctx, cancelCause := context.WithCancelCause(bg)
		cancel = cancelCause
		failed(t, begin(ctx, p), errCause)
		require.Equal(t, 1, asked)
		require.Equal(t, 1, p.Stats().Idle)
		require.Equal(t, 1, used(t, p))
		require.Equal(t, 2, asked)
	})
	t.Run("LEASE-52 one whose Acquire left is validated before its first use", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(bg)
		m, asked := &maker{}, 0
		p, _ := newPool(t, config{
			Connect:  func(context.Context) (*thing, error) { cancel(errCause); return m.connect(bg) },
			Validate: func(context.Context, *thing) error { asked++; return nil },
		})
		failed(t, begin(ctx, p), errCause)
		require.Equal(t, 1, used(t, p))
		require.Equal(t, 1, asked, "it may have been there for hours")
	})
	t.Run("LEASE-52 by Validate after it has been idle", func(t *testing.T) {
		mock, asked := timertest.NewMock(), 0
		p, _ := newPool(t, config{Clock: mock, ValidateAfter: time.Minute, Validate: func(context.Context, *thing) error { asked++; return nil }})
		used(t, p)
		used(t, p)
		require.Zero(t, asked)
		mock.Add(time.Minute)
		used(t, p)
		used(t, p)
		require.Equal(t, 1, asked)
	})
	t.Run("LEASE-52 nobody gets what is being validated, whatever the clock says", func(t *testing.T) {
		mock := timertest.NewMock()
		asked, gate := make(chan struct{}), make(chan struct{})
		p, m := newPool(t, config{PermitsPerSlot: 2, ValidateAfter: time.Minute, Clock: mock, Validate: func(context.Context, *thing) error {
			close(asked)
			<-gate
			return nil
		}})
		release(t, acquire(t, p))
		mock.Add(time.Minute)
		a := begin(bg, p)
		testwait.Done(t, asked)
		mock.Add(-time.Minute) // as of now nothing has to be validated
		b := begin(bg, p)
		testwait.Until(t, func() bool { return p.Stats().Preparing == 2 })
		close(gate)
		release(t, got(t, a))
		release(t, got(t, b))
		made, _ := m.made()
		require.Equal(t, 1, made)
	})
	t.Run("LEASE-52 not while another lease uses it", func(t *testing.T) {
		asked := 0
		p, _ := newPool(t, config{PermitsPerSlot: 2, Validate: func(context.Context, *thing) error { asked++; return nil }})
		l := acquire(t, p)
		require.Equal(t, 1, used(t, p))
		require.Zero(t, asked)
		release(t, l)
		require.Equal(t, 1, used(t, p))
		require.Equal(t, 1, asked)
	})
	t.Run("LEASE-52 canceled during Validate", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(bg)
		p, m := newPool(t, config{Validate: func(ctx context.Context, _ *thing) error { cancel(errCause); <-ctx.Done(); return nil }})
		require.Equal(t, 1, used(t, p))
		err := failed(t, begin(ctx, p), errCause)
		var canceled *lease.CanceledError
		require.ErrorAs(t, err, &canceled)
		require.Equal(t, lease.StageValidating, canceled.Stage)
		require.Equal(t, 2, used(t, p))
		require.Equal(t, int32(1), m.all[0].disposed.Load())
		atRest(t, p)
	})
	t.Run("LEASE-52 the end of the pool during Validate", func(t *testing.T) {
		started := make(chan struct{})
		p, m := newPool(t, config{ValidateTimeout: time.Hour, Validate: func(ctx context.Context, _ *thing) error {
			close(started)
			<-ctx.Done()
			return context.Cause(ctx)
		}})
		require.Equal(t, 1, used(t, p))
		ch := begin(bg, p)
		testwait.Done(t, started)
		require.NoError(t, p.Close())
		failed(t, ch, lease.ErrClosed)
		require.NoError(t, p.Shutdown(bg))
		m.requireOnce(t)
	})
	t.Run("LEASE-57 Reset", func(t *testing.T) {
		p, m := newPool(t, config{Slots: 2})
		a, b := acquire(t, p), acquire(t, p)
		release(t, a)
		p.Reset()
		require.True(t, b.Held())
		release(t, b)
		require.Equal(t, []int{3, 4}, []int{used(t, p), used(t, p)})
		_, alive := m.made()
		require.Equal(t, 2, alive)
		require.Equal(t, uint64(1), p.Stats().Resets)
		atRest(t, p)
	})
	t.Run("LEASE-57 a Reset during Connect", func(t *testing.T) {
		p, m := newPool(t, config{})
		m.gate = make(chan struct{})
		ch := begin(bg, p)
		testwait.Until(t, func() bool { return p.Stats().Connects == 1 })
		p.Reset()
		close(m.gate)
		l := got(t, ch)
		require.Equal(t, 1, l.Value().n, "its Acquire began before the Reset as well")
		release(t, l)
		require.Equal(t, 2, used(t, p))
	})
	t.Run("LEASE-57 Sweep", func(t *testing.T) {
		mock := timertest.NewMock()
		p, m := newPool(t, config{Slots: 3, MaxIdle: time.Minute, Clock: mock})
		a, b, c := acquire(t, p), acquire(t, p), acquire(t, p)
		release(t, a)
		require.NoError(t, b.Discard(errDirty))
		n, err := p.Sweep(bg)
		require.NoError(t, err)
		require.Equal(t, 1, n, "the one that is parked")
		mock.Add(time.Minute)
		n, err = p.Sweep(bg)
		require.NoError(t, err)
		require.Equal(t, 1, n, "the one that was idle too long")
		require.True(t, c.Held())
		made, alive := m.made()
		require.Equal(t, []int{3, 1}, []int{made, alive})
		release(t, c)
		_, err = p.Sweep(ended(errCause))
		require.ErrorIs(t, err, errCause)
		require.ErrorContains(t, err, ": sweep canceled: the cause")
		_, err = p.Sweep(noCtx)
		require.ErrorIs(t, err, lease.ErrConfig)
		require.NoError(t, p.Close())
		_, err = p.Sweep(bg)
		require.ErrorIs(t, err, lease.ErrClosed)
	})
	t.Run("LEASE-57 SweepInterval", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &maker{}
			ex, err := executor.New(executor.Config{Size: 1, Logger: quiet})
			require.NoError(t, err)
			p, err := lease.New(config{Slots: 2, MaxIdle: time.Minute, SweepInterval: time.Minute, Executor: ex, Connect: m.connect, Dispose: m.dispose})
			require.NoError(t, err)
			release(t, acquire(t, p))
			release(t, acquire(t, p))
			time.Sleep(150 * time.Second)
			_, alive := m.made()
			require.Zero(t, alive)
			require.NoError(t, p.Close())
			require.NoError(t, ex.Close())
		})
	})
}
