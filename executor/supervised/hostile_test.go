package supervised

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer/timertest"
)

// quiet keeps what the pool logs out of the test's output, and gives it.
func quiet(cfg *config) *syncBuffer {
	b := &syncBuffer{}
	cfg.Logger = slog.New(slog.NewTextHandler(b, nil))
	return b
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestHostile(t *testing.T) {
	hostile := map[string]func(){
		"panics":         func() { panic(errTest) },
		"calls Goexit":   func() { runtime.Goexit() },
		"panics for nil": func() { panic(nil) }, //nolint:govet // the point
	}
	for how, act := range hostile {
		t.Run("SUP-97 a sink that "+how, func(t *testing.T) {
			var calls atomic.Int64
			cfg := plain(1, handler(func(context.Context, assignment) error { return errTest }))
			quiet(&cfg)
			cfg.OnDiagnostic = func(Diagnostic) { calls.Add(1); act() }
			p, _ := start(t, cfg)
			for range 3 {
				for { // until a worker has come back
					ticket, err := p.Submit(context.Background(), 1)
					if err == nil {
						require.Equal(t, WorkerStopped, returned(t, ticket).Reason)
						break
					}
					runtime.Gosched()
				}
			}
			stop(t, p)
			require.GreaterOrEqual(t, calls.Load(), int64(6))
			require.Equal(t, uint64(calls.Load()), p.Stats().DiagnosticPanics)
		})
		t.Run("SUP-59 a Discard that "+how, func(t *testing.T) {
			var discards atomic.Int64
			cfg := plain(1, nil)
			quiet(&cfg)
			var wrong atomic.Int64
			cfg.Factory = func(context.Context, Role) (worker, error) {
				return &unfit{errTest, func(cause error) {
					var spent *BudgetError
					if !errors.Is(cause, errTest) && !errors.As(cause, &spent) {
						wrong.Add(1)
					}
					discards.Add(1)
					act()
				}}, nil
			}
			cfg.Recovery = Permanent(Budget{2, time.Hour}, Immediate(), RetireRole)
			p, s := start(t, cfg)
			s.find(t, RecoveryFailed)
			stop(t, p)
			require.Equal(t, int64(4), discards.Load(), "three that were not activated, and the one the budget had no place for")
			require.Zero(t, wrong.Load(), "each is told why")
		})
		t.Run("SUP-67 a factory that "+how, func(t *testing.T) {
			var calls atomic.Int64
			cfg := plain(1, nil)
			cfg.Factory = func(context.Context, Role) (worker, error) {
				if calls.Add(1) > 1 {
					act()
				}
				return serveFunc(func(context.Context, *inbox) error { return nil }), nil
			}
			p, s := start(t, cfg)
			d := s.find(t, RecoveryFailed)
			if how == "calls Goexit" {
				require.ErrorIs(t, d.Cause, future.ErrGoexit)
			} else {
				var e *future.PanicError
				require.ErrorAs(t, d.Cause, &e)
			}
			require.NoError(t, p.Shutdown(within(t)))
			require.Equal(t, int64(2), calls.Load())
		})
		t.Run("SUP-37 a clone that "+how+" is the worker's doing", func(t *testing.T) {
			cfg := plain(1, handler(tenfold))
			var calls atomic.Int64
			cfg.Clone = func(job int) int {
				if calls.Add(1) == 1 {
					act()
				}
				return job
			}
			cfg.Interruption, cfg.Backlog = Retry, 1
			p, s := start(t, cfg)
			require.Equal(t, 50, result(t, submit(t, p, 5)))
			s.find(t, AbnormalExit)
		})
		t.Run("SUP-51 a Launch that "+how, func(t *testing.T) {
			cfg := plain(2, handler(tenfold))
			launched := 0
			cfg.Launch = func(fn func()) error {
				if launched++; launched == 2 {
					act()
				}
				go fn()
				return nil
			}
			sink := newSink()
			cfg.OnDiagnostic = sink.take
			var p *pool
			testwait.Call(t, func() { // a Goexit ends New's caller, as anywhere
				p, _ = New(context.Background(), cfg)
			})
			if how == "calls Goexit" {
				require.Nil(t, p)
				return
			}
			sink.find(t, StartRejected)
			require.Equal(t, "retired", p.Stats().Roles[1].Phase)
			require.Equal(t, 10, result(t, submit(t, p, 1)))
			stop(t, p)
		})
		t.Run("FUT-4 a callback of a completed job that "+how, func(t *testing.T) {
			cfg := plain(1, handler(tenfold))
			cfg.Backlog = 2
			log := quiet(&cfg)
			gate := make(chan struct{})
			cfg.Factory = making(handler(func(ctx context.Context, a assignment) error {
				<-gate
				return a.Complete(10 * a.Job())
			}))
			p, _ := start(t, cfg)
			first, second := submit(t, p, 1), submit(t, p, 2)
			first.Outcome.OnSettle(func(outcome) { act() })
			close(gate)
			require.Equal(t, 10, result(t, first))
			require.Equal(t, 20, result(t, second))
			stop(t, p)
			require.Contains(t, log.String(), "a callback")
		})
		t.Run("SUP-7 a callback of a returned job that "+how, func(t *testing.T) {
			h := newHeld()
			cfg := plain(1, h)
			cfg.Backlog = 2
			log := quiet(&cfg)
			p, _ := start(t, cfg)
			first, second := submit(t, p, 1), submit(t, p, 2)
			told := make(chan struct{})
			first.Outcome.OnSettle(func(outcome) { act() })
			second.Outcome.OnSettle(func(outcome) { act() })
			second.Outcome.OnSettle(func(outcome) { close(told) })
			p.Stop()
			testwait.Done(t, told)
			stop(t, p)
			require.Contains(t, log.String(), "a callback")
		})
	}
	t.Run("SUP-51 a Launch that says no", func(t *testing.T) {
		cfg := plain(1, &discarding{handler(tenfold), func(cause error) { require.ErrorIs(t, cause, errTest) }})
		cfg.Launch = func(func()) error { return errTest }
		cfg.Recovery = Temporary(StopPool)
		p, s := start(t, cfg)
		var e *StoppedError
		require.ErrorAs(t, p.Wait(within(t)), &e)
		d := s.find(t, StartRejected)
		require.ErrorIs(t, d.Cause, errTest)
		require.NotNil(t, d.Value)
	})
	t.Run("SUP-52 a Launch that says no and does, and does it twice", func(t *testing.T) {
		for _, err := range []error{nil, errTest} {
			var serves atomic.Int64
			serving, second := make(chan struct{}), make(chan struct{})
			cfg := plain(1, serveFunc(func(ctx context.Context, in *inbox) error {
				if serves.Add(1) == 1 {
					close(serving)
				}
				return handler(tenfold).Serve(ctx, in)
			}))
			cfg.Launch = func(fn func()) error {
				go fn()
				testwait.Done(t, serving)
				go func() {
					defer close(second)
					fn()
				}()
				testwait.Done(t, second) // it returns at once, as the worker runs
				return err
			}
			p, _ := start(t, cfg)
			require.Equal(t, 10, result(t, submit(t, p, 1)))
			stop(t, p)
			require.Equal(t, int64(1), serves.Load())
		}
	})
	t.Run("SUP-97 SUP-98 without a sink it is logged under the job's context", func(t *testing.T) {
		cfg := plain(1, handler(func(context.Context, assignment) error { panic("boom") }))
		cfg.Interruption, cfg.MaxAttempts = Retry, 1
		b := &syncBuffer{}
		cfg.Logger = slog.New(diagnostics.NewHandler(slog.NewTextHandler(b, nil)))
		p, err := New(t.Context(), cfg)
		require.NoError(t, err)
		ctx := diagnostics.With(context.Background(), slog.String("trace", "t77"))
		ticket, err := p.Submit(ctx, 1)
		require.NoError(t, err)
		require.Equal(t, AttemptsExhausted, returned(t, ticket).Reason)
		ticket, _ = p.Submit(ctx, 2)
		if ticket != nil {
			ticket.Outcome.Cancel(nil)
			testwait.Done(t, ticket.Outcome.Done())
		}
		stop(t, p)
		require.Contains(t, b.String(), `level=INFO msg="supervised: abnormal exit"`)
		require.Regexp(t, `abnormal exit.* role=a incarnation=1 job=1 `, b.String())
		require.NotContains(t, b.String(), "job=0", "what is about no job names none")
		require.Contains(t, b.String(), "hostile_test.go", "SUP-98 the stack")
		require.Contains(t, b.String(), "role=a")
		require.Regexp(t, `abnormal exit.*trace=t77|trace=t77.*abnormal exit`, b.String())
	})
}

// unfit is a worker that cannot be activated.
type unfit struct {
	err     error
	discard func(cause error)
}

func (u *unfit) Activate(context.Context) error      { return u.err }
func (u *unfit) Serve(context.Context, *inbox) error { return errors.New("served") }
func (u *unfit) Discard(cause error)                 { u.discard(cause) }

func TestLaunchLate(t *testing.T) {
	t.Run("SUP-86 a worker that starts after a forced end is asked to stop", func(t *testing.T) {
		mock := timertest.NewMock()
		entered, release := make(chan struct{}), make(chan struct{})
		var calls atomic.Int64
		cfg := plain(1, nil)
		cfg.Clock, cfg.DrainWithin = mock, time.Second
		cfg.Factory = func(context.Context, Role) (worker, error) {
			if calls.Load() == 1 {
				return handler(tenfold), nil
			}
			return serveFunc(func(context.Context, *inbox) error { return nil }), nil
		}
		cfg.Launch = func(fn func()) error {
			if calls.Add(1) == 2 {
				close(entered)
				<-release
			}
			go fn()
			return nil
		}
		p, _ := start(t, cfg)
		testwait.Done(t, entered)
		p.Stop()
		mock.Add(time.Second)
		var e *ForcedRetirementError
		require.ErrorAs(t, p.Wait(within(t)), &e)
		require.Equal(t, []Unresolved{{"a", 2, "starting", []string{"start"}}}, e.Unresolved)
		close(release)
		testwait.Done(t, p.Done())
	})
}
