package workloads

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/bench/internal/pools"
	"github.com/cadre-go/cadre/bench/internal/sampling"
)

const (
	rowUncontended = "lease: acquire+release uncontended"
	rowContended   = "lease: 8 and 64 goroutines on 2 and 4 slots"
	waitMedian     = "wait p50 ns"
	waitTail       = "wait p99 ns"
)

// leases acquires and releases one of a few resources.
func leases() []sampling.Workload {
	all := []sampling.Workload{uncontended()}
	for _, hold := range []string{"none", "yield"} {
		for _, callers := range []int{8, 64} {
			for _, slots := range []int{2, 4} {
				all = append(all, contended(callers, slots, hold))
			}
		}
	}
	return append(all, storm(), releaseAlone())
}

func uncontended() sampling.Workload {
	w := sampling.Workload{
		Name:      "lease/uncontended",
		Title:     "lease: acquire+release by one goroutine, one slot",
		Ops:       1_000_000,
		Reference: puddles,
		Budgets: []sampling.Budget{
			{Row: rowUncontended, Subject: pools.Cadre, Against: []string{puddles}, Most: 0.3},
			{Row: rowUncontended, Subject: pools.Cadre, Figure: sampling.Allocs, Most: 0},
			{Row: "lease: owner round trip, fast path off", Subject: ownerWay, Against: []string{puddles}, Most: 5},
		},
	}
	for _, kind := range lessors() {
		w.Subjects = append(w.Subjects, sampling.Subject{Name: kind.name, Lacks: kind.lacks, Run: func(ops int) sampling.Sample {
			l := kind.start(1)
			defer l.close()
			user := l.user(0)
			ctx := context.Background()
			user.use(ctx, nothing)
			ran := 0
			s := sampling.Measure(ops, func() {
				for range ops {
					user.use(ctx, nothing)
					ran++
				}
			})
			s.Ran = ran
			return s
		}})
	}
	w.Subjects = append(w.Subjects, sampling.Subject{Name: ownerWay, Lacks: "nothing", Apart: true, Run: ownerRoundTrip})
	return w
}

func nothing() {}

func contended(callers, slots int, hold string) sampling.Workload {
	w := sampling.Workload{
		Name:      fmt.Sprintf("lease/goroutines=%d/slots=%d/hold=%s", callers, slots, hold),
		Title:     fmt.Sprintf("lease: %d goroutines on %d slots, hold: %s", callers, slots, hold),
		Ops:       256_000,
		Unit:      callers,
		Reference: puddles,
		Shown:     []string{sampling.Nanoseconds, sampling.CPU, sampling.Allocs, sampling.Bytes, waitMedian, waitTail},
		Budgets: []sampling.Budget{
			{Row: rowContended, Subject: pools.Cadre, Against: []string{puddles}, Most: 0.9},
			{Row: rowContended, Subject: pools.Cadre, Figure: sampling.Allocs, Most: 1},
		},
	}
	for _, kind := range lessors() {
		w.Subjects = append(w.Subjects, sampling.Subject{Name: kind.name, Lacks: kind.lacks, Run: func(ops int) sampling.Sample {
			return contend(kind.start(slots), callers, ops, holds[hold])
		}})
	}
	return w
}

// holds are what one does with a resource.
var holds = map[string]func(){"none": nothing, "yield": runtime.Gosched}

// timed is how many acquisitions there are to one whose wait is timed, so that
// the clock is no part of the cost.
const timed = 16

func contend(l lessor, callers, ops int, hold func()) sampling.Sample {
	defer l.close()
	ctx := context.Background()
	users := make([]user, callers)
	for i := range users {
		users[i] = l.user(i)
		users[i].use(ctx, nothing)
	}
	each := ops / callers
	waits := make([][]time.Duration, callers)
	for i := range waits {
		waits[i] = make([]time.Duration, 0, each/timed+1)
	}
	var ran atomic.Int64
	s := sampling.Measure(ops, func() {
		var running sync.WaitGroup
		for i := range users {
			running.Go(func() {
				var began time.Time
				holdTimed := func() {
					waits[i] = append(waits[i], time.Since(began))
					hold()
				}
				for n := range each {
					if n%timed != 0 {
						users[i].use(ctx, hold)
						continue
					}
					began = time.Now()
					users[i].use(ctx, holdTimed)
				}
				ran.Add(int64(each))
			})
		}
		running.Wait()
	})
	s.Ran = int(ran.Load())
	sorted := slices.Sorted(slices.Values(slices.Concat(waits...)))
	return s.With(waitMedian, float64(sampling.Quantile(sorted, 0.50))).
		With(waitTail, float64(sampling.Quantile(sorted, 0.99)))
}
