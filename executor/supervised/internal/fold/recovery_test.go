package fold

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEligibility(t *testing.T) {
	for _, policy := range []Policy{Permanent, Transient, Temporary} {
		for _, kind := range []ExitKind{Normal, Failed, Panicked, Goexited} {
			t.Run(fmt.Sprintf("SUP-65 policy %d, exit %d", policy, kind), func(t *testing.T) {
				cfg := restarting(1)
				cfg.Policy = policy
				r := ready(t, cfg)
				r.exit(0, kind, 0)
				if policy == Permanent || policy == Transient && kind != Normal {
					require.Equal(t, Preparing, r.phase(0))
				} else {
					require.Equal(t, Retired, r.phase(0))
				}
				r.refused(r.about(Exited, 0))
			})
		}
	}
	t.Run("SUP-57 an exit that the pool asked for is abnormal", func(t *testing.T) {
		cfg := restarting(1)
		cfg.Policy = Transient
		r := ready(t, cfg)
		r.submit(1)
		r.apply(r.about(DeliveryRejected, 0))
		r.apply(r.about(StopSettled, 0))
		out := r.exit(0, Normal, 0)
		require.Equal(t, "prepare notice(1)", kinds(out))
		require.ErrorIs(t, out[1].Cause, ErrDeliveryRejected)
	})
}

func TestBudget(t *testing.T) {
	budget := func(most int, backoff Backoff) *rig {
		cfg := restarting(3)
		cfg.Budget = Budget{Max: most, Window: 10}
		cfg.Backoff = backoff
		return ready(t, cfg)
	}
	now := Backoff{Kind: Immediate}
	again := func(r *rig, role int, at time.Duration) bool {
		r.exit(role, Normal, at)
		r.prepared(role)
		if r.phase(role) == Retired {
			return false
		}
		r.apply(r.about(Started, role))
		return true
	}
	t.Run("SUP-69 a charge counts at the end of its window and not a tick later", func(t *testing.T) {
		for at, ok := range map[time.Duration]bool{15: false, 16: true} {
			r := budget(1, now)
			require.True(t, again(r, 0, 5))
			require.Equal(t, ok, again(r, 1, at))
			require.Len(t, r.s.charges, 1)
		}
	})
	t.Run("SUP-69 a denial names the numbers and charges nothing", func(t *testing.T) {
		r := budget(2, now)
		require.True(t, again(r, 0, 1))
		require.True(t, again(r, 0, 2))
		r.exit(0, Failed, 3)
		out := r.prepared(0)
		require.Equal(t, "discard notice(3) fault(11)", kinds(out))
		var denied *BudgetError
		require.ErrorAs(t, out[2].Cause, &denied)
		require.Equal(t, BudgetError{2, 2, 10}, *denied)
		require.ErrorIs(t, out[2].Exit.Cause, errTest)
		require.Equal(t, r.worker, out[2].Worker)
		require.Equal(t, charges{1, 2}, r.s.charges)
		require.True(t, again(r, 1, 12), "the charge at 1 has left the window")
		require.False(t, again(r, 2, 12))
	})
	t.Run("SUP-13 a maximum of 0 denies every restart", func(t *testing.T) {
		r := budget(0, now)
		require.False(t, again(r, 0, 5))
		require.Empty(t, r.s.charges)
	})
	t.Run("SUP-68 SUP-66 roles served out of exit order are charged at the newest instant", func(t *testing.T) {
		r := budget(9, now)
		r.exit(2, Normal, 1)
		r.exit(1, Normal, 2)
		r.exit(0, Normal, 3)
		r.prepared(2) // the factory was engaged for it first
		require.Equal(t, Preparing, r.phase(0), "SUP-66 declaration order, not exit order")
		r.prepared(0)
		r.prepared(1)
		require.Equal(t, charges{1, 3, 3}, r.s.charges)
	})
	t.Run("SUP-70 a role's ordinal counts its own admitted recoveries", func(t *testing.T) {
		r := budget(9, Backoff{Kind: Linear, Initial: 2, Max: 100})
		for i := range 3 {
			r.exit(0, Normal, 0)
			require.Equal(t, time.Duration(2*(i+1)), only(r.prepared(0), Schedule)[0].Delay)
			r.apply(r.about(TimerScheduled, 0))
			require.Equal(t, "start", kinds(r.apply(r.about(TimerFired, 0))))
			r.apply(r.about(Started, 0))
		}
		r.exit(1, Normal, 0)
		require.Equal(t, time.Duration(2), only(r.prepared(1), Schedule)[0].Delay)
		require.Equal(t, from[uint64](4), r.s.members[0].recovery)
	})
}

