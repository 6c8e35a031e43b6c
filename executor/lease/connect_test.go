package lease_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/executortest"
	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
)

func TestConnect(t *testing.T) {
	t.Run("LEASE-49 on first use, and not again", func(t *testing.T) {
		p, m := newPool(t, config{Slots: 2})
		made, _ := m.made()
		require.Zero(t, made)
		for range 4 {
			release(t, acquire(t, p))
		}
		made, _ = m.made()
		require.Equal(t, 2, made)
		atRest(t, p)
	})
	t.Run("LEASE-50 one at a time for a slot", func(t *testing.T) {
		p, m := newPool(t, config{PermitsPerSlot: 3})
		m.gate = make(chan struct{})
		var callers []<-chan answer
		for range 3 {
			callers = append(callers, begin(bg, p))
		}
		testwait.Until(t, func() bool { return p.Stats().Preparing == 3 })
		require.Empty(t, p.Outstanding())
		close(m.gate)
		var first *thing
		for _, ch := range callers {
			l := got(t, ch)
			if first == nil {
				first = l.Value()
			}
			require.Same(t, first, l.Value())
			defer func() { release(t, l) }()
		}
		require.Equal(t, uint64(1), p.Stats().Connects)
		require.Equal(t, 1, p.Stats().InUse)
		require.NoError(t, p.Check())
	})
	t.Run("LEASE-50 an error goes to all who joined", func(t *testing.T) {
		p, m := newPool(t, config{Name: "p", PermitsPerSlot: 3})
		m.gate, m.err = make(chan struct{}), errCause
		var callers []<-chan answer
		for range 3 {
			callers = append(callers, begin(bg, p))
			testwait.Until(t, func() bool { return p.Stats().Preparing == len(callers) })
		}
		close(m.gate)
		for _, ch := range callers {
			// One who had not joined yet connects again, with the same error.
			var failure *lease.ConnectError
			require.ErrorAs(t, failed(t, ch, errCause), &failure)
			require.Equal(t, lease.ConnectError{Pool: "p", Slot: 0, Err: errCause}, *failure)
		}
		require.Equal(t, uint64(3), p.Stats().ConnectErrors)
		atRest(t, p)
		m.err = nil
		release(t, acquire(t, p))
	})
	t.Run("LEASE-50 the next leads when the leader's ctx ends", func(t *testing.T) {
		p, m := newPool(t, config{PermitsPerSlot: 2})
		m.gate = make(chan struct{})
		ctx, cancel := context.WithCancelCause(bg)
		leader := begin(ctx, p)
		testwait.Until(t, func() bool { return p.Stats().Connects == 1 })
		follower := begin(bg, p)
		testwait.Until(t, func() bool { return p.Stats().Preparing == 2 })
		cancel(errCause)
		var canceled *lease.CanceledError
		require.ErrorAs(t, failed(t, leader, errCause), &canceled)
		require.Equal(t, lease.StageConnecting, canceled.Stage)
		testwait.Until(t, func() bool { return p.Stats().Connects == 2 })
		close(m.gate)
		release(t, got(t, follower))
		atRest(t, p)
	})
	t.Run("LEASE-50 a follower whose ctx ends leaves", func(t *testing.T) {
		p, m := newPool(t, config{PermitsPerSlot: 2})
		m.gate = make(chan struct{})
		leader := begin(bg, p)
		testwait.Until(t, func() bool { return p.Stats().Connects == 1 })
		ctx, cancel := context.WithCancelCause(bg)
		follower := begin(ctx, p)
		testwait.Until(t, func() bool { return p.Stats().Preparing == 2 })
		cancel(errCause)
		failed(t, follower, errCause)
		close(m.gate)
		release(t, got(t, leader))
		require.Equal(t, uint64(1), p.Stats().Canceled[lease.StageConnecting])
		atRest(t, p)
	})
	t.Run("LEASE-51 a resource that comes too late for its caller stays", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(bg)
		m := &maker{}
		p, _ := newPool(t, config{Connect: func(context.Context) (*thing, error) { cancel(errCause); return m.connect(bg) }})
		failed(t, begin(ctx, p), errCause)
		require.Equal(t, 1, p.Stats().Idle)
		l := acquire(t, p)
		require.Equal(t, 1, l.Value().n)
		release(t, l)
		atRest(t, p)
	})
	t.Run("LEASE-49 the timeout", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &maker{gate: make(chan struct{})}
			p, err := lease.New(config{Slots: 1, ConnectTimeout: time.Minute, Connect: m.connect})
			require.NoError(t, err)
			defer p.Close()
			_, err = p.Acquire(bg)
			require.ErrorIs(t, err, lease.ErrConnect)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	})
	t.Run("LEASE-49 on the Executor, with the acquirer's values", func(t *testing.T) {
		type key struct{}
		ex := executortest.NewManual()
		m := &maker{}
		p, _ := newPool(t, config{Executor: ex, Connect: func(ctx context.Context) (*thing, error) {
			require.Equal(t, "v", ctx.Value(key{}))
			require.NoError(t, ctx.Err())
			return m.connect(ctx)
		}})
		ctx, cancel := context.WithCancelCause(context.WithValue(bg, key{}, "v"))
		ch := begin(ctx, p)
		testwait.Until(t, func() bool { return ex.Queued() == 1 })
		cancel(errCause)
		failed(t, ch, errCause)
		require.True(t, ex.RunNext(), "it is not canceled with its first caller")
		require.Equal(t, 1, p.Stats().Idle)
		release(t, acquire(t, p))
		require.Equal(t, uint64(1), p.Stats().Connects)
		atRest(t, p)
	})
	t.Run("LEASE-49 an Executor that refuses", func(t *testing.T) {
		for _, ex := range []executor.Executor{executortest.Saturated(), executortest.Closed()} {
			p, m := newPool(t, config{Executor: ex})
			l := acquire(t, p)
			require.NoError(t, l.Discard(errDirty))
			release(t, acquire(t, p))
			require.NoError(t, p.Shutdown(bg))
			m.requireOnce(t)
		}
	})
	t.Run("LEASE-49 an Executor that drops the Connect", func(t *testing.T) {
		ex, err := executor.New(executor.Config{Size: 1, Logger: quiet})
		require.NoError(t, err)
		stuck := make(chan struct{})
		require.NoError(t, ex.Post(bg, func(context.Context) { <-stuck }))
		p, _ := newPool(t, config{Executor: ex})
		ch := begin(bg, p)
		testwait.Until(t, func() bool { return ex.Stats().Queued == 1 })
		require.Error(t, ex.Shutdown(ended(errCause)))
		release(t, got(t, ch))
		close(stuck)
		testwait.Done(t, ex.Done())
	})
	t.Run("LEASE-49 on a pool of one worker, from a task of it", func(t *testing.T) {
		ex, err := executor.New(executor.Config{Size: 1, Logger: quiet})
		require.NoError(t, err)
		defer func() { require.NoError(t, ex.Close()) }()
		p, _ := newPool(t, config{Executor: ex})
		_, err = executor.Submit(bg, ex, func(ctx context.Context) (int, error) {
			l, err := p.Acquire(ctx)
			if err == nil {
				err = l.Release()
			}
			return 0, err
		}).Await(bg)
		require.NoError(t, err)
	})
	t.Run("LEASE-49 queued on the Executor when the pool ends", func(t *testing.T) {
		ex := executortest.NewManual()
		p, m := newPool(t, config{Executor: ex})
		ch := begin(bg, p)
		testwait.Until(t, func() bool { return ex.Queued() == 1 })
		require.NoError(t, p.Close())
		failed(t, ch, lease.ErrClosed)
		ex.RunAll()
		made, _ := m.made()
		require.Zero(t, made)
		require.NoError(t, p.Shutdown(bg))
	})
	t.Run("LEASE-49 the pool ends while the Connect is being posted", func(t *testing.T) {
		for range 10 { // who waits may hear of the end or of the task first
			ex := &during{Manual: executortest.NewManual()}
			p, _ := newPool(t, config{Executor: ex})
			ex.do = func() { _ = p.Close() }
			failed(t, begin(bg, p), lease.ErrClosed)
			atRest(t, p)
		}
	})
	t.Run("LEASE-64 a panic and a Goexit on the Executor", func(t *testing.T) {
		p, _ := newPool(t, config{Executor: executor.Go(), Connect: func(context.Context) (*thing, error) { runtime.Goexit(); return nil, nil }})
		failed(t, begin(bg, p), lease.ErrConnect)
		atRest(t, p)
		p, _ = newPool(t, config{Executor: executor.Go(), Connect: func(context.Context) (*thing, error) { panic("boom") }})
		failed(t, begin(bg, p), lease.ErrSchedulerFailed)
		require.ErrorIs(t, p.Close(), lease.ErrSchedulerFailed)
	})
	t.Run("LEASE-21 LEASE-64 a Goexit on the Executor while the ctx ends", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(bg)
		ex := &during{Manual: executortest.NewManual()}
		ex.do = func() {
			cancel(errCause)
			goexit(t, func() { ex.RunAll() })
		}
		p, _ := newPool(t, config{Executor: ex, Connect: func(context.Context) (*thing, error) { runtime.Goexit(); return nil, nil }})
		var canceled *lease.CanceledError
		require.ErrorAs(t, failed(t, begin(ctx, p), errCause), &canceled)
		require.Equal(t, lease.StageConnecting, canceled.Stage)
		require.Zero(t, p.Stats().ConnectErrors)
		atRest(t, p)
	})
	t.Run("LEASE-64 an Executor that panics", func(t *testing.T) {
		p, m := newPool(t, config{Executor: panicking{}})
		failed(t, begin(bg, p), lease.ErrSchedulerFailed)
		require.ErrorIs(t, p.Close(), lease.ErrSchedulerFailed)
		require.NoError(t, p.Check())
		m.requireOnce(t)
	})
}

