package fold

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// recoveryDesk plays one end of a search, and returns where fold and oracle
// part, if they do.
func recoveryDesk(t *testing.T, onLoss OnLoss, how string, begins bool, oracle *shop) string {
	cfg := restarting(1)
	cfg.OnLoss = onLoss
	r := ready(t, cfg)
	require.Equal(t, "prepare", kinds(r.exit(0, Normal, 0)))
	if begins {
		require.Empty(t, r.apply(r.about(PreparationBegun, 0)))
	}
	if oracle.closing {
		require.Equal(t, "cancelPreparation", kinds(r.apply(event{Kind: Shutdown})))
	}
	ev := r.about(PreparationEnded, 0)
	ev.Ending = map[string]Ending{
		"found": Prepared, "refused": WorkerRejected, "no agency": FactoryRejected, "vanished": Lost, "never began": NotAttempted,
	}[how]
	ev.Worker, ev.Cause = 200, errTest
	out := r.apply(ev)
	got := news{
		starts: len(only(out, Start)), complaints: len(only(out, Fault)),
		state: map[Mode]string{Serving: "open", Stopped: "closed"}[r.s.mode],
	}
	if want := oracle.searchEnds(how); got != want {
		return fmt.Sprintf("%s: got %+v, want %+v", how, got, want)
	}
	return ""
}

var searches = []struct {
	how    string
	begins bool
}{{"found", true}, {"refused", true}, {"no agency", true}, {"vanished", false}, {"never began", false}, {"vanished", true}}

func TestRecoveryDesk(t *testing.T) {
	for _, closing := range []bool{false, true} {
		for _, onLoss := range []OnLoss{RetireRole, StopPool} {
			for _, search := range searches {
				name := fmt.Sprintf("SUP-101 closing %v, on loss %d, %s, begun %v", closing, onLoss, search.how, search.begins)
				t.Run(name, func(t *testing.T) {
					oracle := &shop{closing: closing, oneSeatIsAll: onLoss == StopPool}
					require.Empty(t, recoveryDesk(t, onLoss, search.how, search.begins, oracle))
				})
			}
		}
	}
	t.Run("SUP-101 an oracle that restarts after shutdown began fails", func(t *testing.T) {
		require.NotEmpty(t, recoveryDesk(t, RetireRole, "found", true, &shop{closing: true, hiresAnyway: true}))
	})
	t.Run("SUP-67 an ending out of phase is refused", func(t *testing.T) {
		for _, closing := range []bool{false, true} {
			r := ready(t, restarting(1))
			r.exit(0, Normal, 0)
			if closing {
				r.apply(event{Kind: Shutdown})
			}
			ev := r.about(PreparationEnded, 0)
			for _, e := range []Ending{Prepared, WorkerRejected, FactoryRejected, 0} {
				ev.Ending = e
				r.refused(ev)
			}
			r.apply(r.about(PreparationBegun, 0))
			r.refused(r.about(PreparationBegun, 0))
			ev.Ending = NotAttempted
			r.refused(ev)
			ev.Ending = Lost
			ev.Prep++
			r.refused(ev)
			ev.Prep--
			ev.Role = 1
			r.refused(ev)
			ev.Role = 0
			r.apply(ev)
			r.refused(ev)
		}
	})
}
