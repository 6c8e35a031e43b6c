package supervised

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/internal/testwait"
)

// tape is what the shell fed to the fold, and what that answered.
type tape struct {
	events   []event[int, int]
	verdicts []fold.Verdict
	actions  [][]action[int, int]
}

// erratic is a worker that ends in some way now and then.
func erratic(seed uint64) worker {
	rnd := rand.New(rand.NewPCG(seed, 109))
	return handler(func(_ context.Context, a assignment) error {
		switch rnd.IntN(24) {
		case 0:
			return errTest
		case 1:
			panic(errTest)
		case 2:
			runtime.Goexit()
		case 3:
			return nil // not completed
		case 4:
			_ = a.Complete(1)
			return errTest
		}
		return a.Complete(10 * a.Job())
	})
}

// stress runs a pool under load from many sides, and stops it under way.
func stress(t *testing.T, seed uint64) (rules fold.Config, workers []worker, played *tape) {
	played = &tape{}
	var births atomic.Uint64
	cfg := plain(3, nil)
	cfg.Backlog, cfg.Interruption, cfg.MaxAttempts = 8, Interruption(1+seed%2), int(seed%2)*5
	cfg.Recovery = Transient(Budget{60, time.Minute}, Immediate(), RetireRole)
	if seed%3 == 0 {
		cfg.Recovery = Permanent(Budget{1000, time.Minute}, Constant(time.Microsecond), StopPool)
	}
	cfg.OnDiagnostic = func(Diagnostic) {}
	var made []worker
	cfg.Factory = func(context.Context, Role) (worker, error) {
		n := births.Add(1)
		w := erratic(seed<<32 + n)
		if n%4 == 0 {
			w = &visited{at: func(string) {}}
		}
		if n <= 3 {
			made = append(made, w)
		}
		return w, nil
	}
	cfg, err := cfg.withDefaults()
	require.NoError(t, err)
	var core *coreOfInts
	p, err := newPool(t.Context(), cfg, fold.Counters{}, func(c *coreOfInts) {
		core = c
		c.trace = func(ev *event[int, int], v fold.Verdict, out []action[int, int]) {
			played.events = append(played.events, *ev)
			played.verdicts = append(played.verdicts, v)
			played.actions = append(played.actions, append([]action[int, int](nil), out...))
		}
	})
	require.NoError(t, err)
	var all sync.WaitGroup
	var accepted, settled atomic.Int64
	for i := range 4 {
		all.Go(func() {
			for j := range 100 {
				ticket, err := p.Submit(context.Background(), 1000*i+j)
				if err != nil {
					runtime.Gosched()
					continue
				}
				accepted.Add(1)
				ticket.Outcome.OnSettle(func(outcome) { settled.Add(1) })
			}
		})
	}
	if seed%4 == 0 {
		all.Go(func() { p.Stop() })
	}
	all.Wait()
	stop(t, p)
	require.Equal(t, accepted.Load(), settled.Load())
	st := p.Stats()
	require.Equal(t, st.Accepted, st.Settled)
	require.Equal(t, uint64(accepted.Load()), st.Accepted)
	return cfg.rules(core.id), made, played
}

type coreOfInts = core[int, int]

func TestConformance(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprintf("SUP-109 a fresh fold answers the shell's events alike, seed %d", seed), func(t *testing.T) {
			replay(t, seed)
		})
	}
}

// TestStress runs for CADRE_STRESS, a duration; a few rounds if there is none.
func TestStress(t *testing.T) {
	long, _ := time.ParseDuration(os.Getenv("CADRE_STRESS"))
	t.Run("SUP-108 SUP-109 load from many sides, and Stop under way", func(t *testing.T) {
		end := time.Now().Add(long)
		for seed := uint64(100); seed < 104 || time.Now().Before(end); seed++ {
			replay(t, seed)
		}
	})
	t.Run("SUP-108 concurrent Submit and Stop lose nothing", func(t *testing.T) {
		end := time.Now().Add(long)
		for round := 0; round < 20 || time.Now().Before(end); round++ {
			submitAndStop(t)
		}
	})
}

// replay has a fresh fold take the events of a run.
func replay(t *testing.T, seed uint64) {
	t.Helper()
	rules, workers, played := stress(t, seed)
	s, _, bad := fold.New[int, int, *order[int, int]](rules, workers)
	require.Equal(t, fold.None, bad)
	require.NotEmpty(t, played.events)
	for i := range played.events {
		v, out := s.Step(&played.events[i], nil)
		require.Equal(t, played.verdicts[i], v, "event %d", i)
		require.Len(t, out, len(played.actions[i]), "event %d", i)
		for j := range out {
			require.True(t, alike(&played.actions[i][j], &out[j]), "event %d: %+v, %+v", i, played.actions[i][j], out[j])
		}
	}
	require.Equal(t, fold.Stopped, s.Counts().Mode)
}

// submitAndStop stops a pool that is being submitted to.
func submitAndStop(t *testing.T) {
	cfg := plain(2, handler(tenfold))
	cfg.Backlog, cfg.OnDiagnostic = 4, func(Diagnostic) {}
	p, err := New(t.Context(), cfg)
	require.NoError(t, err)
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			for range 20 {
				if ticket, err := p.Submit(context.Background(), i); err == nil {
					<-ticket.Outcome.Done()
				}
			}
		})
	}
	all.Go(func() { _ = p.Shutdown(context.Background()) })
	testwait.Call(t, all.Wait)
	testwait.Done(t, p.Done())
	st := p.Stats()
	require.Equal(t, st.Accepted, st.Settled)
	require.Equal(t, uint64(60), st.Accepted+st.Rejected)
}

// alike compares actions. Workers that are functions cannot be compared.
func alike(a, b *action[int, int]) bool {
	x, y := *a, *b
	x.Worker, y.Worker = nil, nil
	return (a.Worker == nil) == (b.Worker == nil) && reflect.DeepEqual(x, y)
}
