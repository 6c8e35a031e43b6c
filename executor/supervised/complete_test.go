//lint:file-ignore SA1012 nil contexts are part of what is tested

package supervised

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
)

// completion is why a completion was refused.
func completion(t *testing.T, err error) *CompletionError {
	t.Helper()
	var e *CompletionError
	require.ErrorAs(t, err, &e)
	return e
}

func TestComplete(t *testing.T) {
	t.Run("SUP-43 a second use is a duplicate, with its result in a diagnostic", func(t *testing.T) {
		second := make(chan error, 1)
		p, s := start(t, plain(1, handler(func(_ context.Context, a assignment) error {
			if err := a.Complete(1); err != nil {
				return err
			}
			second <- a.Complete(2)
			return nil
		})))
		ticket := submit(t, p, 5)
		require.Equal(t, 1, result(t, ticket))
		e := completion(t, testwait.Value(t, second))
		require.ErrorIs(t, e, ErrDuplicateCompletion)
		require.Equal(t, ticket.ID, e.Job)
		d := s.find(t, DuplicateCompletion)
		require.Equal(t, 2, d.Value)
		require.Equal(t, ticket.ID, d.Job)
		require.Equal(t, Fault, d.Severity)
	})
	t.Run("SUP-43 after shutdown and after the end it is stale", func(t *testing.T) {
		has := make(chan assignment, 1)
		p, s := start(t, plain(1, serveFunc(func(ctx context.Context, in *inbox) error {
			a, err := in.Next(ctx)
			if err != nil {
				return err
			}
			has <- a
			<-ctx.Done()
			<-a.Context().Done()
			return nil
		})))
		ticket := submit(t, p, 5)
		a := testwait.Value(t, has)
		p.Stop()
		require.Equal(t, PoolShutdown, returned(t, ticket).Reason)
		require.ErrorIs(t, a.Complete(7), ErrStaleAssignment)
		require.ErrorIs(t, context.Cause(a.Context()), ErrStaleAssignment)
		testwait.Done(t, p.Done())
		require.ErrorIs(t, a.Complete(8), ErrStaleAssignment)
		require.Equal(t, 2, s.count(StaleCompletion), "the second one was told by the caller itself")
		require.Equal(t, 7, s.find(t, StaleCompletion).Value)
	})
	t.Run("SUP-80 an assignment whose completion is overtaken by a shutdown has ended with it", func(t *testing.T) {
		has := make(chan assignment, 1)
		p, _ := start(t, plain(1, serveFunc(func(ctx context.Context, in *inbox) error {
			a, err := in.Next(ctx)
			if err != nil {
				return nil
			}
			has <- a
			<-ctx.Done()
			return nil
		})))
		ticket := submit(t, p, 5)
		a := testwait.Value(t, has)
		a.a.state.Store(consumed) // as far as Complete gets before the fold is asked
		p.Stop()
		require.Equal(t, PoolShutdown, returned(t, ticket).Reason)
		require.ErrorIs(t, context.Cause(a.Context()), ErrStaleAssignment)
	})
	t.Run("SUP-42 the outcome shows before the next job is delivered, and nothing is kept of the last one", func(t *testing.T) {
		gate := make(chan struct{})
		cfg := plain(1, handler(func(_ context.Context, a assignment) error {
			<-gate
			return a.Complete(10 * a.Job())
		}))
		cfg.Backlog = 1
		p, _ := start(t, cfg)
		in := &p.core.roles[0].inbox
		keeps := func() bool {
			in.mu.Lock()
			defer in.mu.Unlock()
			return in.item != nil || in.taken != nil
		}
		seen := make(chan bool, 2)
		first, second := submit(t, p, 1), submit(t, p, 2)
		for _, ticket := range []*Ticket[int]{first, second} {
			ticket.Outcome.OnSettle(func(outcome) { seen <- keeps() })
		}
		close(gate)
		require.False(t, testwait.Value(t, seen))
		require.False(t, testwait.Value(t, seen))
		require.Equal(t, 20, result(t, second))
		stop(t, p)
		require.Nil(t, p.core.roles[0], "nor of the worker, in the end")
	})
	t.Run("SUP-44 of concurrent calls on copies one gets nil", func(t *testing.T) {
		const calls = 8
		for range 50 {
			has := make(chan assignment, 1)
			p, _ := start(t, plain(1, handler(func(_ context.Context, a assignment) error {
				has <- a
				<-a.Context().Done()
				return nil
			})))
			ticket := submit(t, p, 5)
			a := testwait.Value(t, has)
			errs := make([]error, calls)
			var all sync.WaitGroup
			for i := range calls {
				all.Go(func() { errs[i] = a.Complete(i) })
			}
			all.Wait()
			won := result(t, ticket)
			for i, err := range errs {
				if i == won {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, ErrDuplicateCompletion)
				}
			}
			stop(t, p)
		}
	})
	t.Run("SUP-7 an outcome callback may submit and stop", func(t *testing.T) {
		cfg := plain(1, handler(tenfold))
		cfg.Backlog = 1
		p, _ := start(t, cfg)
		second := make(chan *Ticket[int], 1)
		first := submit(t, p, 1)
		first.Outcome.OnSettle(func(outcome) {
			ticket, _ := p.Submit(context.Background(), 2)
			ticket.Outcome.OnSettle(func(outcome) { p.Stop() })
			second <- ticket
		})
		require.Equal(t, 20, result(t, testwait.Value(t, second)))
		testwait.Done(t, p.Done())
	})
}

