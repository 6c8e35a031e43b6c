package edge

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
)

// most is the largest number of places that a pool can have.
const most = 2_097_152

// TestTasks fills one queue, runs it empty, and in another one gives it up.
func TestTasks(t *testing.T) {
	t.Run("run to the end", func(t *testing.T) {
		atTwoSizes(t, 1_000_000, func(c *costs) { runAll(c, c.n) })
	})
	if full() { // it takes a second or two
		t.Run("the largest queue there is", func(t *testing.T) {
			c := &costs{t: t, n: most - 1, each: map[string]float64{}}
			runAll(c, most-1)
		})
	}
	t.Run("beyond the largest", func(t *testing.T) {
		_, err := executor.New(executor.Config{Size: 1, QueueLimit: most})
		matches(t, err, executor.ErrConfig)
		equal(t, "the field", as[*executor.ConfigError](t, err).Field, "QueueLimit")
	})
	t.Run("given up", func(t *testing.T) {
		atTwoSizes(t, 1_000_000, giveUp)
	})
}

// holdUp has n tasks of p stand still until they are let go or canceled.
func holdUp(t *testing.T, p *executor.Pool, n int) (release func()) {
	t.Helper()
	gate := make(chan struct{})
	began := make(chan struct{}, n)
	for range n {
		check(t, p.Post(context.Background(), func(ctx context.Context) {
			began <- struct{}{}
			select {
			case <-gate:
			case <-ctx.Done():
			}
		}))
	}
	for range n {
		await(t, "a task that stands still", began)
	}
	return func() { close(gate) }
}

// runAll queues n tasks, one too many, and runs them.
func runAll(c *costs, n int) {
	t, before := c.t, runtime.NumGoroutine()
	empty := memory()
	func() {
		p, err := executor.New(executor.Config{Size: 1, QueueLimit: n})
		check(t, err)
		release := holdUp(t, p, 1)
		next, wrong := 0, 0 // of the one worker
		ctx := context.Background()
		bare := memory()
		c.took("tasks: post", func() {
			for i := range n {
				check(t, p.Post(ctx, func(context.Context) {
					if i != next {
						wrong++
					}
					next = i + 1
				}))
			}
		})
		c.holds("queued tasks", bare, memory(), 256)
		c.holds("queued tasks and the queue", empty, memory(), 384)
		goroutines(t, before+1)

		e := as[*executor.RejectedError](t, p.Post(ctx, func(context.Context) { wrong++ }))
		matches(t, e, executor.ErrQueueFull)
		equal(t, "QueueLimit of the refusal", e.QueueLimit, n)
		f := executor.Submit(ctx, p, func(context.Context) (int, error) { wrong++; return 0, nil })
		_, err = f.Await(ctx)
		matches(t, err, executor.ErrQueueFull)
		s := p.Stats()
		equal(t, "queued", s.Queued, n)
		equal(t, "rejected", s.Rejected, 2)

		release()
		c.took("tasks: run", func() { check(t, p.Shutdown(bounded(t))) })
		equal(t, "the last task that ran", next, n)
		equal(t, "tasks out of order", wrong, 0)
		equal(t, "finished", p.Stats().Finished, uint64(n)+1)
	}()
	goroutines(t, before)
	c.back("tasks", empty, nothing)
}

// tally is a slog handler that counts.
type tally struct {
	slog.Handler
	records atomic.Int64
}

func (h *tally) Enabled(context.Context, slog.Level) bool { return true }

func (h *tally) Handle(_ context.Context, r slog.Record) error {
	if r.Level == slog.LevelWarn {
		h.records.Add(1)
	}
	return nil
}

// giveUp queues n tasks of Submit, and ends the context of the shutdown.
func giveUp(c *costs) {
	t, n, before := c.t, c.n, runtime.NumGoroutine()
	empty := memory()
	func() {
		log := &tally{Handler: slog.DiscardHandler}
		var told atomic.Int64
		p, err := executor.New(executor.Config{
			Size: 2, QueueLimit: n, Logger: slog.New(log),
			OnDiscard: func(_ context.Context, reason error) {
				if errors.Is(reason, executor.ErrClosed) {
					told.Add(1)
				}
			},
		})
		check(t, err)
		holdUp(t, p, 2)
		futures := make([]*future.Future[int], n)
		settled := make([]uint8, n)
		bare := memory()
		c.took("given up: submit", func() {
			for i := range futures {
				futures[i] = executor.Submit(context.Background(), p, func(context.Context) (int, error) { return i, nil })
			}
		})
		c.holds("queued tasks with a future", bare, memory(), 1024)
		for i, f := range futures {
			f.OnSettle(func(future.Outcome[int]) { settled[i]++ })
		}

		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- p.Shutdown(ctx) }()
		until(t, "the pool is closed", func() bool {
			return errors.Is(p.Post(context.Background(), func(context.Context) {}), executor.ErrClosed)
		})
		started := cpu()
		cancel()
		err = await(t, "Shutdown", ended)
		e := as[*executor.ShutdownError](t, err)
		matches(t, err, context.Canceled)
		equal(t, "discarded", len(e.Discarded), n)
		for _, f := range futures {
			o, ok := f.Outcome()
			equal(t, "settled when Shutdown has returned", ok, true)
			matches(t, o.Err, executor.ErrClosed)
		}
		await(t, "Done", p.Done())
		c.note("given up: discard, and tell of it", cpu()-started)
		s := p.Stats()
		equal(t, "Discarded", s.Discarded, uint64(n))
		equal(t, "Finished", s.Finished, 2)
		equal(t, "Accepted", s.Accepted, uint64(n)+2)
		equal(t, "told to OnDiscard", told.Load(), int64(n))
		equal(t, "warnings", log.records.Load(), int64(n))
		for i := range settled {
			equal(t, "calls of OnSettle", settled[i], 1)
		}
	}()
	goroutines(t, before)
	c.back("discarded tasks", empty, nothing)
}
