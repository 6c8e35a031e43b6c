package workloads

import (
	"strings"

	"github.com/cadre-go/cadre/bench/internal/sampling"
)

const (
	rowFold     = "supervised: pure fold cycle"
	cycleRate   = "cycles/s"
	calibration = "ns/atomic add"
	// foldCycles is how many cycles one iteration of the fold's own benchmark
	// has: the median of five runs.
	foldCycles = 5 * 100_000
)

var foldTests = newTestBinary("executor/supervised/internal/fold")

// folds has the state machine of package supervised go through the life of a
// job, on one goroutine. It is internal, so its own benchmark is run; beside
// each figure stands what an atomic addition costs at the same moment.
func folds() []sampling.Workload {
	w := sampling.Workload{
		Name:      "supervised/fold",
		Title:     "supervised: pure fold, a cycle of submit, delivery and completion",
		Ops:       2 * foldCycles,
		Unit:      foldCycles,
		Reference: "1 role",
		Shown:     []string{sampling.Nanoseconds, cycleRate, sampling.Allocs, calibration},
		Budgets: []sampling.Budget{
			{Row: rowFold, Subject: "1 role", Figure: cycleRate, Least: 5.5e6},
			{Row: rowFold, Subject: "1 role", Figure: sampling.Allocs, Most: 0},
		},
	}
	for _, variant := range []string{"1 role", "4 roles", "64 roles", "backlog of 1024", "retry storm"} {
		w.Subjects = append(w.Subjects, sampling.Subject{Name: variant, Apart: true, Run: func(ops int) sampling.Sample {
			return fold(variant, ops)
		}})
	}
	return []sampling.Workload{w}
}

func fold(variant string, ops int) sampling.Sample {
	pattern := "^BenchmarkFoldCycle$/^" + strings.ReplaceAll(variant, " ", "_") + "$"
	figures, err := foldTests.run(pattern, ops/foldCycles)
	check(err)
	return sampling.Sample{Ran: ops, Figures: map[string]float64{
		sampling.Nanoseconds: figures["ns/cycle"],
		cycleRate:            figures["cycles/s"],
		calibration:          figures["ns/atomic-add"],
		sampling.Allocs:      figures["allocs/op"] / foldCycles,
	}}
}
