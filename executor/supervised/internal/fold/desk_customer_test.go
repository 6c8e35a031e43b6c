package fold

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// orders returns every order of the words.
func orders(words ...string) [][]string {
	if len(words) == 0 {
		return [][]string{nil}
	}
	var all [][]string
	for i, w := range words {
		rest := append(append([]string{}, words[:i]...), words[i+1:]...)
		for _, o := range orders(rest...) {
			all = append(all, append([]string{w}, o...))
		}
	}
	return all
}

// heard translates the outcome of a step into the oracle's words.
func heard(t *testing.T, out []action) answer {
	var got answer
	for _, a := range out {
		if !a.Kind.Outcome() {
			continue
		}
		require.Empty(t, got.what, "two outcomes in one step")
		require.Equal(t, JobID(1), a.Job)
		require.Equal(t, 9, a.Customer)
		got.order, got.result = a.Payload, a.Result
		got.why = map[Reason]string{
			PoolShutdown: "closing", NoWorkers: "nobody works here", WorkerStopped: "the clerk left",
		}[a.Reason]
		got.what = map[ActionKind]string{
			Complete: "here you are", ReturnAssigned: "given back from the clerk", ReturnQueued: "given back from the line",
		}[a.Kind]
	}
	return got
}

// customerDesk plays one order of facts, and returns where fold and oracle
// part, if they do.
func customerDesk(t *testing.T, how Interruption, facts []string, oracle *clerk) string {
	cfg := basic(1)
	cfg.Interruption = how
	r := ready(t, cfg)
	r.apply(event{Kind: Submit, Job: 7, Customer: 9})
	for i, fact := range facts {
		ev := event{Kind: Shutdown}
		if fact != "closing" {
			ev = event{
				Kind: map[string]EventKind{"taken": DeliveryAccepted, "finished": Completed, "left": Exited}[fact],
				Pool: 1, Incarnation: 1, Assignment: 1, Result: 70, Exit: Exit{Kind: Normal},
			}
		}
		_, out := r.step(ev)
		if got, want := heard(t, out), oracle.hear(fact); got != want {
			return fmt.Sprintf("%s: after %d: got %+v, want %+v", strings.Join(facts, ", "), i+1, got, want)
		}
	}
	if len(r.ledger.ended) != 1 {
		return "no outcome"
	}
	return ""
}

func TestCustomerDesk(t *testing.T) {
	all := orders("taken", "finished", "left", "closing")
	require.Len(t, all, 24)
	for _, how := range []Interruption{Fail, Retry} {
		t.Run(fmt.Sprintf("SUP-100 all 24 orders, interruption %d", how), func(t *testing.T) {
			for _, facts := range all {
				require.Empty(t, customerDesk(t, how, facts, &clerk{secondChance: how == Retry}))
			}
		})
		t.Run(fmt.Sprintf("SUP-100 an oracle that lets the later fact win fails, interruption %d", how), func(t *testing.T) {
			parted := 0
			for _, facts := range all {
				if customerDesk(t, how, facts, &clerk{secondChance: how == Retry, lastWins: true}) != "" {
					parted++
				}
			}
			require.Equal(t, 2, parted, "finished and left in either order, then taken, then closing")
		})
	}
}
