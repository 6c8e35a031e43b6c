package pools

import (
	"context"
	"sync"

	"github.com/sourcegraph/conc/pool"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// Goroutines is the name of a goroutine for each task, and nothing else.
const Goroutines = "goroutines"

// The kinds here start a goroutine for a task, or keep the goroutines of tasks
// that have ended; none has a queue.

func startGoroutines(int, int) Pool {
	var running sync.WaitGroup
	return blocking(plain, func(task func()) { running.Go(task) }, running.Wait)
}

func startSemaphore(workers, _ int) Pool {
	permits := semaphore.NewWeighted(int64(workers))
	ctx := context.Background()
	put := func(task func()) {
		check(permits.Acquire(ctx, 1))
		go func() {
			task()
			permits.Release(1)
		}()
	}
	return blocking(plain, put, func() { check(permits.Acquire(ctx, int64(workers))) })
}

func startErrgroup(workers, _ int) Pool {
	var group errgroup.Group
	group.SetLimit(workers)
	convert := func(task func()) func() error {
		return func() error { task(); return nil }
	}
	return blocking(convert, group.Go, func() { check(group.Wait()) })
}

func startConc(workers, _ int) Pool {
	p := pool.New().WithMaxGoroutines(workers)
	return blocking(plain, func(task func()) { p.Go(task) }, p.Wait)
}
