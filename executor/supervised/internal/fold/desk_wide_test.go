package fold

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

var wideWords = [...]string{"submit", "accept", "reject", "complete", "exit", "restart", "submit", "accept"}

// wideDesk plays a script of instructions, two bytes each: what, and a role or
// payload. It returns where fold and oracle part, if they do.
func wideDesk(t *testing.T, s script, roles, places int, how Interruption, oracle *hall) string {
	cfg := restarting(roles)
	cfg.Backlog, cfg.Interruption = places, how
	oracle.places, oracle.backInLine = places, how == Retry
	r := ready(t, cfg)
	for i := 0; i+1 < len(s); i += 2 {
		role := int(s[i+1]) % roles
		word := wideWords[int(s[i])%len(wideWords)]
		var out []action
		var told bool
		switch word {
		case "submit":
			oracle.comes(int(s[i+1]))
			_, out = r.step(event{Kind: Submit, Job: int(s[i+1])})
		case "accept":
			if told = oracle.takes(role); told {
				out = r.deliver(role)
			}
		case "reject":
			if told = oracle.refuses(role); told {
				out = r.apply(r.about(DeliveryRejected, role))
				if r.phase(role) == Stopping {
					out = append(out, r.apply(r.about(StopSettled, role))...)
				}
			}
		case "complete":
			if told = oracle.finishes(role); told {
				out = r.complete(role, r.s.members[role].record.payload)
			}
		case "exit":
			if told = oracle.goes(role); told {
				out = r.exit(role, Normal, 0)
			}
		case "restart":
			if role = oracle.hires(); role >= 0 {
				if r.phase(role) != Preparing {
					return fmt.Sprintf("role %d is not being prepared", role)
				}
				r.prepared(role)
				out = r.apply(r.about(Started, role))
			}
		}
		var got []sight
		for _, a := range out {
			switch a.Kind {
			case Reject:
				got = append(got, sight{"turn away", -1, a.Payload})
			case Deliver:
				got = append(got, sight{"call", a.Role, a.Payload})
			case Complete:
				got = append(got, sight{"hand out", a.Role, a.Result})
			case ReturnAssigned, ReturnQueued:
				got = append(got, sight{"give back", a.Role, a.Payload})
			}
		}
		if want := oracle.look(); !slices.Equal(got, want) {
			return fmt.Sprintf("%d: %s: got %v, want %v\n%s", i/2, word, got, want, r.story())
		}
		if r.s.cursor != oracle.next {
			return fmt.Sprintf("%d: cursor %d, want %d", i/2, r.s.cursor, oracle.next)
		}
	}
	return ""
}

// wideScripts gives each script with a pool to play it on.
func wideScripts(n int, play func(s script, roles, places int, how Interruption)) {
	rnd := rand.New(rand.NewPCG(11, 104))
	for range n {
		s := make(script, 2*(1+rnd.IntN(128)))
		for j := range s {
			s[j] = byte(rnd.IntN(256))
		}
		play(s, 1+rnd.IntN(4), rnd.IntN(5), Interruption(1+rnd.IntN(2)))
	}
}

func TestWideQueueDesk(t *testing.T) {
	t.Run("SUP-104 SUP-30 SUP-34 order, cursor and bound", func(t *testing.T) {
		wideScripts(120, func(s script, roles, places int, how Interruption) {
			fails := func(s script) bool { return wideDesk(t, s, roles, places, how, newHall(roles)) != "" }
			if fails(s) {
				small := shrink(s, fails)
				t.Fatalf("roles %d, places %d, interruption %d: %v\n%s", roles, places, how, []byte(small),
					wideDesk(t, small, roles, places, how, newHall(roles)))
			}
		})
	})
	for name, invert := range map[string]func(*hall){
		"SUP-104 an oracle that puts retries in front fails":               func(h *hall) { h.backInFront = true },
		"SUP-104 an oracle that begins each search at the first one fails": func(h *hall) { h.alwaysFirst = true },
	} {
		t.Run(name, func(t *testing.T) {
			parted := 0
			wideScripts(120, func(s script, roles, places int, how Interruption) {
				h := newHall(roles)
				invert(h)
				if wideDesk(t, s, roles, places, how, h) != "" {
					parted++
				}
			})
			require.NotZero(t, parted)
		})
	}
}