// during is an Executor during whose Post something happens.
type during struct {
	*executortest.Manual
	do func()
}

func (d *during) Post(ctx context.Context, task func(context.Context)) error {
	err := d.Manual.Post(ctx, task)
	d.do()
	return err
}

type panicking struct{}

func (panicking) Post(context.Context, func(context.Context)) error { panic("boom") }

// exiting is an Executor that ends whoever posts to it.
type exiting struct{}

func (exiting) Post(context.Context, func(context.Context)) error { runtime.Goexit(); return nil }

func TestExitingExecutor(t *testing.T) {
	t.Run("LEASE-23 LEASE-55 an Executor that exits loses neither permit nor resource", func(t *testing.T) {
		p, _ := newPool(t, config{Executor: exiting{}})
		for range 2 { // the flight of the first is not in the way of the second
			require.True(t, goexit(t, func() { _, _ = p.Acquire(bg) }))
			atRest(t, p)
		}
		require.Equal(t, uint64(2), p.Stats().Exited)

		ex := &switched{Executor: executor.Go()}
		p, m := newPool(t, config{Executor: ex})
		l := acquire(t, p)
		ex.exit.Store(true)
		require.True(t, goexit(t, func() { _ = l.Discard(errDirty) }))
		require.Equal(t, 1, p.Stats().Condemned, "parked")
		atRest(t, p)
		require.NoError(t, p.Shutdown(bg))
		m.requireOnce(t)
	})
}

// switched is an Executor that can be made to exit.
type switched struct {
	executor.Executor
	exit atomic.Bool
}

func (s *switched) Post(ctx context.Context, task func(context.Context)) error {
	if s.exit.Load() {
		runtime.Goexit()
	}
	return s.Executor.Post(ctx, task)
}
