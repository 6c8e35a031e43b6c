package workloads

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/cadre-go/cadre/bench/internal/sampling"
)

// waiting is how many goroutines a storm cancels at a time, and batch how many
// leases are released at a time.
const (
	waiting = 64
	batch   = 256
)

// storm has every waiter give up while the resource is held: the price of one
// acquisition that comes to nothing.
func storm() sampling.Workload {
	w := sampling.Workload{
		Name:      "lease/cancellation-storm",
		Title:     "lease: 64 goroutines wait for one held slot, each under a ctx of its own; all are canceled",
		Ops:       64_000,
		Unit:      waiting,
		Reference: puddles,
	}
	for _, kind := range lessors() {
		if kind.name == "mutex and condition, no ctx" {
			continue
		}
		w.Subjects = append(w.Subjects, sampling.Subject{Name: kind.name, Lacks: kind.lacks, Run: func(ops int) sampling.Sample {
			return cancelAll(kind.start(1), ops)
		}})
	}
	return w
}

func cancelAll(l lessor, ops int) sampling.Sample {
	defer l.close()
	user := l.user(0)
	release := user.take(context.Background())
	defer release()
	var ran atomic.Int64
	s := sampling.Measure(ops, func() {
		for range ops / waiting {
			var calling, gone sync.WaitGroup
			cancels := make([]context.CancelFunc, waiting)
			for i := range cancels {
				ctx, cancel := context.WithCancel(context.Background())
				cancels[i] = cancel
				calling.Add(1)
				gone.Go(func() {
					calling.Done()
					if !user.try(ctx) {
						ran.Add(1)
					}
				})
			}
			calling.Wait()
			for _, cancel := range cancels {
				cancel()
			}
			gone.Wait()
		}
	})
	s.Ran = int(ran.Load())
	return s
}

// releaseAlone times the release, without the acquisition.
func releaseAlone() sampling.Workload {
	w := sampling.Workload{
		Name:      "lease/release",
		Title:     "lease: release alone, of 256 leases in turn",
		Ops:       2000 * batch,
		Unit:      batch,
		Reference: puddles,
	}
	for _, kind := range lessors() {
		w.Subjects = append(w.Subjects, sampling.Subject{Name: kind.name, Lacks: kind.lacks, Run: func(ops int) sampling.Sample {
			return releaseAll(kind.start(batch), ops)
		}})
	}
	return w
}

func releaseAll(l lessor, ops int) sampling.Sample {
	defer l.close()
	user := l.user(0)
	ctx := context.Background()
	releases := make([]func(), batch)
	var m sampling.Meter
	ran := 0
	for range ops / batch {
		for i := range releases {
			releases[i] = user.take(ctx)
		}
		m.Start()
		for _, release := range releases {
			release()
			ran++
		}
		m.Stop()
	}
	return m.Sample(ran)
}
