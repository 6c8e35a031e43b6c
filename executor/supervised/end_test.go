package supervised_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/supervised"
	"github.com/cadre-go/cadre/internal/testwait"
)

// ended is a pool that has ended, and an assignment of it that can be completed
// late.
func ended(t *testing.T, onDiagnostic func(supervised.Diagnostic)) (*pool, assignment) {
	t.Helper()
	has := make(chan assignment, 1)
	cfg := permanent(always(handing(has)))
	cfg.OnDiagnostic = onDiagnostic
	p := open(t, cfg)
	give(t, p, 1)
	a := testwait.Value(t, has)
	p.Stop()
	testwait.Done(t, p.Done())
	return p, a
}

func TestAfterTheEnd(t *testing.T) {
	t.Run("SUP-97 who comes late finds the sink called one at a time, and waits for it", func(t *testing.T) {
		const late = 8
		var inside, most atomic.Int64
		calls := 0 // the race detector sees calls that overlap
		_, a := ended(t, func(supervised.Diagnostic) {
			calls++
			most.Store(max(most.Load(), inside.Add(1)))
			for range 100 {
				runtime.Gosched()
			}
			inside.Add(-1)
		})
		var all sync.WaitGroup
		for i := range late {
			all.Go(func() { _ = a.Complete(i) })
		}
		testwait.Call(t, all.Wait)
		require.Equal(t, late, calls, "a carrier has come back when the first of them has")
		require.Equal(t, int64(1), most.Load())
	})
	t.Run("SUP-97 a late caller does not run the sink, and none is ended by it", func(t *testing.T) {
		p, a := ended(t, func(supervised.Diagnostic) { runtime.Goexit() })
		var err error
		testwait.Call(t, func() { err = a.Complete(1) })
		require.ErrorIs(t, err, supervised.ErrStaleAssignment)
		require.Equal(t, uint64(1), p.Stats().DiagnosticPanics)
	})
	t.Run("SUP-97 the sink itself may come late", func(t *testing.T) {
		var a assignment
		var errs []error
		_, a = ended(t, func(supervised.Diagnostic) {
			if len(errs) < 2 {
				errs = append(errs, a.Complete(len(errs)))
			}
		})
		testwait.Call(t, func() { _ = a.Complete(1) })
		require.Len(t, errs, 2)
		for _, err := range errs {
			require.ErrorIs(t, err, supervised.ErrStaleAssignment)
		}
	})
	t.Run("SUP-84 the restarts of a pool that has stopped are still told", func(t *testing.T) {
		p := open(t, permanent(first(failing, obedient)))
		testwait.Until(t, func() bool { return p.Stats().Roles[0].Incarnation == 2 })
		require.NoError(t, p.Shutdown(bounded(t)))
		require.Equal(t, supervised.RoleStats{Role: "a", Phase: "stopped", Restarts: 1}, p.Stats().Roles[0])
	})
	t.Run("EXEC-18 a pool that has stopped by itself may be dropped", func(t *testing.T) {
		log := &written{}
		probe := stoppedAndDropped(t, log)
		testwait.Until(t, func() bool { runtime.GC(); return probe.Load() })
		for range 100 { // the pool's own cleanup came before the probe's, if on another goroutine
			runtime.Gosched()
		}
		require.NotContains(t, log.String(), "WARN")
	})
}

// stoppedAndDropped returns what becomes true when the pool has been collected.
//
//go:noinline
func stoppedAndDropped(t *testing.T, log *written) *atomic.Bool {
	cfg := permanent(always(failing))
	cfg.Recovery = supervised.Temporary(supervised.StopPool)
	cfg.Logger = log.logger()
	p, err := supervised.New(context.Background(), cfg)
	require.NoError(t, err)
	var stopped *supervised.StoppedError
	require.ErrorAs(t, p.Wait(bounded(t)), &stopped)
	testwait.Done(t, p.Done())
	collected := new(atomic.Bool)
	runtime.AddCleanup(p, func(b *atomic.Bool) { b.Store(true) }, collected)
	return collected
}

func TestVerdictWins(t *testing.T) {
	t.Run("SUP-81_a_pool_that_has_stopped_wins_over_a_ctx_that_has_ended", func(t *testing.T) {
		for range 50 {
			p := open(t, permanent(always(obedient)))
			ctx, cancel := context.WithCancel(context.Background())
			waited := make(chan error, 1)
			go func() { waited <- p.Wait(ctx) }()
			require.NoError(t, p.Shutdown(bounded(t)))
			cancel()
			require.NoError(t, testwait.Value(t, waited))
		}
	})
}
