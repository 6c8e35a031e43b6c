package sim

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	// What has no logger of its own reports here, and the histories are full of
	// such reports.
	// On one processor, what happens at once within a step happens in one order,
	// but for what the scheduler decides by chance or by the time.
	runtime.GOMAXPROCS(1)
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	os.Exit(m.Run())
}

// number reads an environment variable, or answers what it is without it.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestSimulation plays SIM_HISTORIES histories, the first of which is that of
// SIM_SEED; without one the seeds are fresh.
func TestSimulation(t *testing.T) {
	seed := number(t, "SIM_SEED", rand.Uint64()>>16)
	histories := number(t, "SIM_HISTORIES", 300)
	counts := NewCounts()
	fmt.Printf("%d histories from seed %d\n", histories, seed)
	watch := newWatchdog(t)
	for i := range histories {
		h := Generate(seed + i)
		watch.playing(h.Seed)
		res := Run(t, h, counts)
		counts.histories++
		if histories == 1 {
			fmt.Printf("%v\ntrace\n%s\n\n", h, res.Trace)
		}
		if res.Violation == "" {
			continue
		}
		fmt.Printf("FOUND seed %d after %d histories: %s\n", h.Seed, i+1, res.Violation)
		if os.Getenv("SIM_SHRINK") == "no" {
			t.Fatal(res.Violation)
		}
		h, res = Shrink(h, res, 3000, func(h History) Result {
			watch.playing(h.Seed)
			return Run(t, h, NewCounts())
		})
		t.Fatalf("%s\nreplay it with: make sim SEED=%d\nshortest history\n%v\ntrace\n%s", res.Violation, h.Seed, h, res.Trace)
	}
	fmt.Print(counts)
}

// TestReplay plays histories twice: the same seed gives the same steps, the same
// answers and the same readings.
func TestReplay(t *testing.T) {
	seed := number(t, "SIM_SEED", rand.Uint64()>>16)
	for i := range uint64(100) {
		h := Generate(seed + i)
		a, b := Run(t, h, NewCounts()), Run(t, h, NewCounts())
		if a.Trace != b.Trace {
			t.Fatalf("seed %d plays in two ways\n%s", h.Seed, difference(a.Trace, b.Trace))
		}
	}
}

// difference shows where two traces part.
func difference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return strings.Join(as[max(0, i-6):i], "\n") + "\n--- one\n" + as[i] + "\n--- the other\n" + bs[i]
		}
	}
	return "one is longer"
}