func TestNext(t *testing.T) {
	t.Run("SUP-121 Next with a live assignment fails, and ends a handler", func(t *testing.T) {
		errs := make(chan error, 2)
		cfg := plain(1, serveFunc(func(ctx context.Context, in *inbox) error {
			a, err := in.Next(ctx)
			if err != nil {
				return nil
			}
			_, err = in.Next(ctx)
			errs <- err
			return a.Complete(1)
		}))
		p, _ := start(t, cfg)
		submit(t, p, 1)
		require.ErrorIs(t, testwait.Value(t, errs), ErrNotCompleted)

		q, s := start(t, plain(1, handler(func(context.Context, assignment) error { return nil })))
		e := returned(t, submit(t, q, 1))
		require.Equal(t, WorkerStopped, e.Reason)
		require.Equal(t, Assigned, e.Stage)
		require.Equal(t, Role("a"), e.Role)
		require.ErrorIs(t, e, ErrNotCompleted)
		require.ErrorIs(t, s.find(t, AbnormalExit).Cause, ErrNotCompleted)
	})
	t.Run("SUP-35 Next ends with its ctx, and a nil one is a config error", func(t *testing.T) {
		errs := make(chan error, 2)
		start(t, plain(1, serveFunc(func(ctx context.Context, in *inbox) error {
			short, cancel := context.WithCancel(ctx)
			cancel()
			_, err := in.Next(short)
			errs <- err
			_, err = in.Next(nil)
			errs <- err
			<-ctx.Done()
			return nil
		})))
		require.ErrorIs(t, testwait.Value(t, errs), context.Canceled)
		require.ErrorIs(t, testwait.Value(t, errs), ErrConfig)
	})
	t.Run("SUP-58 a worker that is asked to stop finds its inbox closed", func(t *testing.T) {
		errs := make(chan error, 2)
		serving := make(chan struct{})
		p, _ := start(t, plain(1, serveFunc(func(ctx context.Context, in *inbox) error {
			close(serving)
			_, err := in.Next(context.Background())
			errs <- err
			errs <- context.Cause(ctx)
			return nil
		})))
		testwait.Done(t, serving)
		stop(t, p)
		require.ErrorIs(t, testwait.Value(t, errs), ErrInboxClosed)
		require.ErrorIs(t, testwait.Value(t, errs), ErrStopRequested)
	})
	t.Run("SUP-38 labels and diagnostics are the job's, and are cleared", func(t *testing.T) {
		type seen struct {
			label      string
			trace      slog.Value
			ok         bool
			value      any
			done, live error
		}
		type key struct{}
		got := make(chan seen, 1)
		p, _ := start(t, plain(1, serveFunc(func(ctx context.Context, in *inbox) error {
			a, err := in.Next(ctx)
			if err != nil {
				return nil
			}
			var s seen
			s.label = label(a.Context(), "tenant")
			s.trace, s.ok = diagnostics.Value(a.Context(), "trace")
			s.value = a.Context().Value(key{})
			s.live = a.Context().Err()
			if err := a.Complete(1); err != nil {
				return err
			}
			s.done = a.Context().Err()
			got <- s
			_, _ = in.Next(ctx)
			return nil
		})))
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "v"))
		ctx = diagnostics.With(pprof.WithLabels(ctx, pprof.Labels("tenant", "t1")), slog.String("trace", "x"))
		ticket, err := p.Submit(ctx, 1)
		require.NoError(t, err)
		cancel() // the submitter's ctx may end freely
		futuretest.Await(t, ticket.Outcome)
		s := testwait.Value(t, got)
		require.Equal(t, "t1", s.label)
		require.True(t, s.ok)
		require.Equal(t, "x", s.trace.String())
		require.Equal(t, "v", s.value)
		require.NoError(t, s.live)
		require.ErrorIs(t, s.done, context.Canceled)
	})
	t.Run("SUP-37 a clone is what the worker gets", func(t *testing.T) {
		type doc struct{ text string }
		c := Config[*doc, int]{
			Factory: func(context.Context, Role) (Worker[*doc, int], error) {
				return HandlerFunc[*doc, int](func(_ context.Context, a Assignment[*doc, int]) error {
					a.Job().text = "scribbled"
					return errTest
				}), nil
			},
			Roles: []Role{"a"}, Activations: 1, Interruption: Fail, Recovery: Temporary(RetireRole),
			Clone: func(d *doc) *doc { c := *d; return &c },
		}
		p, err := New(t.Context(), c)
		require.NoError(t, err)
		ticket, err := p.Submit(t.Context(), &doc{"mine"})
		require.NoError(t, err)
		testwait.Done(t, ticket.Outcome.Done())
		o, _ := ticket.Outcome.Outcome()
		var e *ReturnedError[*doc]
		require.ErrorAs(t, o.Err, &e)
		require.Equal(t, "mine", e.Job.text)
		p.Stop()
		testwait.Done(t, p.Done())
	})
}

// label reads a pprof label of a context.
func label(ctx context.Context, key string) string {
	v, _ := pprof.Label(ctx, key)
	return v
}
