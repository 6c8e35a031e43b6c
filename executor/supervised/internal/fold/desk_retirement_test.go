package fold

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"
)

// retirementDesk plays one order of facts after shutdown, and returns where
// fold and oracle part, if they do.
func retirementDesk(t *testing.T, facts []string, oracle *watchman) string {
	cfg := basic(1)
	cfg.DrainWithin = time.Second
	r := ready(t, cfg)
	require.Equal(t, "stop schedule", kinds(r.apply(event{Kind: Shutdown})))
	stop := r.about(StopSettled, 0)
	for i, fact := range facts {
		var ev event
		switch fact {
		case "left":
			ev = event{Kind: Exited, Incarnation: 1, Exit: Exit{Kind: Normal}}
		case "told":
			ev = stop
		default:
			kind := map[string]EventKind{"clock set": TimerScheduled, "clock broken": TimerRejected, "ring": TimerFired}[fact]
			ev = event{Kind: kind, Role: None, Timer: DrainTimer}
		}
		_, out := r.step(ev)
		got := round{
			complaint: len(only(out, Fault)) == 1,
			clockOff:  len(only(out, CancelTimer)) == 1,
		}
		switch {
		case len(only(out, RetireStopped)) == 1:
			got.verdict = "locked"
		case len(only(out, RetireForced)) == 1:
			got.verdict = "gave up"
		}
		want := oracle.hear(fact)
		actions := 0
		for _, happened := range []bool{want.complaint, want.verdict != "", want.clockOff} {
			if happened {
				actions++
			}
		}
		if got != want || len(out) != actions {
			return fmt.Sprintf("%s: after %d: got %+v, want %+v (%s)", strings.Join(facts, ", "), i+1, got, want, kinds(out))
		}
	}
	return ""
}

func TestRetirementDesk(t *testing.T) {
	broken := orders("left", "told", "clock broken")
	set := orders("left", "told", "clock set", "ring")
	t.Run("SUP-102 all 6 orders with a rejected schedule", func(t *testing.T) {
		require.Len(t, broken, 6)
		for _, facts := range broken {
			require.Empty(t, retirementDesk(t, facts, &watchman{}))
		}
	})
	t.Run("SUP-102 all 24 orders with an accepted one", func(t *testing.T) {
		require.Len(t, set, 24)
		early := 0
		for _, facts := range set {
			require.Empty(t, retirementDesk(t, facts, &watchman{}))
			if retirementDesk(t, facts, &watchman{trustsEarlyRing: true}) != "" {
				early++
			}
		}
		t.Run("SUP-74 an oracle that accepts the early fire fails", func(t *testing.T) {
			// Twelve orders ring early; in two of those the pool had ended.
			require.Equal(t, 10, early)
		})
	})
	t.Run("SUP-84 a stopped pool lets go of its values, a forced one holds them", func(t *testing.T) {
		for _, forced := range []bool{false, true} {
			s, held := retired(t, forced)
			runtime.GC()
			runtime.GC()
			for name, p := range held {
				if forced && name == "worker" {
					require.NotNil(t, p.Value(), "a forced pool has let go of its %s", name)
				} else {
					require.Nil(t, p.Value(), "forced %v: the %s is held", forced, name)
				}
			}
			runtime.KeepAlive(s)
		}
	})
}

// retired returns a pool that has ended, and what it was given. It is a
// function of its own so that nothing of that stays on a stack.
//
//go:noinline
func retired(t *testing.T, forced bool) (*State[*[32]int, *[32]int, *[32]int, *[32]int], map[string]weak.Pointer[[32]int]) {
	type value = *[32]int
	job, result, customer, worker := new([32]int), new([32]int), new([32]int), new([32]int)
	held := map[string]weak.Pointer[[32]int]{
		"job": weak.Make(job), "result": weak.Make(result), "customer": weak.Make(customer), "worker": weak.Make(worker),
	}
	s, _, _ := New[value, value, value](Config{
		Pool: 1, Roles: 1, Backlog: 1, Activations: 1, Interruption: Fail, Policy: Temporary, OnLoss: RetireRole,
		DrainWithin: time.Second,
	}, []value{worker})
	step := func(ev Event[value, value, value, value]) {
		v, _ := s.Step(&ev, nil)
		require.Equal(t, Applied, v)
	}
	step(Event[value, value, value, value]{Kind: Started, Incarnation: 1})
	step(Event[value, value, value, value]{Kind: Submit, Job: job, Customer: customer})
	step(Event[value, value, value, value]{Kind: Submit, Job: job, Customer: customer})
	step(Event[value, value, value, value]{Kind: Completed, Pool: 1, Incarnation: 1, Assignment: 1, Result: result})
	step(Event[value, value, value, value]{Kind: Shutdown})
	step(Event[value, value, value, value]{Kind: TimerScheduled, Role: None})
	if forced {
		step(Event[value, value, value, value]{Kind: TimerFired, Role: None})
		require.Equal(t, Forced, s.mode)
	} else {
		step(Event[value, value, value, value]{Kind: StopSettled, Incarnation: 1, Stop: 1})
		step(Event[value, value, value, value]{Kind: Exited, Incarnation: 1, Exit: Exit{Kind: Normal}})
		require.Equal(t, Stopped, s.mode)
	}
	return s, held
}