func TestBackoff(t *testing.T) {
	const last = math.MaxUint64
	rows := []struct {
		name    string
		backoff Backoff
		ordinal uint64
		want    time.Duration
	}{
		{"immediate", Backoff{Kind: Immediate}, 1, 0},
		{"immediate at the last ordinal", Backoff{Kind: Immediate}, last, 0},
		{"constant", Backoff{Constant, 7, 0}, 1, 7},
		{"constant at the last ordinal", Backoff{Constant, 7, 0}, last, 7},
		{"linear", Backoff{Linear, 7, 30}, 1, 7},
		{"linear below the cap", Backoff{Linear, 7, 30}, 4, 28},
		{"linear over the cap", Backoff{Linear, 7, 30}, 5, 30},
		{"linear at the cap", Backoff{Linear, 7, 28}, 4, 28},
		{"linear at the last ordinal", Backoff{Linear, 7, math.MaxInt64}, last, math.MaxInt64},
		{"linear that would overflow", Backoff{Linear, math.MaxInt64 - 1, math.MaxInt64}, 2, math.MaxInt64},
		{"exponential", Backoff{Exponential, 7, 60}, 1, 7},
		{"exponential below the cap", Backoff{Exponential, 7, 60}, 4, 56},
		{"exponential over the cap", Backoff{Exponential, 7, 60}, 5, 60},
		{"exponential at the cap", Backoff{Exponential, 7, 56}, 4, 56},
		{"exponential one below", Backoff{Exponential, 7, 55}, 4, 55},
		{"exponential at the last shift", Backoff{Exponential, 1, math.MaxInt64}, 63, 1 << 62},
		{"exponential past it", Backoff{Exponential, 1, math.MaxInt64}, 64, math.MaxInt64},
		{"exponential at the last ordinal", Backoff{Exponential, 1, math.MaxInt64}, last, math.MaxInt64},
	}
	for _, row := range rows {
		t.Run("SUP-70 "+row.name, func(t *testing.T) {
			require.Equal(t, row.want, row.backoff.Delay(row.ordinal))
		})
	}
	t.Run("SUP-12 the total is the sum of the delays", func(t *testing.T) {
		for _, b := range []Backoff{{Kind: Immediate}, {Constant, 7, 0}, {Linear, 7, 30}, {Linear, 7, 28}, {Exponential, 7, 60}, {Exponential, 7, 56}} {
			sum := time.Duration(0)
			for n := range uint64(12) {
				require.Equal(t, sum, b.Total(n), "%+v, %d", b, n)
				sum += b.Delay(n + 1)
			}
		}
		for _, b := range []Backoff{{Constant, 7, 0}, {Linear, 7, math.MaxInt64}, {Linear, 1, math.MaxInt64}, {Exponential, 1, math.MaxInt64}} {
			require.Equal(t, time.Duration(math.MaxInt64), b.Total(last))
			require.Equal(t, time.Duration(math.MaxInt64), b.Total(last-1))
		}
	})
}

