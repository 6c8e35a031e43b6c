package fold

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExhaustion(t *testing.T) {
	// recovering brings role 0 to a preparation, with one counter at its end.
	recovering := func(t *testing.T, first Counters, backoff Backoff) *rig {
		cfg := restarting(1)
		cfg.First, cfg.Backoff = first, backoff
		r := ready(t, cfg)
		r.exit(0, Normal, 0)
		return r
	}
	now, later := Backoff{Kind: Immediate}, Backoff{Kind: Constant, Initial: 5}
	cause := func(t *testing.T, out []action) error {
		faults := only(out, Fault)
		require.Len(t, faults, 1)
		require.Equal(t, RecoveryFault, faults[0].Diagnosis)
		return faults[0].Cause
	}
	t.Run("SUP-90 incarnation, immediate: no charge", func(t *testing.T) {
		r := recovering(t, Counters{Incarnation: math.MaxUint64}, now)
		require.ErrorIs(t, cause(t, r.prepared(0)), errIncarnationIDs)
		require.Empty(t, r.s.charges)
	})
	t.Run("SUP-90 incarnation, delayed: found at the fire, and the charge stays", func(t *testing.T) {
		r := recovering(t, Counters{Incarnation: math.MaxUint64}, later)
		r.prepared(0)
		r.apply(r.about(TimerScheduled, 0))
		require.ErrorIs(t, cause(t, r.apply(r.about(TimerFired, 0))), errIncarnationIDs)
		require.Len(t, r.s.charges, 1)
	})
	t.Run("SUP-90 the last incarnation is issued", func(t *testing.T) {
		r := recovering(t, Counters{Incarnation: math.MaxUint64 - 1}, now)
		require.Len(t, only(r.prepared(0), Start), 1)
		require.Equal(t, Incarnation(math.MaxUint64), r.inc(0))
	})
	t.Run("SUP-90 restart timer", func(t *testing.T) {
		r := recovering(t, Counters{Timer: math.MaxUint64}, later)
		require.Len(t, only(r.prepared(0), Schedule), 1)
		r.apply(r.about(TimerScheduled, 0))
		r.apply(r.about(TimerFired, 0))
		r.apply(r.about(Started, 0))
		r.exit(0, Normal, 0)
		require.ErrorIs(t, cause(t, r.prepared(0)), errTimerIDs)
		require.Len(t, r.s.charges, 1)
	})
	t.Run("SUP-90 recovery ordinal", func(t *testing.T) {
		r := recovering(t, Counters{Recovery: math.MaxUint64}, now)
		r.restart(0)
		r.exit(0, Normal, 0)
		require.ErrorIs(t, cause(t, r.prepared(0)), errRecoveryIDs)
		require.Len(t, r.s.charges, 1)
	})
	t.Run("SUP-90 preparation ticket", func(t *testing.T) {
		for _, onLoss := range []OnLoss{RetireRole, StopPool} {
			cfg := restarting(2)
			cfg.First.Prep, cfg.OnLoss = math.MaxUint64, onLoss
			r := ready(t, cfg)
			r.exit(0, Normal, 0)
			r.restart(0)
			require.ErrorIs(t, cause(t, r.exit(1, Normal, 0)), errPrepIDs)
			require.Equal(t, Retired, r.phase(1))
			require.Equal(t, onLoss == StopPool, r.s.mode == Draining)
		}
	})
	t.Run("SUP-33 assignments, in fill", func(t *testing.T) {
		cfg := basic(2)
		cfg.Backlog, cfg.First.Assignment = 2, math.MaxUint64-1
		r := ready(t, cfg)
		for i := range 4 {
			r.submit(i)
		}
		r.apply(r.about(DeliveryRejected, 1)) // job 1 goes back to the front
		r.deliver(0)
		out := r.complete(0, 0)
		require.Equal(t, "complete returnAssigned returnQueued returnQueued", kinds(out))
		require.Equal(t, RetryRejected, out[1].Reason)
		require.Equal(t, 1, out[1].Role)
		require.Equal(t, AssignmentIDsExhausted, out[2].Reason)
		require.Equal(t, None, out[2].Role)
	})
	t.Run("SUP-11 the first role without an incarnation is named", func(t *testing.T) {
		cfg := basic(3)
		cfg.First.Incarnation = math.MaxUint64 - 1
		s, _, bad := New[int, int, int](cfg, []int{1, 2, 3})
		require.Nil(t, s)
		require.Equal(t, 2, bad)
	})
	t.Run("SUP-90 a counter issues its last value once", func(t *testing.T) {
		c := from[JobID](math.MaxUint64)
		require.False(t, c.issued(math.MaxUint64))
		id, ok := c.issue()
		require.True(t, ok)
		require.Equal(t, JobID(math.MaxUint64), id)
		for range 3 {
			_, ok = c.issue()
			require.False(t, ok)
			require.True(t, c.issued(id))
		}
	})
}
