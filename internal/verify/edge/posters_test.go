package edge

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cadre-go/cadre/executor"
)

// TestPosters has 100,000 wait for room in a full queue.
func TestPosters(t *testing.T) {
	t.Run("served", func(t *testing.T) { atTwoSizes(t, 100_000, func(c *costs) { posters(c, false) }) })
	t.Run("refused at the close", func(t *testing.T) { atTwoSizes(t, 100_000, func(c *costs) { posters(c, true) }) })
	t.Run("in order", func(t *testing.T) {
		n := sizes(100_000)[0]
		synctest.Test(t, func(t *testing.T) { postersInOrder(t, n) })
	})
}

// posters has half of those that wait lose patience, and the others either get
// room or see the pool close.
func posters(c *costs, closed bool) {
	t, before, empty := c.t, runtime.NumGoroutine(), memory()
	p, err := executor.New(executor.Config{Size: 1, QueueLimit: 1})
	check(t, err)
	release := holdUp(t, p, 1)
	check(t, p.Post(context.Background(), func(context.Context) {}))
	patience, cancel := context.WithCancel(context.Background())
	defer cancel()
	var ran, accepted, impatient, refused atomic.Int64
	w, rest := newCrowd(t), newCrowd(t)
	post := func(ctx context.Context) {
		switch err := p.PostWait(ctx, func(context.Context) { ran.Add(1) }); {
		case err == nil:
			accepted.Add(1)
		case errors.Is(err, executor.ErrRejected) && errors.Is(err, context.Canceled):
			impatient.Add(1)
		case errors.Is(err, executor.ErrRejected) && errors.Is(err, executor.ErrClosed):
			refused.Add(1)
		}
	}
	name := fmt.Sprintf("posters, closed=%v: ", closed)
	c.took(name+"PostWait", func() {
		for range c.n / 2 { // every other one
			w.add(1, func(int) { post(patience) })
			rest.add(1, func(int) { post(context.Background()) })
		}
		w.settle(c.n)
	})
	c.holds("posters that wait", empty, memory(), 6144)
	c.took(name+"end of the contexts of half", func() { cancel(); w.gone() })
	equal(t, "lost patience", impatient.Load(), int64(c.n/2))
	e := as[*executor.RejectedError](t, p.Post(context.Background(), func(context.Context) {}))
	matches(t, e, executor.ErrQueueFull)
	c.took(name+"rest", func() {
		shut := make(chan error, 1)
		if closed {
			go func() { shut <- p.Shutdown(bounded(t)) }()
			rest.gone()
			release()
		} else {
			release()
			rest.gone()
			go func() { shut <- p.Shutdown(bounded(t)) }()
		}
		check(t, await(t, "Shutdown", shut))
	})
	served := int64(c.n / 2)
	if closed {
		served = 0
	}
	equal(t, "accepted", accepted.Load(), served)
	equal(t, "ran", ran.Load(), served)
	equal(t, "refused", refused.Load(), int64(c.n/2)-served)
	equal(t, "Finished", p.Stats().Finished, uint64(served)+2)
	goroutines(t, before)
	c.back("posters", empty, goroutine)
}

// postersInOrder knows of each poster that it waits before the next one comes.
func postersInOrder(t *testing.T, n int) {
	p, err := executor.New(executor.Config{Size: 1, QueueLimit: 1})
	check(t, err)
	gate := make(chan struct{})
	check(t, p.Post(context.Background(), func(context.Context) { <-gate }))
	check(t, p.Post(context.Background(), func(context.Context) {}))
	next, wrong := 0, 0
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			err := p.PostWait(context.Background(), func(context.Context) {
				if i != next {
					wrong++
				}
				next = i + 1
			})
			if err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
	}
	close(gate)
	all.Wait()
	check(t, p.Shutdown(context.Background()))
	equal(t, "the last task that ran", next, n)
	equal(t, "tasks out of order", wrong, 0)
}