func TestLosses(t *testing.T) {
	t.Run("SUP-77 the queue of a pool without workers is returned, and it stays open", func(t *testing.T) {
		cfg := basic(1)
		cfg.Backlog, cfg.Interruption = 2, Retry
		r := ready(t, cfg)
		for i := range 3 {
			r.submit(i)
		}
		r.deliver(0)
		out := r.exit(0, Failed, 0)
		returned := only(out, ReturnQueued)
		require.Len(t, returned, 3)
		for i, a := range returned {
			require.Equal(t, i, a.Payload)
			require.Equal(t, NoWorkers, a.Reason)
		}
		t.Run("SUP-78 with the last role, if there was one", func(t *testing.T) {
			require.Equal(t, 0, returned[0].Role)
			require.Equal(t, None, returned[1].Role)
		})
		require.Equal(t, Unserved, r.rejection(9))
		require.Equal(t, "stopped", kinds(r.apply(event{Kind: Shutdown})))
	})
	t.Run("SUP-71 a rejected schedule is a loss, and the charge stays", func(t *testing.T) {
		r := inPhase(t, Scheduling, Permanent)
		ev := r.about(TimerRejected, 0)
		ev.Cause = errTest
		require.Equal(t, "discard notice(3) fault(11)", kinds(r.apply(ev)))
		require.Len(t, r.s.charges, 1)
	})
	t.Run("SUP-51 a rejected start is a loss without a charge", func(t *testing.T) {
		r := open(t, restarting(1))
		ev := r.about(StartRejected, 0)
		ev.Cause = errTest
		require.Equal(t, "discard notice(3) fault(12)", kinds(r.apply(ev)))
		require.Empty(t, r.s.charges)
		require.Equal(t, Retired, r.phase(0))
	})
	t.Run("SUP-73 the factory serves the next role first", func(t *testing.T) {
		cfg := restarting(2)
		cfg.Backlog = 1
		r := ready(t, cfg)
		r.exit(0, Normal, 0)
		r.exit(1, Normal, 0)
		r.submit(1)
		r.apply(r.about(PreparationBegun, 0))
		ev := r.about(PreparationEnded, 0)
		ev.Ending, ev.Cause = WorkerRejected, errors.New("no")
		require.Equal(t, "prepare notice(3) fault(11)", kinds(r.apply(ev)))
	})
	t.Run("SUP-74 a refused preparation gives its worker back", func(t *testing.T) {
		for _, mode := range []Mode{Serving, Draining} {
			r := inPhase(t, Preparing, Permanent)
			if mode == Draining {
				r.apply(event{Kind: Shutdown})
			}
			for ending := Prepared; ending <= NotAttempted; ending++ {
				ev := r.about(PreparationEnded, 0)
				ev.Prep++
				ev.Ending, ev.Worker = ending, 500
				want := action{Carries: CarriesNothing}
				if ending == Prepared {
					want = action{Carries: CarriesWorker, Worker: 500}
				}
				got := r.refused(ev)
				require.Equal(t, want, action{Carries: got.Carries, Worker: got.Worker})
			}
		}
	})
	t.Run("SUP-74 timers match by identity and phase", func(t *testing.T) {
		r := inPhase(t, Scheduling, Permanent)
		r.refused(r.about(TimerFired, 0)) // early
		wrong := r.about(TimerScheduled, 0)
		wrong.Timer++
		r.refused(wrong)
		r.refused(event{Kind: TimerScheduled, Role: None, Timer: DrainTimer})
		r.apply(r.about(TimerScheduled, 0))
		r.refused(r.about(TimerScheduled, 0))
		r.refused(r.about(TimerRejected, 0))
		wrong = r.about(TimerFired, 0)
		r.apply(wrong)
		r.refused(wrong)
	})
}

func TestOneFaultForEachFailure(t *testing.T) {
	ending := func(e Ending) func(r *rig) []action {
		return func(r *rig) []action {
			if e != NotAttempted {
				r.apply(r.about(PreparationBegun, 0))
			}
			ev := r.about(PreparationEnded, 0)
			ev.Ending, ev.Cause = e, errTest
			return r.apply(ev)
		}
	}
	rows := []struct {
		name   string
		tune   func(*Config)
		fail   func(r *rig) []action
		worker bool
	}{
		{"rejected worker", nil, ending(WorkerRejected), false},
		{"rejected factory", nil, ending(FactoryRejected), false},
		{"lost preparation", nil, ending(Lost), false},
		{"preparation not attempted", nil, ending(NotAttempted), false},
		{"spent budget", func(c *Config) { c.Budget.Max = 0 }, func(r *rig) []action { return r.prepared(0) }, true},
		{"no incarnation", func(c *Config) { c.First.Incarnation = math.MaxUint64 }, func(r *rig) []action { return r.prepared(0) }, true},
		{"rejected schedule", func(c *Config) { c.Backoff = Backoff{Kind: Constant, Initial: 1} }, func(r *rig) []action {
			r.prepared(0)
			ev := r.about(TimerRejected, 0)
			ev.Cause = errTest
			return r.apply(ev)
		}, true},
	}
	for _, row := range rows {
		t.Run("SUP-72 "+row.name, func(t *testing.T) {
			cfg := restarting(1)
			if row.tune != nil {
				row.tune(&cfg)
			}
			r := ready(t, cfg)
			r.exit(0, Failed, 0)
			out := row.fail(r)
			faults := only(out, Fault)
			require.Len(t, faults, 1)
			require.Equal(t, RecoveryFault, faults[0].Diagnosis)
			require.Equal(t, 0, faults[0].Role)
			require.Equal(t, Exit{Failed, errTest}, faults[0].Exit)
			require.Error(t, faults[0].Cause)
			require.Equal(t, row.worker, faults[0].Carries == CarriesWorker)
			require.Equal(t, row.worker, len(only(out, Discard)) == 1)
			require.Equal(t, Retired, r.phase(0))
			require.Empty(t, only(out, Start))
		})
	}
}
