package fold

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDetain(t *testing.T) {
	rows := []struct {
		phase   Phase
		before  string // facts held when shutdown begins
		actions string
		missing Missing
		settle  []EventKind // in order; the last one ends the pool
	}{
		{Starting, "", "", MissingStart, []EventKind{Started, StopSettled, Exited}},
		{Starting, "", "", MissingStart, []EventKind{StartRejected}},
		{Starting, "", "", MissingStart, []EventKind{Exited, Started}},
		{Starting, "e", "", MissingStart, []EventKind{Started}},
		{Starting, "e", "", MissingStart, []EventKind{StartRejected}},
		{Dispatched, "", "stop", MissingStop | MissingExit | MissingActivation, []EventKind{ActivationBegun, Exited, Activated, StopSettled}},
		{Dispatched, "e", "", MissingActivation, []EventKind{Activated}},
		{Activating, "", "stop", MissingStop | MissingExit | MissingActivation, []EventKind{ActivationFailed, StopSettled, Exited}},
		{Activating, "e", "", MissingActivation, []EventKind{ActivationFailed}},
		{Idle, "", "stop", MissingStop | MissingExit, []EventKind{Exited, StopSettled}},
		{Busy, "", "revoke returnAssigned stop", MissingStop | MissingExit, []EventKind{StopSettled, Exited}},
		{Busy, "c", "revoke returnAssigned stop fault(7)", MissingStop | MissingExit, []EventKind{StopSettled, Exited}},
		{Busy, "e", "revoke returnAssigned stopped", 0, nil},
		{Busy, "ce", "revoke returnAssigned fault(7) stopped", 0, nil},
		{Stopping, "", "", MissingStop | MissingExit, []EventKind{StopSettled, Exited}},
		{Stopping, "e", "notice(1)", MissingStop, []EventKind{StopSettled}},
		{Stopping, "s", "", MissingExit, []EventKind{Exited}},
		{Preparing, "", "cancelPreparation", MissingPreparation, []EventKind{PreparationBegun, PreparationEnded}},
		{Scheduling, "", "discard", MissingTimer, []EventKind{TimerScheduled}},
		{Scheduling, "", "discard", MissingTimer, []EventKind{TimerRejected}},
		{Delayed, "", "cancelTimer discard stopped", 0, nil},
		{Retired, "", "stopped", 0, nil},
	}
	fact := map[rune]EventKind{'e': Exited, 'c': Completed, 's': StopSettled}
	for i, row := range rows {
		t.Run(fmt.Sprintf("SUP-82 row %d, phase %d, held %q", i, row.phase, row.before), func(t *testing.T) {
			r := inPhase(t, row.phase, Permanent)
			for _, f := range row.before {
				ev := r.about(fact[f], 0)
				ev.Exit.Kind = Normal
				r.apply(ev)
			}
			require.Equal(t, row.actions, kinds(r.apply(event{Kind: Shutdown})))
			if row.missing != 0 {
				require.Equal(t, []Unresolved{{0, r.inc(0), row.phase, row.missing}}, r.s.Unresolved())
			}
			var told []event
			for _, kind := range row.settle {
				require.Equal(t, Draining, r.s.mode)
				ev := r.about(kind, 0)
				ev.Exit.Kind, ev.Ending = Normal, Lost
				if kind == PreparationEnded {
					ev.Ending, ev.Worker = Prepared, 500
				}
				r.apply(ev)
				told = append(told, ev)
				for _, again := range told {
					require.Equal(t, LateFact, r.refused(again).Diagnosis, "nothing arrives twice")
				}
			}
			require.Equal(t, Stopped, r.s.mode)
		})
	}
	t.Run("SUP-82 waiting and awaiting roles", func(t *testing.T) {
		r := inPhase(t, Waiting, Permanent)
		require.Equal(t, "stop stop", kinds(r.apply(event{Kind: Shutdown})))
		r = inPhase(t, AwaitingFactory, Permanent)
		require.Equal(t, "cancelPreparation", kinds(r.apply(event{Kind: Shutdown})))
		require.Len(t, r.s.Unresolved(), 1)
	})
	t.Run("SUP-83 an accepted schedule is canceled", func(t *testing.T) {
		r := inPhase(t, Scheduling, Permanent)
		r.apply(event{Kind: Shutdown})
		require.Equal(t, "cancelTimer stopped", kinds(r.apply(r.about(TimerScheduled, 0))))
	})
	t.Run("SUP-83 a delivery settlement for an issued id is a notice", func(t *testing.T) {
		r := inPhase(t, Busy, Permanent)
		ev := r.about(DeliveryAccepted, 0)
		r.apply(event{Kind: Shutdown})
		require.Equal(t, "notice(5)", kinds(r.apply(ev)))
		ev.Assignment++
		require.Equal(t, LateFact, r.refused(ev).Diagnosis)
	})
	t.Run("SUP-83 late readiness does not make a role serve", func(t *testing.T) {
		r := inPhase(t, Activating, Permanent)
		r.apply(event{Kind: Shutdown})
		require.Equal(t, "fault(14)", kinds(r.apply(r.about(Activated, 0))))
		require.Zero(t, r.s.count[Idle])
	})
	t.Run("SUP-86 what arrives in a drain does not move a role's phase", func(t *testing.T) {
		r := inPhase(t, Starting, Permanent)
		r.apply(event{Kind: Shutdown})
		r.apply(r.about(Started, 0))
		require.Equal(t, Starting, r.s.Unresolved()[0].Phase)
		require.Equal(t, MissingStop|MissingExit, r.s.Unresolved()[0].Missing)
		r = inPhase(t, Dispatched, Permanent)
		r.apply(event{Kind: Shutdown})
		begins := r.about(ActivationBegun, 0)
		r.apply(begins)
		require.Equal(t, Dispatched, r.s.Unresolved()[0].Phase)
		require.Equal(t, LateFact, r.refused(begins).Diagnosis, "it begins once")
	})
	t.Run("SUP-83 what is not waited for is refused", func(t *testing.T) {
		r := inPhase(t, Dispatched, Permanent)
		r.apply(event{Kind: Shutdown})
		r.apply(r.about(Activated, 0))
		require.Equal(t, LateFact, r.refused(r.about(ActivationBegun, 0)).Diagnosis, "it is over")
		wrong := r.about(StopSettled, 0)
		wrong.Stop++
		require.Equal(t, LateFact, r.refused(wrong).Diagnosis)
		r = inPhase(t, Preparing, Permanent)
		r.apply(event{Kind: Shutdown})
		require.Equal(t, LateFact, r.refused(r.about(Exited, 0)).Diagnosis, "it has left before")
	})
	t.Run("SUP-83 a recovery that has come to its end does so once", func(t *testing.T) {
		for _, end := range []EventKind{PreparationEnded, TimerScheduled} {
			cfg := restarting(2) // the other role keeps the drain waiting
			cfg.Backoff = Backoff{Kind: Constant, Initial: 1}
			r := ready(t, cfg)
			r.exit(0, Normal, 0)
			if end == TimerScheduled {
				r.prepared(0)
			}
			r.apply(event{Kind: Shutdown})
			ev := r.about(end, 0)
			ev.Ending = Lost
			r.apply(ev)
			require.Len(t, r.s.Unresolved(), 1)
			require.Equal(t, LateFact, r.refused(ev).Diagnosis)
		}
	})
}

