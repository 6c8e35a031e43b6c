package supervised

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/testwait"
)

// ways are the four ways for a worker to end.
var ways = []struct {
	name     string
	abnormal bool
	end      func() error
	is       error // in what is reported
}{
	{"return", false, func() error { return nil }, nil},
	{"error", true, func() error { return errTest }, errTest},
	{"panic", true, func() error { panic(errTest) }, errTest},
	{"Goexit", true, func() error { runtime.Goexit(); return nil }, future.ErrGoexit},
}

// mortal is a worker whose first incarnation ends in a way, at a stage of its
// life. All later ones serve.
type mortal struct {
	stage string
	end   func() error
	born  *atomic.Int64
	first bool
	in    chan struct{}
}

func (m *mortal) Activate(context.Context) error {
	if m.first && m.stage == "activating" {
		if err := m.end(); err != nil {
			return err
		}
		return errTest // to return is to be activated, which is no end
	}
	return nil
}

func (m *mortal) Serve(ctx context.Context, in *inbox) error {
	if !m.first {
		return handler(tenfold).Serve(ctx, in)
	}
	switch m.stage {
	case "starting":
		return m.end()
	case "idle":
		close(m.in)
		<-m.in
		return m.end()
	}
	a, err := in.Next(ctx)
	if err != nil {
		return nil
	}
	_ = a
	return m.end()
}

func TestExits(t *testing.T) {
	for _, stage := range []string{"starting", "activating", "idle", "busy"} {
		for _, way := range ways {
			for _, how := range []Interruption{Fail, Retry} {
				t.Run(fmt.Sprintf("SUP-108 %s while %s, interruption %d", way.name, stage, how), func(t *testing.T) {
					var born atomic.Int64
					cfg := plain(1, nil)
					cfg.Interruption, cfg.Backlog = how, 2
					in := make(chan struct{})
					cfg.Factory = func(context.Context, Role) (worker, error) {
						return &mortal{stage: stage, end: way.end, born: &born, first: born.Add(1) == 1, in: in}, nil
					}
					p, s := start(t, cfg)
					ticket := submit(t, p, 1)
					if stage == "busy" && how == Fail {
						e := returned(t, ticket)
						require.Equal(t, WorkerStopped, e.Reason)
						require.Equal(t, 1, e.Attempts)
						if way.is != nil {
							require.ErrorIs(t, e, way.is)
						}
						ticket = submit(t, p, 1)
					}
					require.Equal(t, 10, result(t, ticket), "the next incarnation serves")
					if stage == "activating" {
						d := s.find(t, ActivationFailed)
						if way.is != nil {
							require.ErrorIs(t, d.Cause, way.is)
						}
					}
					if way.abnormal {
						d := s.find(t, AbnormalExit)
						require.ErrorIs(t, d.Cause, way.is)
						if way.name == "panic" {
							require.Contains(t, stackOf(d.Cause), "exit_test.go", "SUP-98")
						}
					}
					st := p.Stats()
					require.Equal(t, uint64(1), st.Roles[0].Restarts)
					require.Equal(t, Incarnation(2), st.Roles[0].Incarnation)
				})
			}
		}
	}
}

func TestUntaken(t *testing.T) {
	t.Run("SUP-35 a worker that ends with an assignment in its inbox never had it", func(t *testing.T) {
		var born atomic.Int64
		go1 := make(chan struct{})
		cfg := plain(1, nil) // Fail
		cfg.Factory = func(context.Context, Role) (worker, error) {
			if born.Add(1) == 1 {
				return serveFunc(func(context.Context, *inbox) error {
					<-go1
					return nil
				}), nil
			}
			return handler(tenfold), nil
		}
		p, _ := start(t, cfg)
		ticket := submit(t, p, 1) // is assigned, and not taken
		require.Equal(t, 1, p.Stats().Assigned)
		close(go1)
		require.Equal(t, 10, result(t, ticket))
		require.Equal(t, int64(2), born.Load())
	})
	t.Run("SUP-83 one that was returned by then is a notice, not a fault", func(t *testing.T) {
		end := make(chan struct{})
		p, s := start(t, plain(1, serveFunc(func(context.Context, *inbox) error {
			<-end
			return nil
		})))
		ticket := submit(t, p, 1)
		p.Stop()
		require.Equal(t, PoolShutdown, returned(t, ticket).Reason)
		close(end)
		testwait.Done(t, p.Done())
		require.Equal(t, 1, s.count(LateDelivery))
		require.Zero(t, s.count(LateFact))
	})
}

