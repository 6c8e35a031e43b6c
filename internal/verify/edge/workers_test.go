package edge

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/cadre-go/cadre/executor"
)

// TestWorkers has 10,000 workers in one pool, all at work at the same time.
func TestWorkers(t *testing.T) {
	t.Run("drained", func(t *testing.T) {
		atTwoSizes(t, 10_000, func(c *costs) {
			workers(c, "drained", func(p *executor.Pool) { check(t, p.Shutdown(bounded(t))) })
		})
	})
	t.Run("closed by a task", func(t *testing.T) {
		atTwoSizes(t, 10_000, func(c *costs) {
			workers(c, "closed by a task", func(p *executor.Pool) {
				ended := make(chan error, 1)
				check(t, p.Post(context.Background(), func(context.Context) { ended <- p.Shutdown(bounded(t)) }))
				check(t, await(t, "Shutdown in a task", ended))
			})
		})
	})
	t.Run("beyond the largest", func(t *testing.T) {
		_, err := executor.New(executor.Config{Size: most + 1})
		matches(t, err, executor.ErrConfig)
		equal(t, "the field", as[*executor.ConfigError](t, err).Field, "Size")
	})
}

func workers(c *costs, name string, end func(*executor.Pool)) {
	t, before, empty := c.t, runtime.NumGoroutine(), memory()
	var p *executor.Pool
	c.took(name+": New", func() {
		var err error
		p, err = executor.New(executor.Config{Size: c.n, QueueLimit: c.n})
		check(t, err)
	})
	goroutines(t, before+c.n)
	c.holds("idle workers", empty, memory(), 6144)

	gate := make(chan struct{})
	var running, ran atomic.Int64
	c.took(name+": a task for each", func() {
		for range c.n {
			check(t, p.Post(context.Background(), func(context.Context) {
				running.Add(1)
				<-gate
				ran.Add(1)
			}))
		}
		until(t, "all run", func() bool { return running.Load() == int64(c.n) })
		equal(t, "running", p.Stats().Running, c.n)
		equal(t, "goroutines beside the workers", runtime.NumGoroutine()-before-c.n < 8, true)
		close(gate)
	})
	c.took(name+": end", func() {
		end(p)
		await(t, "Done", p.Done())
	})
	equal(t, "tasks that ran", ran.Load(), int64(c.n))
	equal(t, "workers", p.Stats().Workers, 0)
	goroutines(t, before)
	c.back("workers", empty, goroutine)
}
