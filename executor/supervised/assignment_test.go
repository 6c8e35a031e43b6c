package supervised_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/supervised"
	"github.com/cadre-go/cadre/internal/testwait"
)

func TestAssignmentEnds(t *testing.T) {
	t.Run("SUP-42 a completed assignment has ended when its outcome shows", func(t *testing.T) {
		has, seen := make(chan assignment, 1), make(chan error, 1)
		p := open(t, permanent(always(handing(has))))
		ticket := give(t, p, 1)
		a := testwait.Value(t, has)
		ticket.Outcome.OnSettle(func(settled) { seen <- a.Context().Err() })
		require.NoError(t, a.Complete(1))
		require.ErrorIs(t, testwait.Value(t, seen), context.Canceled)
	})
	t.Run("SUP-42 whatever the outcome's callbacks do", func(t *testing.T) {
		has := make(chan assignment, 1)
		cfg := permanent(always(handing(has)))
		cfg.Logger = (&written{}).logger()
		p := open(t, cfg)
		ticket := give(t, p, 1)
		a := testwait.Value(t, has)
		ticket.Outcome.OnSettle(func(settled) { runtime.Goexit() })
		testwait.Call(t, func() { _ = a.Complete(1) })
		testwait.Done(t, a.Context().Done())
		require.ErrorIs(t, context.Cause(a.Context()), supervised.ErrStaleAssignment)
		give(t, p, 2)
		require.NoError(t, testwait.Value(t, has).Complete(2), "and the worker takes the next one")
	})
	t.Run("SUP-80 a returned assignment has ended when its outcome shows", func(t *testing.T) {
		has, seen := make(chan assignment, 1), make(chan error, 1)
		p := open(t, permanent(always(handing(has))))
		ticket := give(t, p, 1)
		a := testwait.Value(t, has)
		ticket.Outcome.OnSettle(func(settled) { seen <- a.Context().Err() })
		p.Stop()
		require.ErrorIs(t, testwait.Value(t, seen), context.Canceled)
	})
}

func TestNextClearsLabels(t *testing.T) {
	next := map[string]func(ctx context.Context, in *inbox) error{
		"it is closed": func(ctx context.Context, in *inbox) error {
			<-ctx.Done()
			_, err := in.Next(ctx)
			return err
		},
		"its context has ended": func(ctx context.Context, in *inbox) error {
			short, cancel := context.WithCancel(ctx)
			cancel()
			_, err := in.Next(short)
			return err
		},
	}
	for why, fails := range next {
		t.Run("SUP-38 a Next that fails as "+why+" clears the labels", func(t *testing.T) {
			completed, failed, seen := make(chan struct{}), make(chan error), make(chan struct{})
			p := open(t, permanent(always(serve(func(ctx context.Context, in *inbox) error {
				a, err := in.Next(ctx)
				if err != nil {
					return nil
				}
				_ = a.Complete(1)
				close(completed)
				failed <- fails(ctx, in)
				<-seen
				return obedient(ctx, in)
			}))))
			pprof.Do(context.Background(), pprof.Labels("job", "seven"), func(ctx context.Context) {
				_, err := p.Submit(ctx, 7)
				require.NoError(t, err)
			})
			testwait.Done(t, completed)
			if why == "it is closed" {
				p.Stop()
			}
			require.Error(t, testwait.Value(t, failed))
			require.NotContains(t, labelsOfAll(t), `"job":"seven"`)
			close(seen)
		})
	}
}

// labelsOfAll is the goroutine profile.
func labelsOfAll(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&b, 1))
	return b.String()
}

func TestHandlerAtShutdown(t *testing.T) {
	running := func(t *testing.T, handle func(ctx context.Context, a assignment) error) *noted {
		n, has := &noted{}, make(chan struct{})
		cfg := permanent(always(supervised.HandlerFunc[int, int](func(ctx context.Context, a assignment) error {
			close(has)
			<-ctx.Done()
			return handle(ctx, a)
		})))
		cfg.OnDiagnostic = n.take
		p := open(t, cfg)
		give(t, p, 1)
		testwait.Done(t, has)
		require.NoError(t, p.Shutdown(bounded(t)))
		testwait.Done(t, p.Done())
		return n
	}
	t.Run("SUP-57 a handler that completes too late has not failed", func(t *testing.T) {
		n := running(t, func(_ context.Context, a assignment) error { return a.Complete(1) })
		require.NoError(t, n.cause(supervised.AbnormalExit))
		require.Len(t, n.faults(), 1)
		require.True(t, strings.HasPrefix(n.faults()[0], "stale completion"))
	})
	t.Run("SUP-57 one that looks before says nothing at all", func(t *testing.T) {
		n := running(t, func(ctx context.Context, a assignment) error {
			if ctx.Err() != nil {
				return nil
			}
			return a.Complete(1)
		})
		require.NoError(t, n.cause(supervised.AbnormalExit))
		require.Empty(t, n.faults())
	})
	t.Run("SUP-57 a completion that is refused for another reason is a failure", func(t *testing.T) {
		var earlier assignment
		calls := 0 // of one incarnation after another
		p := open(t, permanent(always(supervised.HandlerFunc[int, int](func(_ context.Context, a assignment) error {
			switch calls++; calls {
			case 1:
				earlier = a
				return errTest
			case 2:
				return earlier.Complete(1) // stale, and nobody has asked the worker to stop
			}
			_ = a.Complete(1)
			return a.Complete(2)
		}))))
		var err error
		cause := func() error {
			var ticket *supervised.Ticket[int]
			testwait.Until(t, func() bool { // the next incarnation is there
				ticket, err = p.Submit(context.Background(), 1)
				return err == nil
			})
			testwait.Done(t, ticket.Outcome.Done())
			o, _ := ticket.Outcome.Outcome()
			return o.Err
		}
		require.ErrorIs(t, cause(), errTest)
		require.ErrorIs(t, cause(), supervised.ErrStaleAssignment)
		require.NoError(t, cause())
		testwait.Until(t, func() bool { return p.Stats().Roles[0].Restarts == 3 })
	})
	t.Run("SUP-57 a second completion is one, also at shutdown", func(t *testing.T) {
		n, stopped := &noted{}, make(chan struct{})
		cfg := permanent(always(supervised.HandlerFunc[int, int](func(_ context.Context, a assignment) error {
			_ = a.Complete(1)
			<-stopped
			return a.Complete(2)
		})))
		cfg.OnDiagnostic = n.take
		p := open(t, cfg)
		testwait.Done(t, give(t, p, 1).Outcome.Done())
		p.Stop()
		close(stopped)
		testwait.Done(t, p.Done())
		require.ErrorIs(t, n.cause(supervised.AbnormalExit), supervised.ErrDuplicateCompletion)
	})
	t.Run("SUP-57 another error at that time is one", func(t *testing.T) {
		n := running(t, func(_ context.Context, a assignment) error { return errors.Join(a.Complete(1), errTest) })
		require.ErrorIs(t, n.cause(supervised.AbnormalExit), errTest)
	})
}
