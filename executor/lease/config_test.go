package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/timer"
)

// configErrors lists the fields of all ConfigErrors in err.
func configErrors(err error) []string {
	var fields []string
	var visit func(error)
	visit = func(err error) {
		switch e := err.(type) {
		case *lease.ConfigError:
			fields = append(fields, e.Field)
		case interface{ Unwrap() []error }:
			for _, sub := range e.Unwrap() {
				visit(sub)
			}
		}
	}
	visit(err)
	return fields
}

func TestConfig(t *testing.T) {
	connect := (&maker{}).connect
	t.Run("LEASE-13 each bad field", func(t *testing.T) {
		for _, c := range []struct {
			field string
			cfg   config
		}{
			{"Slots", config{Connect: connect}},
			{"Slots", config{Slots: -1, Connect: connect}},
			{"Slots", config{Slots: 1<<20 + 1, Connect: connect}},
			{"Slots", config{Slots: 1 << 10, PermitsPerSlot: 1<<10 + 1, Connect: connect}},
			{"Slots", config{Slots: 1 << 62, PermitsPerSlot: 1 << 62, Connect: connect}},
			{"PermitsPerSlot", config{Slots: 1, PermitsPerSlot: -1, Connect: connect}},
			{"MaxWaiters", config{Slots: 1, MaxWaiters: -2, Connect: connect}},
			{"AcquireTimeout", config{Slots: 1, AcquireTimeout: -1, Connect: connect}},
			{"ConnectTimeout", config{Slots: 1, ConnectTimeout: -1, Connect: connect}},
			{"ValidateTimeout", config{Slots: 1, ValidateTimeout: -1, Connect: connect}},
			{"MaxLifetime", config{Slots: 1, MaxLifetime: -1, Connect: connect}},
			{"MaxIdle", config{Slots: 1, MaxIdle: -1, Connect: connect}},
			{"ValidateAfter", config{Slots: 1, ValidateAfter: -1, Connect: connect}},
			{"SweepInterval", config{Slots: 1, SweepInterval: -1, Connect: connect}},
			{"SweepInterval", config{Slots: 1, SweepInterval: 1, MaxIdle: 1, Connect: connect}},
			{"SweepInterval", config{Slots: 1, SweepInterval: 1, Executor: executor.Go(), Connect: connect}},
			{"Fairness", config{Slots: 1, Fairness: 2, Connect: connect}},
			{"SlotOrder", config{Slots: 1, SlotOrder: 2, Connect: connect}},
			{"Leak", config{Slots: 1, Leak: 3, Connect: connect}},
			{"Connect", config{Slots: 1}},
		} {
			p, err := lease.New(c.cfg)
			require.Nil(t, p)
			require.ErrorIs(t, err, lease.ErrConfig)
			require.ErrorIs(t, err, timer.ErrConfig)
			require.Equal(t, []string{c.field}, configErrors(err))
		}
	})
	t.Run("LEASE-13 the largest pools", func(t *testing.T) {
		for _, c := range []struct{ slots, permits int }{{1 << 20, 0}, {1 << 20, 1}, {1 << 10, 1 << 10}, {1, 1 << 20}} {
			require.NoError(t, lease.CheckConfig(config{Slots: c.slots, PermitsPerSlot: c.permits, Connect: connect}))
		}
	})
	t.Run("LEASE-13 several are joined, and nothing is started", func(t *testing.T) {
		called := false
		_, err := lease.New(config{
			Slots: -1, MaxWaiters: -5, MaxIdle: -time.Second, SweepInterval: time.Second,
			Connect: func(context.Context) (*thing, error) { called = true; return nil, nil },
			OnEvent: func(lease.Event) { called = true },
			Clock:   clockFunc(func() time.Time { called = true; return time.Time{} }),
		})
		require.Equal(t, []string{"Slots", "MaxWaiters", "MaxIdle", "SweepInterval"}, configErrors(err))
		var one *lease.ConfigError
		require.ErrorAs(t, err, &one)
		require.False(t, called)
		requireOwners(t, 0)
	})
	t.Run("LEASE-14 the id and the name", func(t *testing.T) {
		p, _ := newPool(t, config{})
		q, _ := newPool(t, config{Name: "q"})
		require.NotEqual(t, p.Stats().ID, q.Stats().ID)
		require.Equal(t, name("lease-%d", p.Stats().ID), p.Stats().Name)
		require.Equal(t, "q", q.Stats().Name)
	})
	t.Run("LEASE-15 handles", func(t *testing.T) {
		p, _ := newPool(t, config{})
		require.Equal(t, uint64(1), p.Handle().ID())
		require.Equal(t, uint64(2), p.Handle().ID())
		require.NoError(t, p.Close())
		require.Equal(t, uint64(3), p.Handle().ID())
	})
	t.Run("LEASE-16 the zero values are closed", func(t *testing.T) {
		var p pool
		var h lease.Handle[*thing]
		for _, do := range []func(context.Context) error{
			func(ctx context.Context) error { _, err := p.Acquire(ctx); return err },
			func(ctx context.Context) error { _, err := p.TryAcquire(ctx); return err },
			func(ctx context.Context) error { _, err := h.Acquire(ctx); return err },
			func(ctx context.Context) error { _, err := h.TryAcquire(ctx); return err },
			func(ctx context.Context) error { return p.Do(ctx, use) },
			func(ctx context.Context) error { return h.Do(ctx, use) },
			func(ctx context.Context) error { _, err := p.Sweep(ctx); return err },
			p.Shutdown,
		} {
			require.ErrorIs(t, do(bg), lease.ErrClosed)
			require.ErrorIs(t, do(noCtx), lease.ErrConfig)
		}
		require.ErrorIs(t, p.Close(), lease.ErrClosed)
		require.ErrorIs(t, p.Err(), lease.ErrClosed)
		<-p.Done()
		p.Reset()
		require.Equal(t, "Closed", p.Stats().State)
		require.Empty(t, p.Outstanding())
		require.NoError(t, h.Close())
		require.Zero(t, h.ID())
		_, err := p.Handle().Acquire(bg)
		require.ErrorIs(t, err, lease.ErrClosed)
	})
}

