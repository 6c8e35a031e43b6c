package fold

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// seeds are scripts that once showed something, or that are hard to come by,
// and what their story has to contain.
var seeds = map[string]struct {
	script []byte
	story  string
}{
	"a pool that stops on loss, exit, then accepted delivery": {[]byte{
		0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 11, 1, 1, 0, 6, 0, 0, 0, 0, 1, 6, 0, 0, 6, 0, 0,
	}, "verdict 1, revoke returnAssigned stopped"},
	"a pool that stops on loss, exit, then rejected delivery": {[]byte{
		0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 11, 1, 1, 0, 6, 0, 0, 0, 0, 0, 6, 0, 0, 6, 0, 0,
	}, "verdict 1, revoke returnQueued stopped"},
	"a start that the shutdown of its own step overtakes": {[]byte{
		106, 0, 0, 0, 0, 165, 157, 0, 0, 0, 232, 0, 51, 0, 0, 124, 0, 0,
		0, 14, 157, 0, 216, 0, 0, 0, 0, 152, 247, 0, 234, 254, 0, 7, 142, 0,
		154, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 252,
	}, "verdict 1, discard notice(2) fault(11)"},
	"replay of everything after the end": {[]byte{
		0, 2, 0, 0, 2, 0, 0, 0, 0, 0, 11, 1, 1, 0, 6, 0, 0, 0, 0, 1, 6, 1, 0, 6, 1, 0, 5, 0, 0, 1, 6, 0, 0, 6, 0, 0,
		3, 0, 0, 3, 1, 0, 3, 2, 0, 3, 3, 0, 3, 4, 0,
	}, "stopSettled role 0 inc 1 assignment 0 prep 0 timer 0 stop 1 ending 0 job 0 -> verdict 2, fault(14)"},
}

// FuzzFold plays scripts; see [play] for what has to hold.
func FuzzFold(f *testing.F) {
	for _, s := range seeds {
		f.Add(s.script)
	}
	rnd := rand.New(rand.NewPCG(11, 105))
	for range 64 { // of all kinds of pools, which mutation alone is slow to come by
		f.Add(randomScript(rnd, 80))
	}
	f.Fuzz(func(t *testing.T, script []byte) { play(t, script) })
}

func randomScript(rnd *rand.Rand, most int) []byte {
	s := make([]byte, 16+rnd.IntN(most))
	for i := range s {
		s[i] = byte(rnd.Uint32())
	}
	return s
}

func TestWalks(t *testing.T) {
	for name, s := range seeds {
		t.Run("SUP-105 "+name, func(t *testing.T) {
			require.Contains(t, play(t, s.script).story(), s.story)
		})
	}
	t.Run("SUP-105 SUP-3 10,000 scripts", func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(11, 106))
		for range 10_000 {
			play(t, randomScript(rnd, 48))
		}
	})
}
