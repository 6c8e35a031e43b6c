//lint:file-ignore SA1012 nil contexts are part of what is tested

package supervised

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/internal/testwait"
)

func TestInside(t *testing.T) {
	type answers struct{ shutdown, wait, close error }
	// end calls everything that waits, on one of the pool's own goroutines.
	end := func(t *testing.T, p **pool, got chan answers) {
		ctx := within(t)
		var o answers
		o.shutdown = (*p).Shutdown(ctx)
		o.close = (*p).Close()
		o.wait = (*p).Wait(ctx)
		got <- o
	}
	t.Run("SUP-89 EXEC-16 in a worker, two at once", func(t *testing.T) {
		var p *pool
		got := make(chan answers, 2)
		ready := make(chan struct{}, 2)
		open := make(chan struct{})
		p, _ = start(t, plain(3, handler(func(context.Context, assignment) error {
			ready <- struct{}{}
			<-open
			end(t, &p, got)
			return nil
		})))
		first, second := submit(t, p, 1), submit(t, p, 2)
		testwait.Value(t, ready)
		testwait.Value(t, ready)
		close(open)
		for range 2 {
			require.Equal(t, answers{}, testwait.Value(t, got))
		}
		require.Equal(t, PoolShutdown, returned(t, first).Reason)
		require.Equal(t, PoolShutdown, returned(t, second).Reason)
		testwait.Done(t, p.Done())
	})
	t.Run("SUP-89 EXEC-16 in a factory, an Activate, a Discard, a callback and the sink", func(t *testing.T) {
		for _, where := range []string{"factory", "activate", "discard", "callback", "returned", "sink"} {
			var p *pool
			made := make(chan struct{})
			got := make(chan answers, 1)
			calls := 0
			at := func(here string) {
				if here == where && calls == 0 {
					calls++
					<-made
					end(t, &p, got)
				}
			}
			cfg := plain(2, nil)
			cfg.Backlog = 1
			cfg.OnDiagnostic = func(Diagnostic) { at("sink") }
			births := 0
			cfg.Factory = func(context.Context, Role) (worker, error) {
				if births++; births > 2 {
					at("factory")
				}
				return &visited{at: at, failing: where == "factory" || where == "sink" || where == "discard" && births == 1}, nil
			}
			q, err := New(t.Context(), cfg)
			require.NoError(t, err)
			p = q
			switch where {
			case "callback":
				gate := make(chan struct{})
				p.core.roles[0].worker.(*visited).gate = gate
				ticket := submit(t, p, 1)
				ticket.Outcome.OnSettle(func(outcome) { at("callback") })
				close(gate)
			case "returned":
				gate := make(chan struct{})
				p.core.roles[0].worker.(*visited).gate = gate
				ticket := submit(t, p, 1)
				ticket.Outcome.OnSettle(func(outcome) { at("returned") })
				p.Stop()
				close(gate)
			}
			close(made)
			require.Equal(t, answers{}, testwait.Value(t, got), where)
			p.Stop()
			testwait.Done(t, p.Done())
		}
	})
	t.Run("SUP-12 a nil ctx is a config error", func(t *testing.T) {
		p, _ := start(t, plain(1, handler(tenfold)))
		require.ErrorIs(t, p.Wait(nil), ErrConfig)
		require.ErrorIs(t, p.Shutdown(nil), ErrConfig)
		require.Equal(t, "serving", p.Stats().Mode)
	})
	t.Run("EXEC-18 a pool that was dropped is shut down", func(t *testing.T) {
		done, log := dropped(t)
		testwait.Until(t, func() bool {
			runtime.GC()
			select {
			case <-done:
				return true
			default:
				return false
			}
		})
		testwait.Until(t, func() bool { return len(log.String()) > 0 })
		require.Contains(t, log.String(), "unreachable")
	})
}

//go:noinline
func dropped(t *testing.T) (<-chan struct{}, *syncBuffer) {
	cfg := plain(1, handler(tenfold))
	log := quiet(&cfg)
	p, err := New(context.Background(), cfg)
	require.NoError(t, err)
	return p.Done(), log
}

// visited is a worker that lets a test in wherever foreign code runs.
type visited struct {
	at      func(where string)
	failing bool
	gate    chan struct{}
}

func (v *visited) Activate(context.Context) error {
	v.at("activate")
	if v.failing {
		return errTest
	}
	return nil
}

func (v *visited) Serve(ctx context.Context, in *inbox) error {
	return handler(func(_ context.Context, a assignment) error {
		if v.gate != nil {
			<-v.gate
		}
		_ = a.Complete(1) // or it was returned meanwhile
		return nil
	}).Serve(ctx, in)
}

func (v *visited) Discard(error) { v.at("discard") }
