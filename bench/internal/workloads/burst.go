package workloads

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/bench/internal/pools"
	"github.com/cadre-go/cadre/bench/internal/sampling"
)

const (
	rowBurst   = "bursts of 1000 tasks of 1 us and 10 us"
	burstSize  = 1000
	violations = "order violations"
)

// bursts has one producer post 1,000 tasks that work for a while, and waits
// until all have run.
func bursts() []sampling.Workload {
	var all []sampling.Workload
	for _, workers := range []int{2, 8} {
		for _, work := range []time.Duration{time.Microsecond, 10 * time.Microsecond} {
			w := sampling.Workload{
				Name:      fmt.Sprintf("burst/workers=%d/task=%dus", workers, work.Microseconds()),
				Title:     fmt.Sprintf("bursts of 1,000 tasks of %v, then drain: %d workers", work, workers),
				Ops:       12 * burstSize,
				Unit:      burstSize,
				Reference: pools.Channel,
				Shown:     []string{sampling.Nanoseconds, sampling.CPU, sampling.Allocs, sampling.Bytes, violations},
			}
			if work == time.Microsecond {
				w.Ops *= 3
			}
			var names []string
			for _, kind := range pools.Kinds() {
				if kind.Name != pools.Labeled {
					names = append(names, kind.Name)
				}
				w.Subjects = append(w.Subjects, sampling.Subject{Name: kind.Name, Lacks: kind.Lacks, Run: func(ops int) sampling.Sample {
					return burst(kind, workers, work, ops)
				}})
			}
			w.Budgets = []sampling.Budget{
				{Row: rowBurst, Subject: pools.Cadre, Against: names, Clean: violations, Most: 1.1},
				{Row: rowBurst, Subject: pools.Cadre, Figure: violations, Most: 0},
			}
			all = append(all, w)
		}
	}
	return all
}

// burst measures from the first post of each burst until its last task has run,
// and counts, between the bursts, the tasks that started too early.
func burst(kind pools.Kind, workers int, work time.Duration, ops int) sampling.Sample {
	pool := kind.Start(workers, queueLimit)
	defer pool.Close()
	rounds := spinRounds(work)
	var (
		started atomic.Int64
		running sync.WaitGroup
		order   = make([]int, burstSize)
		tasks   = make([]func(), burstSize)
		results = make([]uint32, burstSize)
	)
	for i := range tasks {
		tasks[i] = func() {
			order[started.Add(1)-1] = i
			spin(rounds, &results[i])
			running.Done()
		}
	}
	post := pool.Load(tasks)
	once := func() {
		started.Store(0)
		running.Add(burstSize)
		for i := range tasks {
			post(i)
		}
		running.Wait()
	}
	once()
	runtime.GC()
	var m sampling.Meter
	ran, early := 0, 0
	for range ops / burstSize {
		m.Start()
		once()
		m.Stop()
		ran += int(started.Load())
		early += overtakings(order, workers)
	}
	s := m.Sample(ops).With(violations, float64(early))
	s.Ran = ran
	return s
}

// overtakings returns how many tasks started too early, order being the tasks,
// numbered as they were accepted, in the order in which they started. Each of
// the other workers may have taken an earlier task and not have come to start
// it yet; whoever starts with more than these outstanding has overtaken one.
func overtakings(order []int, workers int) int {
	started := make([]bool, len(order))
	early, first := 0, 0
	for _, task := range order {
		missing := 0
		for i := first; i < task && missing < workers; i++ {
			if !started[i] {
				missing++
			}
		}
		if missing >= workers {
			early++
		}
		started[task] = true
		for first < len(started) && started[first] {
			first++
		}
	}
	return early
}
