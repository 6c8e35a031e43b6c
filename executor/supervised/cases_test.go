package supervised

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer/timertest"
)

// activating is a worker whose activation fails.
type activating struct{ activate func() error }

func (a activating) Activate(context.Context) error      { return a.activate() }
func (a activating) Serve(context.Context, *inbox) error { return errors.New("served") }

func TestB66(t *testing.T) {
	for name, activate := range map[string]func() error{
		"fails":        func() error { return errTest },
		"panics":       func() error { panic(errTest) },
		"calls Goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run("B66 an activation that always "+name+" is charged, and backed off", func(t *testing.T) {
			var calls atomic.Int64
			mock := timertest.NewMock()
			cfg := plain(1, activating{func() error { calls.Add(1); return activate() }})
			cfg.Clock, cfg.Backlog = mock, 1
			cfg.Recovery = Transient(Budget{3, time.Minute}, Constant(time.Second), RetireRole)
			p, s := start(t, cfg)
			waiting := submit(t, p, 1)
			for i := range 3 {
				phase(t, p, 0, "delayed")
				require.Equal(t, int64(i+1), calls.Load(), "no call before the delay has passed")
				timertest.Advance(t, mock, p.core.timer, time.Second)
			}
			require.Equal(t, NoWorkers, returned(t, waiting).Reason)
			require.Equal(t, int64(4), calls.Load(), "budget + 1")
			var spent *BudgetError
			require.ErrorAs(t, s.find(t, RecoveryFailed).Cause, &spent)
			_, err := p.Submit(context.Background(), 2)
			require.ErrorIs(t, err, ErrNoWorkers)
		})
	}
	t.Run("B66 a factory that fails loses the role, once", func(t *testing.T) {
		var calls atomic.Int64
		for _, cause := range []error{errTest, ErrFactoryUnavailable} {
			calls.Store(0)
			cfg := plain(1, nil)
			cfg.Factory = func(context.Context, Role) (worker, error) {
				if calls.Add(1) > 1 {
					return nil, cause
				}
				return serveFunc(func(context.Context, *inbox) error { return nil }), nil
			}
			p, s := start(t, cfg)
			require.ErrorIs(t, s.find(t, RecoveryFailed).Cause, cause)
			stop(t, p)
			require.Equal(t, int64(2), calls.Load())
			require.Equal(t, 1, s.count(RecoveryFailed))
		}
	})
}

func TestB69(t *testing.T) {
	t.Run("B69 a hard stop returns the running job and all the queued ones first", func(t *testing.T) {
		const queued = 1000
		release, has := make(chan struct{}), make(chan struct{})
		mock := timertest.NewMock()
		cfg := plain(1, handler(func(context.Context, assignment) error {
			close(has)
			<-release
			return nil
		}))
		cfg.Backlog, cfg.Clock, cfg.DrainWithin = queued, mock, 50*time.Millisecond
		p, _ := start(t, cfg)
		tickets := []*Ticket[int]{submit(t, p, 0)}
		testwait.Done(t, has)
		for i := range queued {
			tickets = append(tickets, submit(t, p, i+1))
		}
		ended := make(chan error, 1)
		go func() { ended <- p.Shutdown(context.Background()) }()
		testwait.Until(t, func() bool { return len(p.unresolved()) == 1 && p.core.timer.Len() == 1 })
		mock.Add(50 * time.Millisecond)
		var e *ForcedRetirementError
		require.ErrorAs(t, testwait.Value(t, ended), &e)
		for i, ticket := range tickets {
			o, settled := ticket.Outcome.Outcome()
			require.True(t, settled, "job %d", i)
			var r *ReturnedError[int]
			require.ErrorAs(t, o.Err, &r)
			require.Equal(t, i, r.Job)
			require.Equal(t, PoolShutdown, r.Reason)
		}
		close(release)
	})
}

