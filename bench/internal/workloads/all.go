// Package workloads has what is measured: one file for each kind of work, which
// declares its subjects and its budgets as data.
package workloads

import (
	"slices"

	"github.com/cadre-go/cadre/bench/internal/sampling"
)

// queueLimit is how many tasks may wait in every pool that has a queue.
const queueLimit = 1024

// All returns every workload, in the order of the report.
func All() []sampling.Workload {
	return slices.Concat(
		posts(),
		bursts(),
		submits(),
		nested(),
		futures(),
		timers(),
		fires(),
		leases(),
		fairness(),
		folds(),
		services(),
		memories(),
		sweeps(),
	)
}

// check panics with an error that no workload can go on after.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