func TestShutdownStep(t *testing.T) {
	t.Run("SUP-4 SUP-80 queued jobs in order, then the assigned ones", func(t *testing.T) {
		cfg := basic(2)
		cfg.Backlog, cfg.DrainWithin = 3, time.Second
		r := ready(t, cfg)
		for i := range 5 {
			r.submit(i)
		}
		r.complete(1, 10) // held
		out := r.apply(event{Kind: Shutdown})
		require.Equal(t, "revoke revoke returnQueued returnQueued returnQueued returnAssigned returnAssigned stop stop schedule fault(7)", kinds(out))
		var jobs []int
		for _, a := range out {
			if a.Kind.Outcome() {
				require.Equal(t, PoolShutdown, a.Reason)
				jobs = append(jobs, a.Payload)
			}
		}
		require.Equal(t, []int{2, 3, 4, 0, 1}, jobs)
		require.Equal(t, 10, only(out, Fault)[0].Result)
		for _, a := range only(out, RequestStop) {
			require.Equal(t, ErrPoolShutdown, a.Cause)
		}
		require.Equal(t, time.Second, only(out, Schedule)[0].Delay)
	})
	t.Run("SUP-81 later requests change nothing", func(t *testing.T) {
		r := ready(t, basic(1))
		r.apply(event{Kind: Shutdown})
		before := r.s.clone()
		require.Empty(t, r.apply(event{Kind: Shutdown}))
		require.Equal(t, before, r.s)
	})
	t.Run("SUP-88 a role stands nowhere once the pool has stopped", func(t *testing.T) {
		r := ready(t, basic(1))
		where := func(role int) string { return fmt.Sprint(r.s.Role(role)) }
		require.Equal(t, fmt.Sprint(Idle, 1), where(0))
		require.Equal(t, "0 0", where(1))
		r.apply(event{Kind: Shutdown})
		r.apply(r.about(StopSettled, 0))
		require.Equal(t, fmt.Sprint(Idle, 1), where(0))
		r.exit(0, Normal, 0)
		require.Equal(t, "0 0", where(0))
	})
	t.Run("SUP-84 nothing to wait for means stopped in that step, and no timer", func(t *testing.T) {
		cfg := basic(1)
		cfg.DrainWithin = time.Second
		r := ready(t, cfg)
		r.exit(0, Normal, 0)
		require.Equal(t, "stopped", kinds(r.apply(event{Kind: Shutdown})))
	})
	t.Run("SUP-76 a loss that stops the pool is the cause, and asks live workers only", func(t *testing.T) {
		cfg := basic(3)
		cfg.OnLoss = StopPool
		r := ready(t, cfg)
		for i := range 2 {
			r.submit(i)
		}
		r.exit(1, Normal, 0) // held for want of a delivery
		out := r.exit(2, Failed, 0)
		require.Len(t, only(out, RequestStop), 1)
		r.apply(r.about(StopSettled, 0))
		last := r.exit(0, Normal, 0)
		require.Equal(t, 2, last[len(last)-1].Role)
		require.ErrorIs(t, last[len(last)-1].Cause, errTest)
	})
}