func TestLoss(t *testing.T) {
	for _, onLoss := range []OnLoss{RetireRole, StopPool} {
		t.Run(fmt.Sprintf("SUP-75 a worker that is not restarted, on loss %d", onLoss), func(t *testing.T) {
			cfg := plain(1, handler(func(context.Context, assignment) error { return errTest }))
			cfg.Recovery, cfg.Backlog = Temporary(onLoss), 3
			p, s := start(t, cfg)
			require.ErrorIs(t, returned(t, submit(t, p, 1)), errTest)
			if onLoss == StopPool {
				err := p.Wait(within(t))
				var e *StoppedError
				require.ErrorAs(t, err, &e)
				require.Equal(t, Role("a"), e.Role)
				require.ErrorIs(t, err, errTest)
				require.Equal(t, err, p.Wait(within(t)), "SUP-81 every caller sees the same")
				return
			}
			require.ErrorIs(t, s.find(t, RoleRetired).Cause, errTest)
			_, err := p.Submit(context.Background(), 2)
			require.ErrorIs(t, err, ErrNoWorkers)
			require.Equal(t, "retired", p.Stats().Roles[0].Phase)
			require.NoError(t, p.Shutdown(within(t)))
		})
	}
	t.Run("SUP-77 queued jobs are returned when nobody is left", func(t *testing.T) {
		release := make(chan struct{})
		cfg := plain(1, handler(func(context.Context, assignment) error {
			<-release
			return errTest
		}))
		cfg.Recovery, cfg.Backlog = Temporary(RetireRole), 3
		p, _ := start(t, cfg)
		first, second := submit(t, p, 1), submit(t, p, 2)
		close(release)
		require.Equal(t, WorkerStopped, returned(t, first).Reason)
		e := returned(t, second)
		require.Equal(t, NoWorkers, e.Reason)
		require.Equal(t, Queued, e.Stage)
		require.Empty(t, e.Role)
	})
	t.Run("SUP-64 attempts are bounded", func(t *testing.T) {
		cfg := plain(1, handler(func(context.Context, assignment) error { return errTest }))
		cfg.Interruption, cfg.MaxAttempts = Retry, 3
		p, _ := start(t, cfg)
		e := returned(t, submit(t, p, 1))
		require.Equal(t, AttemptsExhausted, e.Reason)
		require.Equal(t, 3, e.Attempts)
	})
	t.Run("SUP-69 a spent budget names its numbers", func(t *testing.T) {
		cfg := plain(1, handler(func(context.Context, assignment) error { return errTest }))
		cfg.Interruption = Retry
		cfg.Recovery = Permanent(Budget{2, testwait.Bound}, Immediate(), RetireRole)
		p, s := start(t, cfg)
		e := returned(t, submit(t, p, 1))
		require.Equal(t, NoWorkers, e.Reason)
		require.Equal(t, Queued, e.Stage)
		require.Equal(t, Role("a"), e.Role, "SUP-78 it may have run")
		require.Equal(t, 3, e.Attempts)
		var spent *BudgetError
		require.ErrorAs(t, s.find(t, RecoveryFailed).Cause, &spent)
		require.Equal(t, BudgetError{"supervised", 2, 2, testwait.Bound}, *spent)
		require.NotEmpty(t, spent.Error())
	})
}
