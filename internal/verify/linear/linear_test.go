package linear

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rounds plays SIM_HISTORIES histories, or some, each from a seed of its own.
func rounds(t *testing.T, play func(t *testing.T, r *rand.Rand)) {
	n := 200
	if s := os.Getenv("SIM_HISTORIES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		seed := rand.Uint64()
		play(t, rand.New(rand.NewPCG(seed, 0)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
