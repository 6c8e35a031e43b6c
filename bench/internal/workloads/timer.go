package workloads

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cadre-go/cadre/bench/internal/pools"
	"github.com/cadre-go/cadre/bench/internal/sampling"
)

const rowTimer = "timer: create+cancel with 0, 10k, 1M outstanding"

// timers creates and cancels one delay at a time while others are outstanding.
func timers() []sampling.Workload {
	var all []sampling.Workload
	for _, outstanding := range []int{0, 10_000, 1_000_000} {
		w := sampling.Workload{
			Name:      fmt.Sprintf("timer/outstanding=%d", outstanding),
			Title:     fmt.Sprintf("timer: create+cancel with %d outstanding", outstanding),
			Ops:       300_000,
			Reference: afterFunc,
		}
		for _, kind := range alarmKinds() {
			if kind.name == endable && outstanding == 1_000_000 {
				continue
			}
			w.Subjects = append(w.Subjects, sampling.Subject{Name: kind.name, Lacks: kind.lacks, Run: func(ops int) sampling.Sample {
				// A run at a small scale has few outstanding, too.
				return createCancel(kind, min(outstanding, 10*ops), ops)
			}})
		}
		most := 0.6
		if outstanding == 1_000_000 {
			most = 1.0
		}
		w.Budgets = []sampling.Budget{
			{Row: rowTimer, Subject: pools.Cadre, Against: []string{afterFunc}, Most: most},
			{Row: rowTimer, Subject: pools.Cadre, Figure: sampling.Allocs, Most: 2},
			{Row: rowTimer, Subject: pools.Cadre, Figure: sampling.Bytes, Most: 200},
		}
		all = append(all, w)
	}
	return all
}

// createCancel spreads the outstanding over an hour and a half, and those that
// come and go over a minute, as timeouts of requests would be.
func createCancel(kind alarmsKind, outstanding, ops int) sampling.Sample {
	a := kind.start()
	defer a.close()
	random := rand.New(rand.NewPCG(1, 2))
	handles := make([]any, outstanding)
	for i := range handles {
		handles[i] = a.create(2*time.Minute + time.Duration(random.Int64N(int64(90*time.Minute))))
	}
	delays := make([]time.Duration, 4096)
	for i := range delays {
		delays[i] = time.Second + time.Duration(random.Int64N(int64(time.Minute)))
	}
	ran := 0
	run := func(ops int) {
		for i := range ops {
			a.cancel(a.create(delays[i%len(delays)]))
			ran++
		}
	}
	run(min(ops, 1000))
	ran = 0
	s := sampling.Measure(ops, func() { run(ops) })
	s.Ran = ran
	for _, handle := range handles {
		a.cancel(handle)
	}
	return s
}
