package supervised

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
	"github.com/cadre-go/cadre/timer/timertest"
)

// phase waits until a role stands there.
func phase(t *testing.T, p *pool, role int, name string) {
	t.Helper()
	testwait.Until(t, func() bool { return p.Stats().Roles[role].Phase == name })
}

func TestRestartDelay(t *testing.T) {
	failing := func(t *testing.T, backoff Backoff) (*pool, *timertest.Mock, *atomic.Int64, *sink) {
		mock := timertest.NewMock()
		var born atomic.Int64
		cfg := plain(1, nil)
		cfg.Clock = mock
		cfg.Backlog = 1
		cfg.Recovery = Permanent(Budget{3, 100 * time.Second}, backoff, RetireRole)
		cfg.Factory = func(context.Context, Role) (worker, error) {
			born.Add(1)
			return serveFunc(func(context.Context, *inbox) error { return errTest }), nil
		}
		p, s := start(t, cfg)
		return p, mock, &born, s
	}
	t.Run("SUP-70 each restart waits for its delay, by the pool's clock", func(t *testing.T) {
		p, mock, born, s := failing(t, Exponential(time.Second, 3*time.Second))
		for i, delay := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
			phase(t, p, 0, "delayed")
			require.Equal(t, int64(i+2), born.Load(), "the next worker is prepared")
			timertest.Advance(t, mock, p.core.timer, delay-1)
			require.Equal(t, "delayed", p.Stats().Roles[0].Phase)
			timertest.Advance(t, mock, p.core.timer, 1)
		}
		s.find(t, RecoveryFailed)
		require.Equal(t, "retired", p.Stats().Roles[0].Phase)
		require.Equal(t, 3, p.Stats().Charges)
	})
	t.Run("SUP-82 a shutdown cancels the delay and discards the worker at once", func(t *testing.T) {
		var discarded atomic.Int64
		mock := timertest.NewMock()
		cfg := plain(1, nil)
		cfg.Clock = mock
		cfg.Recovery = Permanent(Budget{3, time.Hour}, Constant(time.Minute), RetireRole)
		cfg.Factory = func(context.Context, Role) (worker, error) {
			return &discarding{serveFunc(func(context.Context, *inbox) error { return nil }), func(error) { discarded.Add(1) }}, nil
		}
		p, _ := start(t, cfg)
		phase(t, p, 0, "delayed")
		require.NoError(t, p.Shutdown(within(t)))
		testwait.Done(t, p.Done())
		require.Equal(t, int64(1), discarded.Load())
		require.Equal(t, "stopped", p.Stats().Roles[0].Phase)
	})
	t.Run("SUP-82 the delay is gone while others are still waited for", func(t *testing.T) {
		has, release := make(chan struct{}), make(chan struct{})
		cfg := plain(2, nil)
		cfg.Clock = timertest.NewMock()
		cfg.Recovery = Permanent(Budget{3, time.Hour}, Constant(time.Hour), RetireRole)
		cfg.Factory = func(_ context.Context, role Role) (worker, error) {
			if role == "b" {
				return serveFunc(func(context.Context, *inbox) error { return nil }), nil
			}
			return serveFunc(func(context.Context, *inbox) error {
				close(has)
				<-release
				return nil
			}), nil
		}
		p, _ := start(t, cfg)
		testwait.Done(t, has)
		phase(t, p, 1, "delayed")
		require.Equal(t, 1, p.core.timer.Len())
		p.Stop()
		require.Zero(t, p.core.timer.Len())
		require.Len(t, p.unresolved(), 1)
		close(release)
	})
	t.Run("SUP-71 a clock that fails is a loss", func(t *testing.T) {
		cfg := plain(1, serveFunc(func(context.Context, *inbox) error { return nil }))
		clock := &brokenClock{Clock: timertest.NewMock()}
		cfg.Clock = clock
		cfg.Recovery = Permanent(Budget{3, time.Hour}, Constant(time.Minute), RetireRole)
		factory := cfg.Factory
		calls := 0
		cfg.Factory = func(ctx context.Context, role Role) (worker, error) {
			if calls++; calls == 2 {
				clock.broken.Store(true)
			}
			return factory(ctx, role)
		}
		p, s := start(t, cfg)
		require.ErrorContains(t, s.find(t, RecoveryFailed).Cause, "broken clock")
		require.Equal(t, "retired", p.Stats().Roles[0].Phase)
	})
}

// brokenClock fails once when it is told to.
type brokenClock struct {
	timer.Clock
	broken atomic.Bool
}

func (c *brokenClock) Now() time.Time {
	if c.broken.CompareAndSwap(true, false) {
		panic("broken clock")
	}
	return c.Clock.Now()
}