func use(context.Context, *thing) error { return nil }

// clockFunc is a clock that only tells the time.
type clockFunc func() time.Time

func (fn clockFunc) Now() time.Time                          { return fn() }
func (fn clockFunc) NewTimer(time.Duration) timer.ClockTimer { panic("no timers") }

func TestErrors(t *testing.T) {
	t.Run("LEASE-22 errors match what they stand for", func(t *testing.T) {
		for _, c := range []struct {
			err      error
			sentinel error
			text     string
		}{
			{&lease.SaturatedError{Pool: "p", Limit: 3}, lease.ErrSaturated, `lease "p": 3 callers wait already`},
			{&lease.AcquireTimeoutError{Pool: "p", Limit: 1, Waited: 2}, lease.ErrAcquireTimeout, `lease "p": no permit after 2ns (limit 1ns)`},
			{&lease.ClosedError{Pool: "p"}, lease.ErrClosed, `lease "p": pool closed`},
			{&lease.SchedulerFailedError{Pool: "p", Where: "Connect", Panic: "x"}, lease.ErrSchedulerFailed, `lease "p": pool failed: panic in Connect: x`},
			{&lease.HandleClosedError{Pool: "p", Handle: 7}, lease.ErrHandleClosed, `lease "p": handle 7 is closed`},
			{&lease.ConnectError{Pool: "p", Slot: 1, Err: errCause}, lease.ErrConnect, `lease "p": slot 1: connect: the cause`},
			{&lease.ReleasedError{Pool: "p", Slot: 1}, lease.ErrReleased, `lease "p": the lease of slot 1 was released already`},
			{&lease.StaleLeaseError{Pool: "p", Slot: 1}, lease.ErrStaleLease, `lease "p": the lease of slot 1 is not held any more`},
		} {
			require.ErrorIs(t, c.err, c.sentinel)
			require.EqualError(t, c.err, c.text)
			for _, other := range []error{lease.ErrSaturated, lease.ErrAcquireTimeout, lease.ErrClosed, lease.ErrSchedulerFailed,
				lease.ErrHandleClosed, lease.ErrNoCapacity, lease.ErrConnect, lease.ErrReleased, lease.ErrStaleLease, lease.ErrShared} {
				if other != c.sentinel {
					require.NotErrorIs(t, c.err, other)
				}
			}
		}
		require.ErrorIs(t, &lease.ConnectError{Err: errCause}, errCause)
		require.ErrorIs(t, &lease.SchedulerFailedError{Panic: errCause}, errCause)
		require.NotErrorIs(t, &lease.SchedulerFailedError{Panic: error(&lease.ClosedError{})}, lease.ErrClosed)
		var timeout interface{ Timeout() bool }
		require.True(t, errors.As(error(&lease.AcquireTimeoutError{}), &timeout) && timeout.Timeout())
		require.NotErrorIs(t, &lease.AcquireTimeoutError{}, context.DeadlineExceeded)
	})
	t.Run("LEASE-22 stages and kinds have names", func(t *testing.T) {
		require.Equal(t, "validating", lease.StageValidating.String())
		require.Equal(t, "Stage(4)", (lease.StageValidating + 1).String())
		require.Equal(t, "Stage(9)", lease.Stage(9).String())
		require.Equal(t, "double release", lease.EventDoubleRelease.String())
		require.Equal(t, "EventKind(8)", (lease.EventAbandoned + 1).String())
		require.Equal(t, "EventKind(99)", lease.EventKind(99).String())
	})
	t.Run("LEASE-22 the end of a ctx is no other error", func(t *testing.T) {
		p, _ := newPool(t, config{})
		_, err := p.Acquire(ended(errCause))
		l := acquire(t, p)
		for _, err := range []error{err, p.Shutdown(ended(errCause))} {
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, errCause)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			require.NotErrorIs(t, err, lease.ErrClosed)
		}
		release(t, l)
		require.NotErrorIs(t, &lease.CanceledError{}, context.Canceled)
		require.NotErrorIs(t, &lease.ShutdownError{}, context.Canceled)
	})
}
