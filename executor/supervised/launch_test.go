package supervised_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/supervised"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer/timertest"
)

// launching calls fn before the n-th worker is launched.
func launching(n int64, fn func()) func(func()) error {
	var calls atomic.Int64
	return func(run func()) error {
		if calls.Add(1) == n {
			fn()
		}
		go run()
		return nil
	}
}

func TestLaunch(t *testing.T) {
	t.Run("SUP-85 a Launch that blocks in a delayed restart does not unbound the drain", func(t *testing.T) {
		entered, gate := make(chan struct{}), make(chan struct{})
		mock := timertest.NewMock()
		cfg := permanent(first(failing, obedient))
		cfg.Clock, cfg.DrainWithin, cfg.Recovery = mock, time.Second, restarting(supervised.Constant(time.Second))
		cfg.Launch = launching(2, func() { close(entered); <-gate })
		p := open(t, cfg)
		stands(t, p, 0, "delayed")
		mock.Add(time.Second)
		testwait.Done(t, entered)
		p.Stop()
		mock.Add(time.Second)
		var forced *supervised.ForcedRetirementError
		require.ErrorAs(t, p.Wait(bounded(t)), &forced)
		require.Equal(t, []string{"start"}, forced.Unresolved[0].Missing)
		close(gate)
	})
	t.Run("SUP-71 nor does it keep another role's delayed restart", func(t *testing.T) {
		entered, gate, back := make(chan struct{}), make(chan struct{}), make(chan struct{})
		die := make(chan struct{})
		mock := timertest.NewMock()
		born := map[supervised.Role]int{} // of the factory, which is never called concurrently
		cfg := permanent(func(_ context.Context, role supervised.Role) (worker, error) {
			born[role]++
			switch {
			case born[role] == 1 && role == "a":
				return failing, nil
			case born[role] == 1:
				return serve(func(context.Context, *inbox) error { <-die; return errTest }), nil
			case role == "b":
				return serve(func(ctx context.Context, in *inbox) error { close(back); return obedient(ctx, in) }), nil
			}
			return obedient, nil
		})
		cfg.Roles = []supervised.Role{"a", "b"}
		cfg.Clock, cfg.Recovery = mock, restarting(supervised.Constant(time.Second))
		cfg.Launch = launching(3, func() { close(entered); <-gate })
		p := open(t, cfg)
		stands(t, p, 0, "delayed")
		mock.Add(time.Second)
		testwait.Done(t, entered)
		close(die)
		stands(t, p, 1, "delayed")
		mock.Add(time.Second)
		testwait.Done(t, back)
		close(gate)
	})
	t.Run("SUP-89 Wait in Launch waits neither for itself nor for the worker", func(t *testing.T) {
		var p atomic.Pointer[pool]
		made, got := make(chan struct{}), make(chan error, 1)
		ctx := bounded(t)
		cfg := permanent(first(failing, obedient))
		cfg.Launch = launching(2, func() {
			<-made
			p.Load().Stop()
			got <- p.Load().Wait(ctx)
		})
		q := open(t, cfg)
		p.Store(q)
		close(made)
		require.NoError(t, testwait.Value(t, got))
		require.NoError(t, q.Wait(ctx))
	})
	t.Run("SUP-89 nor does a worker that runs on the launching goroutine", func(t *testing.T) {
		var p atomic.Pointer[pool]
		made, got := make(chan struct{}), make(chan error, 1)
		ctx := bounded(t)
		cfg := permanent(first(failing, serve(func(context.Context, *inbox) error {
			<-made
			p.Load().Stop()
			got <- p.Load().Wait(ctx)
			return nil
		})))
		var calls atomic.Int64
		cfg.Launch = func(run func()) error {
			if calls.Add(1) == 1 {
				go run()
			} else {
				run()
			}
			return nil
		}
		q := open(t, cfg)
		p.Store(q)
		close(made)
		require.NoError(t, testwait.Value(t, got))
		require.NoError(t, q.Wait(ctx))
	})
	t.Run("SUP-87 a worker that begins after its Launch has returned is waited for", func(t *testing.T) {
		late := make(chan func(), 1)
		cfg := permanent(first(failing, obedient))
		var calls atomic.Int64
		cfg.Launch = func(run func()) error {
			if calls.Add(1) == 1 {
				go run()
			} else {
				late <- run
			}
			return nil
		}
		p := open(t, cfg)
		run := testwait.Value(t, late)
		p.Stop()
		select {
		case <-p.Done():
			t.Error("done without the worker")
		default:
		}
		testwait.Call(t, run)
		require.NoError(t, p.Wait(bounded(t)))
		testwait.Done(t, p.Done())
	})
	t.Run("SUP-86 the phase is where the role stood when shutdown began", func(t *testing.T) {
		entered, gate, lingers := make(chan struct{}), make(chan struct{}), make(chan struct{})
		mock := timertest.NewMock()
		cfg := permanent(first(failing, lingering{lingers}))
		cfg.Clock, cfg.DrainWithin = mock, time.Second
		cfg.Launch = launching(2, func() { close(entered); <-gate })
		p := open(t, cfg)
		testwait.Done(t, entered)
		p.Stop()
		require.Equal(t, "starting", p.Stats().Roles[0].Phase)
		close(gate)
		testwait.Done(t, lingers) // it was started, and asked to stop
		mock.Add(time.Second)
		var forced *supervised.ForcedRetirementError
		require.ErrorAs(t, p.Wait(bounded(t)), &forced)
		require.Equal(t, "starting", forced.Unresolved[0].Phase)
		require.Equal(t, []string{"exit"}, forced.Unresolved[0].Missing)
		require.Equal(t, "starting", p.Stats().Roles[0].Phase)
		lingers <- struct{}{}
	})
}

// lingering is a worker that is slow to end, or to be discarded if it was asked
// to stop before it could serve.
type lingering struct{ at chan struct{} }

func (l lingering) Serve(ctx context.Context, _ *inbox) error {
	<-ctx.Done()
	l.Discard(nil)
	return nil
}

func (l lingering) Discard(error) {
	l.at <- struct{}{}
	<-l.at
}
