package workloads

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cadre-go/cadre/bench/internal/pools"
	"github.com/cadre-go/cadre/bench/internal/sampling"
)

const (
	rowFairness = "lease: round robin, max/min"
	perWorker   = "max/min per worker"
	perParty    = "max/min per handle"
)

// fairness compares how evenly workers that hold across a yield are served:
// each with a handle of its own, and half of them sharing one.
func fairness() []sampling.Workload {
	var all []sampling.Workload
	for _, load := range []struct{ workers, slots int }{{8, 2}, {64, 4}} {
		for _, shared := range []bool{false, true} {
			name, title, figure := "own", "a handle each", perWorker
			if shared {
				name, title, figure = "shared", "one handle for half of them", perParty
			}
			w := sampling.Workload{
				Name:      fmt.Sprintf("lease/fairness/goroutines=%d/slots=%d/handles=%s", load.workers, load.slots, name),
				Title:     fmt.Sprintf("lease: fairness among %d goroutines on %d slots, %s", load.workers, load.slots, title),
				Ops:       1_000_000,
				Unit:      64 * load.workers,
				Reference: puddles,
				Figure:    figure,
				Shown:     []string{sampling.Nanoseconds, perWorker, perParty},
				Budgets:   []sampling.Budget{{Row: rowFairness, Subject: pools.Cadre, Most: 1.1}},
			}
			for _, kind := range lessors() {
				w.Subjects = append(w.Subjects, sampling.Subject{Name: kind.name, Lacks: kind.lacks, Run: func(ops int) sampling.Sample {
					return serve(kind.start(load.slots), load.workers, shared, ops)
				}})
			}
			all = append(all, w)
		}
	}
	return all
}

// serve counts the grants of each worker that were made while somebody else
// waited: what a pool does when nobody does is no matter of fairness.
func serve(l lessor, workers int, shared bool, ops int) sampling.Sample {
	defer l.close()
	ctx := context.Background()
	party := func(worker int) int {
		if shared {
			return max(0, worker-workers/2+1)
		}
		return worker
	}
	users := make([]user, party(workers-1)+1)
	for i := range users {
		users[i] = l.user(i)
	}
	grants := make([]int, workers)
	var next, waiting, ran atomic.Int64
	s := sampling.Measure(ops, func() {
		begin := make(chan struct{})
		var running sync.WaitGroup
		for worker := range workers {
			running.Go(func() {
				granted := 0
				hold := func() {
					if waiting.Add(-1) > 0 {
						granted++
					}
					runtime.Gosched()
				}
				user := users[party(worker)]
				<-begin
				for next.Add(1) <= int64(ops) {
					waiting.Add(1)
					user.use(ctx, hold)
					ran.Add(1)
				}
				grants[worker] = granted
			})
		}
		close(begin)
		running.Wait()
	})
	s.Ran = int(ran.Load())
	parties := make([]int, len(users))
	for worker, n := range grants {
		parties[party(worker)] += n
	}
	return s.With(perWorker, spread(grants)).With(perParty, spread(parties))
}

// spread returns the greatest count over the least, which counts as 1 at least.
func spread(counts []int) float64 {
	return float64(slices.Max(counts)) / float64(max(slices.Min(counts), 1))
}
