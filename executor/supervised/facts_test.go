package supervised

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
	"github.com/cadre-go/cadre/timer/timertest"
)

func TestFacts(t *testing.T) {
	t.Run("SUP-6 the shortest drain is forced, and not unbounded", func(t *testing.T) {
		release, has := make(chan struct{}), make(chan struct{})
		cfg := plain(1, handler(func(context.Context, assignment) error {
			close(has)
			<-release
			return nil
		}))
		cfg.DrainWithin = 1 // by the real clock it is over before its schedule is known
		p, _ := start(t, cfg)
		submit(t, p, 1)
		testwait.Done(t, has)
		var e *ForcedRetirementError
		require.ErrorAs(t, p.Shutdown(within(t)), &e)
		close(release)
	})
	t.Run("SUP-8 a clock that is set back never shows", func(t *testing.T) {
		mock := timertest.NewMock()
		mock.Add(time.Hour)
		var at []time.Duration
		cfg := plain(1, serveFunc(func(context.Context, *inbox) error {
			mock.Add(-time.Minute)
			return errTest
		}))
		cfg.Clock, cfg.OnDiagnostic = mock, func(Diagnostic) {}
		cfg.Recovery = Permanent(Budget{5, time.Hour}, Immediate(), RetireRole)
		cfg, err := cfg.withDefaults()
		require.NoError(t, err)
		p, err := newPool(t.Context(), cfg, fold.Counters{}, func(c *coreOfInts) {
			c.trace = func(ev *event[int, int], _ fold.Verdict, _ []action[int, int]) {
				if ev.Kind == fold.Exited {
					at = append(at, ev.At)
				}
			}
		})
		require.NoError(t, err)
		phase(t, p, 0, "retired")
		stop(t, p)
		require.Equal(t, make([]time.Duration, 6), at)
	})
	t.Run("SUP-9 a callback that waits for another job does not keep it from being done", func(t *testing.T) {
		gate := make(chan struct{})
		p, _ := start(t, plain(2, handler(func(_ context.Context, a assignment) error {
			<-gate
			return a.Complete(10 * a.Job())
		})))
		first := submit(t, p, 1)
		second := make(chan int, 1)
		first.Outcome.OnSettle(func(outcome) {
			ticket, err := p.Submit(context.Background(), 2)
			if err != nil {
				second <- -1
				return
			}
			done, err := ticket.Outcome.Await(context.Background())
			if err != nil {
				second <- -2
				return
			}
			second <- done.Result
		})
		close(gate)
		require.Equal(t, 20, testwait.Value(t, second))
	})
	t.Run("SUP-95 SUP-96 severities, and the values that nobody else has", func(t *testing.T) {
		var births atomic.Int64
		spare := &discarding{handler(tenfold), func(error) {}}
		cfg := plain(1, nil)
		cfg.Recovery = Permanent(Budget{1, time.Hour}, Immediate(), RetireRole)
		cfg.Factory = func(context.Context, Role) (worker, error) {
			if births.Add(1) == 3 {
				return spare, nil
			}
			return handler(func(_ context.Context, a assignment) error {
				if err := a.Complete(1); err != nil {
					return err
				}
				_ = a.Complete(2)
				return errTest
			}), nil
		}
		p, s := start(t, cfg)
		for range 2 {
			for { // until the next incarnation is there
				if ticket, err := p.Submit(context.Background(), 5); err == nil {
					require.Equal(t, 1, result(t, ticket))
					break
				}
			}
		}
		failed := s.find(t, RecoveryFailed)
		require.Equal(t, worker(spare), failed.Value)
		require.ErrorIs(t, failed.Cause, errTest, "the exit is told with it")
		want := map[DiagnosticKind]Severity{
			AbnormalExit: Notice, WorkerRestarted: Notice, RoleRetired: Notice,
			DuplicateCompletion: Fault, RecoveryFailed: Fault,
		}
		for kind, severity := range want {
			d := s.find(t, kind)
			require.Equal(t, severity, d.Severity, kind)
			require.Equal(t, Role("a"), d.Role)
			require.NotZero(t, d.Incarnation)
		}
		require.Equal(t, 2, s.find(t, DuplicateCompletion).Value)
	})
}

// gateClock holds a reading up when it is told to.
type gateClock struct {
	timer.Clock
	armed   atomic.Bool
	entered chan struct{}
	open    chan struct{}
}

func (c *gateClock) Now() time.Time {
	if c.armed.CompareAndSwap(true, false) {
		close(c.entered)
		<-c.open
	}
	return c.Clock.Now()
}

// touchy is an error that cannot stand being asked about itself.
type touchy struct{}

func (touchy) Error() string   { return "touchy" }
func (touchy) Is(error) bool   { panic("do not ask") }
func (touchy) Unwrap() []error { panic("do not ask") }

func TestWindows(t *testing.T) {
	t.Run("SUP-35 a job for a worker that has ended, and is not known to have, goes to the next", func(t *testing.T) {
		var births atomic.Int64
		clock := &gateClock{Clock: timertest.NewMock(), entered: make(chan struct{}), open: make(chan struct{})}
		go1 := make(chan struct{})
		cfg := plain(1, nil)
		cfg.Clock = clock
		cfg.Factory = func(context.Context, Role) (worker, error) {
			if births.Add(1) > 1 {
				return handler(tenfold), nil
			}
			return serveFunc(func(context.Context, *inbox) error {
				<-go1
				return nil
			}), nil
		}
		p, s := start(t, cfg)
		clock.armed.Store(true)
		close(go1)
		testwait.Done(t, clock.entered)
		ticket := submit(t, p, 4)
		close(clock.open)
		require.Equal(t, 40, result(t, ticket))
		require.ErrorIs(t, s.find(t, AbnormalExit).Cause, fold.ErrDeliveryRejected, "SUP-63 it was quarantined")
		require.Equal(t, 1, s.count(AlreadyStopped))
	})
	t.Run("SUP-8 an exit under a clock that fails is an exit all the same", func(t *testing.T) {
		clock := &brokenClock{Clock: timertest.NewMock()}
		end := make(chan struct{})
		cfg := plain(1, serveFunc(func(context.Context, *inbox) error {
			<-end
			return nil
		}))
		cfg.Clock, cfg.Recovery = clock, Temporary(RetireRole)
		log := quiet(&cfg)
		p, s := start(t, cfg)
		require.Empty(t, log.String())
		clock.broken.Store(true)
		close(end)
		s.find(t, RoleRetired)
		require.NoError(t, p.Close())
		require.Contains(t, log.String(), "the clock panicked")
	})
	t.Run("SUP-67 an error that panics when it is asked about itself is an error", func(t *testing.T) {
		var calls atomic.Int64
		cfg := plain(1, nil)
		cfg.Factory = func(context.Context, Role) (worker, error) {
			if calls.Add(1) > 1 {
				return nil, touchy{}
			}
			return serveFunc(func(context.Context, *inbox) error { return nil }), nil
		}
		_, s := start(t, cfg)
		require.Equal(t, error(touchy{}), s.find(t, RecoveryFailed).Cause)
	})
	t.Run("SUP-84 Close without a bound and without a clock", func(t *testing.T) {
		p, _ := start(t, plain(1, handler(tenfold)))
		require.NoError(t, p.Close())
	})
}
