package fold

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJoin walks every row of the join, fact by fact: d and x settle the
// delivery, c completes, e exits. A row says what the last fact leads to, by
// the kinds of its actions without diagnostics.
func TestJoin(t *testing.T) {
	rows := []struct {
		facts   string
		actions string
		phase   Phase
		faults  int
	}{
		{"d", "", Busy, 0},
		{"c", "", Busy, 0},
		{"e", "", Busy, 0},
		{"dc", "complete", Idle, 0},
		{"cd", "complete", Idle, 0},
		{"de", "revoke returnAssigned prepare", Preparing, 0},
		{"ed", "revoke returnAssigned prepare", Preparing, 0},
		{"ce", "", Busy, 0},
		{"ced", "complete prepare", Preparing, 0},
		{"ec", "", Busy, 0},
		{"ecd", "revoke returnAssigned prepare", Preparing, 1},
		{"x", "revoke deliver stop", Stopping, 0}, // to the other role
		{"ex", "revoke deliver prepare", Preparing, 0},
		{"cx", "revoke returnAssigned stop stop", Idle, 2},
		{"cex", "revoke returnAssigned stop", Retired, 2},
		{"ecx", "revoke returnAssigned stop", Retired, 2},
	}
	for _, row := range rows {
		t.Run("SUP-41 "+row.facts, func(t *testing.T) {
			r := ready(t, restarting(2))
			r.submit(7)
			assignment := r.s.members[0].assignment
			var out []action
			for i, fact := range row.facts {
				ev := r.about(map[rune]EventKind{'d': DeliveryAccepted, 'x': DeliveryRejected, 'c': Completed, 'e': Exited}[fact], 0)
				ev.Assignment = assignment
				ev.Result, ev.Exit = 70, Exit{Kind: Failed, Cause: errTest}
				var v Verdict
				v, out = r.step(ev)
				if fact == 'c' && strings.Contains(row.facts[:i], "e") {
					require.Equal(t, Outrun, v)
				} else {
					require.Equal(t, Applied, v)
				}
			}
			var doing []string
			faults := 0
			for _, a := range out {
				switch a.Kind {
				case Fault:
					faults++
				case Notice:
				default:
					doing = append(doing, actionNames[a.Kind])
				}
			}
			require.Equal(t, row.actions, strings.Join(doing, " "))
			require.Equal(t, row.faults, faults)
			require.Equal(t, row.phase, r.phase(0))
		})
	}
}

func TestJoinRefusals(t *testing.T) {
	t.Run("SUP-41 a repeat of a held fact is refused", func(t *testing.T) {
		for _, kinds := range [][]EventKind{
			{DeliveryAccepted, DeliveryAccepted},
			{DeliveryAccepted, DeliveryRejected},
			{Completed, Completed},
			{Exited, Exited},
		} {
			r := ready(t, restarting(1))
			r.submit(7)
			ev := r.about(kinds[0], 0)
			ev.Exit.Kind = Normal
			r.apply(ev)
			ev.Kind = kinds[1]
			r.refused(ev)
		}
	})
	t.Run("SUP-40 SUP-43 duplicate, stale and foreign completions are told apart", func(t *testing.T) {
		r := ready(t, restarting(2))
		r.submit(7)
		r.deliver(0)
		ev := r.about(Completed, 0)
		ev.Result = 70
		foreign := []event{ev, ev, ev, ev, ev, ev}
		foreign[0].Pool++
		foreign[1].Incarnation++
		foreign[2].Assignment++
		foreign[3].Assignment = 0
		foreign[4].Role = 1
		foreign[5].Role = -1
		for _, f := range foreign {
			a := r.refused(f)
			require.Equal(t, ForeignCompletion, a.Diagnosis)
			require.Equal(t, 70, a.Result)
			require.Equal(t, CarriesResult, a.Carries)
		}
		r.apply(ev)
		require.Equal(t, StaleCompletion, r.refused(ev).Diagnosis)
		ev.Used = true
		require.Equal(t, DuplicateCompletion, r.refused(ev).Diagnosis)
	})
	t.Run("SUP-46 an ended assignment is stale in every mode", func(t *testing.T) {
		r := ready(t, basic(1))
		r.submit(7)
		ev := r.about(Completed, 0)
		r.apply(event{Kind: Shutdown})
		require.Equal(t, StaleCompletion, r.refused(ev).Diagnosis)
		r.apply(r.about(StopSettled, 0))
		r.exit(0, Normal, 0)
		require.Equal(t, Stopped, r.s.mode)
		require.Equal(t, StaleCompletion, r.refused(ev).Diagnosis)
	})
	t.Run("SUP-45 a contradiction returns the job once and reports both facts", func(t *testing.T) {
		for _, cause := range []error{nil, errTest} {
			r := ready(t, restarting(1))
			r.submit(7)
			ev := r.about(DeliveryRejected, 0)
			ev.Cause = cause
			r.complete(0, 70)
			out := r.apply(ev)
			require.Len(t, only(out, ReturnAssigned), 1)
			require.Equal(t, Contradiction, only(out, ReturnAssigned)[0].Reason)
			faults := only(out, Fault)
			require.Len(t, faults, 2)
			require.Equal(t, 70, faults[0].Result)
			require.Equal(t, ErrContradiction, faults[0].Cause)
			require.Equal(t, cmp.Or(cause, ErrContradiction), faults[1].Cause)
			require.Equal(t, Draining, r.s.mode)
		}
	})
}
