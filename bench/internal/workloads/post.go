package workloads

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cadre-go/cadre/bench/internal/pools"
	"github.com/cadre-go/cadre/bench/internal/sampling"
)

const (
	rowPost    = "Post+run of an empty task"
	rowLabeled = "the same with diagnostics and labels"
)

// posts has producers post an empty task that counts, until all have run.
func posts() []sampling.Workload {
	var all []sampling.Workload
	for _, workers := range []int{2, 8} {
		for _, producers := range []int{1, 8, 64} {
			w := sampling.Workload{
				Name:      fmt.Sprintf("post/workers=%d/producers=%d", workers, producers),
				Title:     fmt.Sprintf("Post+run of an empty task: %d workers, %d producers", workers, producers),
				Ops:       192_000,
				Unit:      producers,
				Reference: pools.Channel,
			}
			for _, kind := range pools.Kinds() {
				w.Subjects = append(w.Subjects, sampling.Subject{Name: kind.Name, Lacks: kind.Lacks, Full: kind.Full, Run: func(ops int) sampling.Sample {
					return postAll(kind, workers, producers, ops)
				}})
			}
			channel := 1.0
			if producers == 1 {
				channel = 1.3
			}
			w.Budgets = []sampling.Budget{
				{Row: rowPost, Subject: pools.Cadre, Against: pools.Libraries(), Most: 0.5},
				{Row: rowPost, Subject: pools.Cadre, Against: []string{pools.Channel}, Most: channel},
				{Row: rowPost, Subject: pools.Cadre, Figure: sampling.Allocs, Most: 1},
				{Row: rowPost, Subject: pools.Cadre, Figure: sampling.Bytes, Most: 64},
				{Row: rowLabeled, Subject: pools.Labeled, Against: []string{pools.Cadre}, Most: 1.5},
			}
			all = append(all, w)
		}
	}
	return all
}

// countdown is a task that counts, and tells when it has run as often as was
// asked for.
type countdown struct {
	left, ran atomic.Int64
	done      chan struct{}
}

func (c *countdown) start(tasks int) {
	c.done = make(chan struct{})
	c.left.Store(int64(tasks))
}

func (c *countdown) task() {
	c.ran.Add(1)
	if c.left.Add(-1) == 0 {
		close(c.done)
	}
}

// postAll measures from the first post until everything has run.
func postAll(kind pools.Kind, workers, producers, ops int) sampling.Sample {
	pool := kind.Start(workers, queueLimit)
	defer pool.Close()
	var c countdown
	post := pool.Load([]func(){c.task})
	run := func(ops int) {
		c.start(ops)
		produce(ops, producers, func() { post(0) })
		<-c.done
	}
	run(max(ops/100/producers, 1) * producers)
	c.ran.Store(0)
	s := sampling.Measure(ops, func() { run(ops) })
	s.Ran = int(c.ran.Load())
	return s
}

// produce calls one ops times, from producers goroutines that share them
// equally. One producer is the calling goroutine.
func produce(ops, producers int, one func()) {
	each := ops / producers
	if producers == 1 {
		for range each {
			one()
		}
		return
	}
	var running sync.WaitGroup
	for range producers {
		running.Go(func() {
			for range each {
				one()
			}
		})
	}
	running.Wait()
}