func TestB70(t *testing.T) {
	ends := map[string]func(){
		"calls Goexit": func() { runtime.Goexit() },
		"panics":       func() { panic(errTest) },
	}
	for name, end := range ends {
		t.Run("B70 no job stays open when its worker "+name, func(t *testing.T) {
			for _, how := range []Interruption{Fail, Retry} {
				var tries atomic.Int64
				cfg := plain(1, handler(func(_ context.Context, a assignment) error {
					if tries.Add(1) == 1 {
						end()
					}
					return a.Complete(10 * a.Job())
				}))
				cfg.Interruption, cfg.Backlog = how, 2 // the first one may be back before the second comes
				p, _ := start(t, cfg)
				first, second := submit(t, p, 1), submit(t, p, 2)
				if how == Retry {
					require.Equal(t, 10, result(t, first))
				} else {
					e := returned(t, first)
					require.Equal(t, WorkerStopped, e.Reason)
					var p *future.PanicError
					require.True(t, errors.Is(e, future.ErrGoexit) || errors.As(e, &p))
				}
				require.Equal(t, 20, result(t, second), "the replaced worker takes the next job")
				stop(t, p)
			}
		})
	}
	t.Run("B70 a cleanup that panics after the job has failed", func(t *testing.T) {
		cfg := plain(1, serveFunc(func(ctx context.Context, in *inbox) error {
			defer func() { panic("cleanup") }()
			_, err := in.Next(ctx)
			return err
		}))
		p, _ := start(t, cfg)
		e := returned(t, submit(t, p, 1))
		var panicked *future.PanicError
		require.ErrorAs(t, e, &panicked)
		require.Equal(t, "cleanup", panicked.Value)
	})
}

func TestB74(t *testing.T) {
	t.Run("B74 a retry never overlaps its predecessor", func(t *testing.T) {
		var running, most, tries atomic.Int64
		stubborn := make(chan struct{})
		mock := timertest.NewMock()
		cfg := plain(2, handler(func(_ context.Context, a assignment) error {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			if tries.Add(1) == 1 {
				<-stubborn // whatever its context says
				return errTest
			}
			return a.Complete(1)
		}))
		cfg.Interruption, cfg.Clock = Retry, mock
		p, _ := start(t, cfg)
		ticket := submit(t, p, 1)
		testwait.Until(t, func() bool { return tries.Load() == 1 })
		mock.Add(time.Hour) // no time is long enough
		for range 100 {
			runtime.Gosched()
		}
		require.Equal(t, int64(1), tries.Load())
		close(stubborn)
		require.Equal(t, 1, result(t, ticket))
		require.Equal(t, int64(2), tries.Load())
		require.Equal(t, int64(1), most.Load())
	})
}

func TestHeldFactory(t *testing.T) {
	t.Run("SUP-108 a submission is refused in a drain while the factory is held", func(t *testing.T) {
		for _, late := range []bool{true, false} {
			var calls atomic.Int64
			entered, release := make(chan struct{}), make(chan struct{})
			var discarded atomic.Int64
			cfg := plain(1, nil)
			cfg.Factory = func(ctx context.Context, _ Role) (worker, error) {
				if calls.Add(1) == 1 {
					return serveFunc(func(context.Context, *inbox) error { return nil }), nil
				}
				close(entered)
				<-ctx.Done() // SUP-82: its context is canceled
				<-release
				if late {
					return &discarding{handler(tenfold), func(error) { discarded.Add(1) }}, nil
				}
				return nil, context.Cause(ctx)
			}
			p, s := start(t, cfg)
			testwait.Done(t, entered)
			p.Stop()
			_, err := p.Submit(context.Background(), 1)
			require.ErrorIs(t, err, ErrPoolStopping)
			require.Equal(t, []Unresolved{{"a", 1, "preparing", []string{"preparation"}}}, p.unresolved())
			close(release)
			require.NoError(t, p.Wait(within(t)))
			testwait.Done(t, p.Done())
			require.Equal(t, 1, s.count(LateFact))
			require.Equal(t, late, discarded.Load() == 1, "SUP-83 a late worker is discarded")
		}
	})
	t.Run("SUP-59 so is one that comes after a forced end", func(t *testing.T) {
		var calls, discarded atomic.Int64
		entered, release := make(chan struct{}), make(chan struct{})
		mock := timertest.NewMock()
		cfg := plain(1, nil)
		cfg.Clock, cfg.DrainWithin = mock, time.Second
		cfg.Factory = func(context.Context, Role) (worker, error) {
			if calls.Add(1) == 1 {
				return serveFunc(func(context.Context, *inbox) error { return nil }), nil
			}
			close(entered)
			<-release
			return &discarding{handler(tenfold), func(error) { discarded.Add(1) }}, nil
		}
		p, _ := start(t, cfg)
		testwait.Done(t, entered)
		p.Stop()
		mock.Add(time.Second)
		var e *ForcedRetirementError
		require.ErrorAs(t, p.Wait(within(t)), &e)
		require.Equal(t, []string{"preparation"}, e.Unresolved[0].Missing)
		close(release)
		testwait.Done(t, p.Done())
		require.Equal(t, int64(1), discarded.Load())
	})
}