func TestDrain(t *testing.T) {
	// stuck is a pool of two workers, one of which ignores everything until
	// released.
	stuck := func(t *testing.T, drain time.Duration) (*pool, *timertest.Mock, *Ticket[int], func()) {
		mock := timertest.NewMock()
		release := make(chan struct{})
		has := make(chan struct{})
		cfg := plain(3, handler(func(_ context.Context, a assignment) error {
			close(has)
			<-release
			return nil
		}))
		cfg.Clock, cfg.DrainWithin = mock, drain
		p, _ := start(t, cfg)
		t.Cleanup(func() {
			select {
			case <-release:
			default:
				close(release)
			}
		})
		ticket := submit(t, p, 7)
		testwait.Done(t, has)
		return p, mock, ticket, func() { close(release) }
	}
	t.Run("SUP-85 B64 a forced shutdown lists exactly the worker that is stuck", func(t *testing.T) {
		p, mock, ticket, release := stuck(t, 50*time.Millisecond)
		p.Stop()
		require.Equal(t, PoolShutdown, returned(t, ticket).Reason, "jobs come first")
		short, cancel := context.WithCancel(context.Background())
		cancel()
		require.ErrorIs(t, p.Wait(short), context.Canceled, "SUP-89 ends this wait alone")
		testwait.Until(t, func() bool { return len(p.unresolved()) == 1 })
		mock.Add(50 * time.Millisecond) // the timer is closed when it has gone off
		err := p.Wait(within(t))
		var e *ForcedRetirementError
		require.ErrorAs(t, err, &e)
		require.Equal(t, []Unresolved{{"a", 1, "busy", []string{"exit"}}}, e.Unresolved)
		require.Equal(t, "forced", p.Stats().Mode)
		select {
		case <-p.Done():
			t.Fatal("done though a worker runs")
		default:
		}
		release()
		testwait.Done(t, p.Done())
		require.Equal(t, err, p.Wait(within(t)), "the same verdict afterwards")
	})
	t.Run("B64 nothing stuck means nil, without waiting for the bound", func(t *testing.T) {
		mock := timertest.NewMock() // which nobody moves
		cfg := plain(3, handler(tenfold))
		cfg.Clock, cfg.DrainWithin = mock, time.Hour
		p, _ := start(t, cfg)
		require.NoError(t, p.Shutdown(within(t)))
		require.NoError(t, p.Close())
		testwait.Done(t, p.Done())
		require.Zero(t, p.core.timer.Len(), "SUP-84 the drain timer is canceled")
	})
	t.Run("SUP-87 a Close without DrainWithin gives up after 30 s", func(t *testing.T) {
		p, mock, _, release := stuck(t, 0)
		closed := make(chan error, 1)
		go func() { closed <- p.Close() }()
		testwait.Until(t, func() bool {
			select {
			case err := <-closed:
				require.ErrorIs(t, err, context.DeadlineExceeded)
				return true
			default:
				mock.Add(10 * time.Second)
				return false
			}
		})
		release()
		require.NoError(t, p.Wait(within(t)))
	})
	t.Run("SUP-85 SUP-86 a worker that cannot be asked in order is asked all the same", func(t *testing.T) {
		cfg, err := plain(2, handler(tenfold)).withDefaults()
		require.NoError(t, err)
		p, err := newPool(t.Context(), cfg, fold.Counters{Stop: math.MaxUint64}, nil)
		require.NoError(t, err)
		phase(t, p, 0, "idle")
		phase(t, p, 1, "idle")
		var e *ForcedRetirementError
		require.ErrorAs(t, p.Shutdown(within(t)), &e)
		testwait.Done(t, p.Done())
	})
	t.Run("SUP-85 a clock that fails forces at once", func(t *testing.T) {
		release := make(chan struct{})
		clock := &brokenClock{Clock: timertest.NewMock()}
		has := make(chan struct{})
		cfg := plain(1, handler(func(context.Context, assignment) error {
			close(has)
			<-release
			return nil
		}))
		cfg.Clock, cfg.DrainWithin = clock, time.Second
		p, _ := start(t, cfg)
		submit(t, p, 1)
		testwait.Done(t, has)
		clock.broken.Store(true)
		p.Stop()
		var e *ForcedRetirementError
		require.ErrorAs(t, p.Wait(within(t)), &e)
		require.ErrorContains(t, e, "broken clock")
		close(release)
	})
}

// unresolved reads whom the pool waits for.
func (p *Pool[J, R]) unresolved() []Unresolved {
	p.core.mu.Lock()
	defer p.core.mu.Unlock()
	return p.core.unresolvedLocked()
}
