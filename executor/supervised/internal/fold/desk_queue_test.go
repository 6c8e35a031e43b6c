package fold

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A script is a string of instructions, two bytes each: what, and a payload.
type script []byte

func (s script) String() string {
	var b strings.Builder
	for i := 0; i+1 < len(s); i += 2 {
		fmt.Fprintf(&b, "%s(%d) ", [...]string{"submit", "accept", "complete"}[s[i]%3], s[i+1])
	}
	return b.String()
}

// queueDesk plays a script and returns where fold and oracle part, if they do.
func queueDesk(t *testing.T, s script, oracle *line) string {
	cfg := basic(1)
	cfg.Backlog, oracle.places = 3, 3
	r := ready(t, cfg)
	for i := 0; i+1 < len(s); i += 2 {
		var ev event
		var want seen
		switch s[i] % 3 {
		case 0:
			ev = event{Kind: Submit, Job: int(s[i+1])}
			want = oracle.comes(int(s[i+1]))
		case 1:
			if !oracle.canBegin() {
				continue
			}
			ev, want = r.about(DeliveryAccepted, 0), oracle.begins()
		case 2:
			if !oracle.canFinish() {
				continue
			}
			ev = r.about(Completed, 0)
			ev.Result = r.s.members[0].record.payload
			want = oracle.finishes()
		}
		_, out := r.step(ev)
		got := seen{called: -1, handedOut: -1}
		for _, a := range out {
			switch a.Kind {
			case Reject:
				got.turnedAway = true
			case Deliver:
				got.called = a.Payload
			case Complete:
				got.handedOut = a.Result
			}
		}
		if got.called != want.called {
			return fmt.Sprintf("next assigned payload: got %d, want %d", got.called, want.called)
		}
		if got != want {
			return fmt.Sprintf("got %+v, want %+v", got, want)
		}
	}
	return ""
}

// shrink makes a failing script small: it drops chunks, then single
// instructions, then sets payloads to zero.
func shrink(s script, fails func(script) bool) script {
	for chunk := len(s) / 4 * 2; chunk >= 2; {
		shorter := false
		for at := 0; at+chunk <= len(s); {
			without := append(append(script{}, s[:at]...), s[at+chunk:]...)
			if fails(without) {
				s, shorter = without, true
			} else {
				at += chunk
			}
		}
		if !shorter || chunk > 2 {
			if chunk == 2 && !shorter {
				break
			}
			chunk = max(chunk/4*2, 2)
		}
	}
	for i := 1; i < len(s); i += 2 {
		zero := append(script{}, s...)
		zero[i] = 0
		if s[i] != 0 && fails(zero) {
			s = zero
		}
	}
	return s
}

func scripts(n int) []script {
	rnd := rand.New(rand.NewPCG(11, 103))
	all := make([]script, n)
	for i := range all {
		all[i] = make(script, 2*(1+rnd.IntN(128)))
		for j := range all[i] {
			all[i][j] = byte(rnd.IntN(256))
		}
	}
	return all
}

func TestQueueDesk(t *testing.T) {
	all := scripts(192)
	t.Run("SUP-103 192 scripts", func(t *testing.T) {
		for _, s := range all {
			fails := func(s script) bool { return queueDesk(t, s, &line{}) != "" }
			if fails(s) {
				small := shrink(s, fails)
				t.Fatalf("%v\n%s", small, queueDesk(t, small, &line{}))
			}
		}
	})
	t.Run("SUP-103 an oracle that serves the newest first fails on the next assigned payload", func(t *testing.T) {
		fails := func(s script) bool { return queueDesk(t, s, &line{newestFirst: true}) != "" }
		for _, s := range all {
			if !fails(s) {
				continue
			}
			small := shrink(s, fails)
			require.Contains(t, queueDesk(t, small, &line{newestFirst: true}), "next assigned payload")
			require.Len(t, small, 2*5, "three orders, begun and finished: %v", small)
			return
		}
		t.Fatal("no script failed")
	})
}
