package supervised_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/supervised"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer/timertest"
)

// gate holds whoever passes it until it is opened.
type gate struct{ in, open chan struct{} }

func newGate() gate { return gate{make(chan struct{}), make(chan struct{})} }

func (g gate) pass() { close(g.in); <-g.open }

// stubborn is a worker that ends when it is released, whatever it is asked.
type stubborn struct{ up, release chan struct{} }

func newStubborn() stubborn { return stubborn{make(chan struct{}), make(chan struct{})} }

func (s stubborn) Serve(context.Context, *inbox) error {
	close(s.up)
	<-s.release
	return nil
}

func TestDrainTimer(t *testing.T) {
	// overtaken is a pool whose Stop is held up while it schedules the drain
	// timer, as the reading of the clock for that is.
	overtaken := func(t *testing.T) (p *pool, clock *hooked, n *noted, scheduling gate, stopped, release chan struct{}) {
		n, clock, scheduling = &noted{}, &hooked{Clock: timertest.NewMock()}, newGate()
		w := newStubborn()
		stopped, release = make(chan struct{}), w.release
		cfg := permanent(always(w))
		cfg.Clock, cfg.DrainWithin, cfg.OnDiagnostic = clock, time.Hour, n.take
		p = open(t, cfg)
		testwait.Done(t, w.up)
		once(&clock.onNow, scheduling.pass)
		go func() {
			defer close(stopped)
			p.Stop()
		}()
		testwait.Done(t, scheduling.in)
		return p, clock, n, scheduling, stopped, release
	}
	t.Run("SUP-84 a schedule that is refused since the pool has stopped is no fault", func(t *testing.T) {
		p, _, n, scheduling, stopped, release := overtaken(t)
		close(release)
		require.NoError(t, p.Wait(bounded(t)))
		close(scheduling.open)
		testwait.Done(t, stopped)
		testwait.Done(t, p.Done())
		require.Empty(t, n.faults())
	})
	t.Run("SUP-84 nor is one that is accepted when the pool has stopped", func(t *testing.T) {
		p, clock, n, scheduling, stopped, release := overtaken(t)
		closing := newGate()
		once(&clock.onNow, func() { once(&clock.onNow, closing.pass) }) // the exit's reading, then the timer's end's
		close(release)
		testwait.Done(t, closing.in)
		require.NoError(t, p.Wait(bounded(t)), "it has stopped, and its timer has not")
		close(scheduling.open)
		testwait.Done(t, stopped)
		close(closing.open)
		testwait.Done(t, p.Done())
		require.Empty(t, n.faults())
	})
	t.Run("SUP-82 a restart delay that shutdown finds unsettled is waited for", func(t *testing.T) {
		clock, scheduling, n := &hooked{Clock: timertest.NewMock()}, newGate(), &noted{}
		cfg := permanent(nil)
		cfg.Clock, cfg.Recovery, cfg.OnDiagnostic = clock, restarting(supervised.Constant(time.Second)), n.take
		make2nd := first(failing, obedient)
		calls := 0
		cfg.Factory = func(ctx context.Context, role supervised.Role) (worker, error) {
			if calls++; calls == 2 {
				once(&clock.onNow, scheduling.pass)
			}
			return make2nd(ctx, role)
		}
		p := open(t, cfg)
		testwait.Done(t, scheduling.in)
		p.Stop()
		require.Equal(t, "draining", p.Stats().Mode)
		close(scheduling.open)
		require.NoError(t, p.Wait(bounded(t)))
		testwait.Done(t, p.Done())
		require.Empty(t, n.faults())
	})
	for how, fail := range map[string]func(){
		"panics":       func() { panic("clock") },
		"calls Goexit": runtime.Goexit,
	} {
		t.Run("SUP-85 a clock whose NewTimer "+how+" once does not unbound the drain", func(t *testing.T) {
			w, clock := newStubborn(), &hooked{Clock: wall{}}
			cfg := permanent(always(w))
			cfg.Clock, cfg.DrainWithin, cfg.Logger = clock, 20*time.Millisecond, (&written{}).logger()
			p := open(t, cfg)
			testwait.Done(t, w.up)
			once(&clock.onTimer, fail)
			var forced *supervised.ForcedRetirementError
			require.ErrorAs(t, p.Shutdown(bounded(t)), &forced)
			close(w.release)
		})
		t.Run("SUP-85 a clock that "+how+" when the drain is to be bounded forces it", func(t *testing.T) {
			w := newStubborn()
			clock := &hooked{Clock: timertest.NewMock()}
			cfg := permanent(always(w))
			cfg.Clock, cfg.DrainWithin = clock, time.Hour
			p := open(t, cfg)
			testwait.Done(t, w.up)
			once(&clock.onNow, fail)
			testwait.Call(t, p.Stop) // a Goexit ends who calls the clock
			var forced *supervised.ForcedRetirementError
			require.ErrorAs(t, p.Wait(bounded(t)), &forced)
			close(w.release)
		})
		t.Run("SUP-87 a clock that always "+how+" at the end does not keep Done open", func(t *testing.T) {
			log := &written{}
			clock := &hooked{Clock: timertest.NewMock()}
			cfg := permanent(always(obedient))
			cfg.Clock, cfg.DrainWithin, cfg.Logger = clock, time.Hour, log.logger()
			p := open(t, cfg)
			clock.onNow.Store(&fail)
			testwait.Call(t, p.Stop)
			testwait.Done(t, p.Done())
			require.Contains(t, log.String(), "the clock")
		})
		t.Run("SUP-8 SUP-57 a clock that "+how+" when a worker ends does not hide its exit", func(t *testing.T) {
			w := newStubborn()
			clock := &hooked{Clock: timertest.NewMock()}
			cfg := permanent(always(w))
			cfg.Clock, cfg.Recovery = clock, supervised.Temporary(supervised.RetireRole)
			cfg.Logger = (&written{}).logger()
			p := open(t, cfg)
			testwait.Done(t, w.up)
			once(&clock.onNow, fail)
			close(w.release)
			stands(t, p, 0, "retired")
			require.NoError(t, p.Shutdown(bounded(t)))
		})
	}
}

func TestDelivery(t *testing.T) {
	t.Run("SUP-80 SUP-88 one that a callback held up until the pool had stopped is no late fact", func(t *testing.T) {
		n, handed, callback := &noted{}, make(chan assignment, 2), newGate()
		cfg := permanent(always(handing(handed)))
		cfg.Backlog, cfg.OnDiagnostic = 2, n.take
		p := open(t, cfg)
		first, err := p.Submit(context.Background(), 1)
		require.NoError(t, err)
		second, err := p.Submit(context.Background(), 2)
		require.NoError(t, err)
		first.Outcome.OnSettle(func(settled) { callback.pass() })
		a, completed := testwait.Value(t, handed), make(chan error)
		go func() { completed <- a.Complete(10) }()
		testwait.Done(t, callback.in)
		p.Stop() // returns the second, whose delivery waits behind the callback
		require.NoError(t, p.Wait(bounded(t)))
		testwait.Done(t, second.Outcome.Done())
		testwait.Done(t, p.Done())
		close(callback.open)
		require.NoError(t, testwait.Value(t, completed))
		require.Empty(t, n.faults())
	})
}
