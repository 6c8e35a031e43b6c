package supervised_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/supervised"
	"github.com/cadre-go/cadre/internal/testwait"
)

// ways are the ways for foreign code not to return.
var ways = map[string]func(){
	"panics":       func() { panic("foreign") },
	"calls Goexit": runtime.Goexit,
}

// hostileError cannot be asked about itself.
type hostileError struct{ act func() }

func (hostileError) Error() string   { return "hostile" }
func (e hostileError) Is(error) bool { e.act(); return false }
func (e hostileError) As(any) bool   { e.act(); return false }
func (e hostileError) Unwrap() error { e.act(); return nil }

// nilError is an error of a type that panics for nil.
type nilError struct{ inner error }

func (e *nilError) Error() string { return "typed nil" }
func (e *nilError) Unwrap() error { return e.inner }

// hostileContext cannot be asked for a value, from some time on.
type hostileContext struct {
	context.Context
	act *atomic.Pointer[func()]
}

func (c hostileContext) Value(key any) any {
	if act := c.act.Load(); act != nil {
		(*act)()
	}
	return c.Context.Value(key)
}

func TestForeign(t *testing.T) {
	for how, act := range ways {
		t.Run("SUP-98 an error that "+how+" when it is asked does not hide the exit", func(t *testing.T) {
			log := exitRecord(t, hostileError{act})
			require.Contains(t, log, "hostile")
			require.NotContains(t, log, "OnDiagnostic panicked")
		})
		t.Run("SUP-67 a factory's error that "+how+" when it is asked is an error", func(t *testing.T) {
			n := &noted{}
			var calls atomic.Int64
			cfg := permanent(func(context.Context, supervised.Role) (worker, error) {
				if calls.Add(1) > 1 {
					return nil, hostileError{act}
				}
				return failing, nil
			})
			cfg.OnDiagnostic = n.take
			p := open(t, cfg)
			stands(t, p, 0, "retired")
			require.NoError(t, p.Shutdown(bounded(t)))
			testwait.Done(t, p.Done())
			require.ErrorContains(t, n.cause(supervised.RecoveryFailed), "hostile")
		})
		t.Run("SUP-7 a submitter's context that "+how+" does not hide the outcome", func(t *testing.T) {
			p := open(t, permanent(always(obedient)))
			ctx := hostileContext{context.Background(), new(atomic.Pointer[func()])}
			ticket, err := p.Submit(ctx, 1)
			require.NoError(t, err)
			told := make(chan struct{})
			ticket.Outcome.OnSettle(func(settled) { close(told) })
			ctx.act.Store(&act)
			p.Stop()
			testwait.Done(t, told)
		})
		t.Run("SUP-11 a Discard that "+how+" after a factory's Goexit does not keep others from it", func(t *testing.T) {
			var discards, calls atomic.Int64
			cfg := permanent(func(context.Context, supervised.Role) (worker, error) {
				if calls.Add(1) == 3 {
					runtime.Goexit()
				}
				return discarded{func() { discards.Add(1); act() }}, nil
			})
			cfg.Roles = []supervised.Role{"a", "b", "c"}
			cfg.Logger = (&written{}).logger()
			testwait.Call(t, func() { _, _ = supervised.New(context.Background(), cfg) })
			require.Equal(t, int64(2), discards.Load())
		})
	}
	t.Run("SUP-38 a submitter's context that panics costs the worker the labels alone", func(t *testing.T) {
		serving, took := make(chan struct{}), make(chan struct{})
		p := open(t, permanent(always(serve(func(ctx context.Context, in *inbox) error {
			<-serving
			a, err := in.Next(ctx)
			if err != nil {
				return nil
			}
			defer close(took)
			return a.Complete(10 * a.Job())
		}))))
		ctx := hostileContext{context.Background(), new(atomic.Pointer[func()])}
		ticket, err := p.Submit(ctx, 1)
		require.NoError(t, err)
		act := ways["panics"]
		ctx.act.Store(&act)
		close(serving)
		testwait.Done(t, took)
		o, ok := ticket.Outcome.Outcome()
		require.True(t, ok)
		require.Equal(t, 10, o.Value.Result)
	})
	t.Run("SUP-98 a typed nil does not hide the exit", func(t *testing.T) {
		require.Contains(t, exitRecord(t, (*nilError)(nil)), "typed nil")
	})
}

// exitRecord is what the log says of a worker that ended with err.
func exitRecord(t *testing.T, err error) string {
	t.Helper()
	log := &written{}
	cfg := permanent(always(serve(func(context.Context, *inbox) error { return err })))
	cfg.Recovery = supervised.Temporary(supervised.RetireRole)
	cfg.OnDiagnostic, cfg.Logger = nil, slog.New(slog.NewTextHandler(log, nil))
	p := open(t, cfg)
	stands(t, p, 0, "retired")
	require.NoError(t, p.Shutdown(bounded(t)))
	testwait.Done(t, p.Done())
	require.Contains(t, log.String(), `kind="abnormal exit"`)
	return log.String()
}

// discarded is a worker that is only ever discarded.
type discarded struct{ act func() }

func (discarded) Serve(context.Context, *inbox) error { return nil }
func (d discarded) Discard(error)                     { d.act() }