func TestForced(t *testing.T) {
	drainFor := func(t *testing.T, roles int) *rig {
		cfg := restarting(roles)
		cfg.DrainWithin = time.Second
		return ready(t, cfg)
	}
	t.Run("SUP-85 at once when the schedule is rejected", func(t *testing.T) {
		r := drainFor(t, 1)
		r.apply(event{Kind: Shutdown})
		out := r.apply(event{Kind: TimerRejected, Role: None, Timer: DrainTimer, Cause: errTest})
		require.Equal(t, "forced", kinds(out))
		require.ErrorIs(t, out[0].Cause, errTest)
	})
	t.Run("SUP-85 when no stop request can be issued, jobs first", func(t *testing.T) {
		cfg := basic(2)
		cfg.First.Stop, cfg.DrainWithin = math.MaxUint64, time.Second
		r := ready(t, cfg)
		r.submit(1)
		out := r.apply(event{Kind: Shutdown})
		require.Equal(t, "revoke returnAssigned stop forced", kinds(out))
		require.ErrorIs(t, out[3].Cause, errStopIDs)
		require.Len(t, r.s.Unresolved(), 2)
	})
	t.Run("SUP-85 when a late start finds none", func(t *testing.T) {
		cfg := basic(1)
		cfg.First.Stop = math.MaxUint64
		r := open(t, cfg)
		r.s.stops.issue()
		r.apply(event{Kind: Shutdown})
		require.Equal(t, "forced", kinds(r.apply(r.about(Started, 0))))
	})
	t.Run("SUP-90 when a quarantine finds none, the pool shuts down", func(t *testing.T) {
		cfg := restarting(1)
		cfg.First.Stop = math.MaxUint64
		r := ready(t, cfg)
		r.s.stops.issue()
		r.submit(1)
		out := r.apply(r.about(DeliveryRejected, 0))
		require.Equal(t, "revoke returnQueued forced", kinds(out))
		require.Equal(t, Forced, r.s.mode)
	})
	t.Run("SUP-86 the list is what has not arrived, in declaration order", func(t *testing.T) {
		r := drainFor(t, 3)
		r.apply(event{Kind: Shutdown})
		r.apply(event{Kind: TimerScheduled, Role: None, Timer: DrainTimer})
		r.apply(r.about(StopSettled, 2))
		r.apply(r.about(StopSettled, 1))
		r.exit(1, Normal, 0)
		require.Equal(t, "forced", kinds(r.apply(event{Kind: TimerFired, Role: None, Timer: DrainTimer})))
		want := []Unresolved{{0, 1, Idle, MissingStop | MissingExit}, {2, 3, Idle, MissingExit}}
		require.Equal(t, want, r.s.Unresolved())
		require.Equal(t, LateFact, r.refused(r.about(Exited, 0)).Diagnosis)
		require.Equal(t, want, r.s.Unresolved())
	})
	t.Run("SUP-85 the loss that began the drain is kept beside the cause", func(t *testing.T) {
		cfg := basic(2)
		cfg.OnLoss, cfg.DrainWithin = StopPool, time.Second
		r := ready(t, cfg)
		r.exit(0, Failed, 0)
		out := r.apply(event{Kind: TimerRejected, Role: None, Timer: DrainTimer})
		require.ErrorIs(t, out[0].Cause, errTest)
		require.ErrorIs(t, out[0].Cause, errDrainTimer)
	})
}

func TestShutdownOvertakesRestart(t *testing.T) {
	for name, backoff := range map[string]Backoff{"start": {Kind: Immediate}, "schedule": {Kind: Constant, Initial: 5}} {
		t.Run("I-8 a "+name+" of the step that begins the shutdown is withdrawn", func(t *testing.T) {
			cfg := restarting(2)
			cfg.OnLoss, cfg.Backoff, cfg.First.Prep = StopPool, backoff, math.MaxUint64
			r := ready(t, cfg)
			r.exit(0, Normal, 0)
			r.exit(1, Normal, 0)
			// Role 0 restarts, and then there is no ticket left for role 1.
			require.Equal(t, "discard notice(2) fault(11) stopped", kinds(r.prepared(0)))
		})
	}
}
