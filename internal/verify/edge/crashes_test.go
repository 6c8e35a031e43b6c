package edge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-go/cadre/executor/supervised"
)

// TestCrashes has 10,000 supervised workers die at the same time.
func TestCrashes(t *testing.T) {
	t.Run("restarted at once", func(t *testing.T) {
		atTwoSizes(t, 10_000, func(c *costs) { crash(c, "at once", supervised.Immediate()) })
	})
	t.Run("restarted after a delay", func(t *testing.T) {
		atTwoSizes(t, 10_000, func(c *costs) { crash(c, "delayed", supervised.Constant(time.Millisecond)) })
	})
	t.Run("jobs tried again", func(t *testing.T) { atTwoSizes(t, 10_000, retry) })
	t.Run("stopped at work", func(t *testing.T) { atTwoSizes(t, 10_000, stopAtWork) })
	t.Run("beyond the largest backlog", func(t *testing.T) {
		cfg := crew(10, supervised.Temporary(supervised.RetireRole))
		cfg.Backlog = math.MaxInt
		_, err := supervised.New(context.Background(), cfg)
		matches(t, err, supervised.ErrConfig)
		equal(t, "the field", as[*supervised.ConfigError](t, err).Field, "Backlog")
	})
}

// job stands still until gate is closed, and then kills its worker as long as
// there are deaths left.
type job struct {
	began, deaths *atomic.Int64
	gate          chan struct{}
}

func newJob(deaths int) job {
	j := job{new(atomic.Int64), new(atomic.Int64), make(chan struct{})}
	j.deaths.Store(int64(deaths))
	return j
}

type (
	crewConfig = supervised.Config[job, int]
	crewPool   = supervised.Pool[job, int]
	ticket     = supervised.Ticket[int]
)

// crew is a config with n workers.
func crew(n int, recovery supervised.Recovery) crewConfig {
	roles := make([]supervised.Role, n)
	for i := range roles {
		roles[i] = supervised.Role(fmt.Sprint(i))
	}
	return crewConfig{
		Roles: roles, Backlog: n, Activations: 1, Interruption: supervised.Fail, Recovery: recovery,
		OnDiagnostic: func(supervised.Diagnostic) {},
		Factory: func(context.Context, supervised.Role) (supervised.Worker[job, int], error) {
			return supervised.HandlerFunc[job, int](func(ctx context.Context, a supervised.Assignment[job, int]) error {
				j := a.Job()
				j.began.Add(1)
				select {
				case <-j.gate:
				case <-ctx.Done():
					return nil
				}
				if j.deaths.Add(-1) >= 0 {
					panic("a job that kills its worker")
				}
				return a.Complete(1)
			}), nil
		},
	}
}

// occupy submits n times j, and waits until that many workers have it.
func occupy(t *testing.T, p *crewPool, j job, n, workers int) []*ticket {
	t.Helper()
	tickets := make([]*ticket, n)
	for i := range tickets {
		var err error
		tickets[i], err = p.Submit(context.Background(), j)
		check(t, err)
	}
	until(t, "all are at work", func() bool { return j.began.Load() == int64(workers) })
	return tickets
}

// notices counts restarts, and roles that were lost since the budget was spent.
type notices struct{ restarted, denied atomic.Int64 }

func (n *notices) of(d supervised.Diagnostic) {
	switch {
	case d.Kind == supervised.WorkerRestarted:
		n.restarted.Add(1)
	case d.Kind == supervised.RoleRetired && errors.As(d.Cause, new(*supervised.BudgetError)):
		n.denied.Add(1)
	}
}

// returned awaits the outcomes, and demands that all came back for that reason.
func returned(t *testing.T, tickets []*ticket, why supervised.ReturnReason) {
	t.Helper()
	ctx := bounded(t)
	for _, tk := range tickets {
		_, err := tk.Outcome.Await(ctx)
		equal(t, "why a job came back", as[*supervised.ReturnedError[job]](t, err).Reason, why)
	}
}

// restarts is how many there have been.
func restarts(p *crewPool) (n int) {
	for _, r := range p.Stats().Roles {
		n += int(r.Restarts)
	}
	return n
}

// crash has all workers die as often as the budget allows, and once more.
func crash(c *costs, name string, backoff supervised.Backoff) {
	t, before, empty := c.t, runtime.NumGoroutine(), memory()
	budget := supervised.Budget{Max: c.n, Window: time.Hour}
	cfg := crew(c.n, supervised.Permanent(budget, backoff, supervised.RetireRole))
	told := new(notices)
	cfg.OnDiagnostic = told.of
	var p *crewPool
	c.took("workers die, "+name+": New", func() {
		var err error
		p, err = supervised.New(context.Background(), cfg)
		check(t, err)
	})
	goroutines(t, before+c.n+1) // the timer's, if any
	c.holds("idle supervised workers", empty, memory(), 8192)

	for round := range 2 {
		j := newJob(c.n)
		var tickets []*ticket
		c.took(fmt.Sprintf("workers die, %s: round %d, submit", name, round), func() { tickets = occupy(t, p, j, c.n, c.n) })
		c.took(fmt.Sprintf("workers die, %s: round %d, crash", name, round), func() {
			close(j.gate)
			returned(t, tickets, supervised.WorkerStopped)
			if round == 0 {
				until(t, "all are restarted", func() bool { return told.restarted.Load() == int64(c.n) })
			} else {
				until(t, "all are lost", func() bool { return told.denied.Load() == int64(c.n) })
			}
		})
		equal(t, "restarts", restarts(p), c.n)
	}
	_, err := p.Submit(context.Background(), newJob(0))
	matches(t, err, supervised.ErrNoWorkers)
	s := p.Stats()
	equal(t, "accepted", s.Accepted, uint64(2*c.n))
	equal(t, "settled", s.Settled, uint64(2*c.n))
	check(t, p.Shutdown(bounded(t)))
	await(t, "Done", p.Done())
	goroutines(t, before)
	c.back("workers that died", empty, goroutine)
}

// retry has the jobs of all workers go back to where they stood, ahead of as many
// that wait.
func retry(c *costs) {
	t, before := c.t, runtime.NumGoroutine()
	budget := supervised.Budget{Max: c.n, Window: time.Hour}
	cfg := crew(c.n, supervised.Permanent(budget, supervised.Immediate(), supervised.RetireRole))
	cfg.Interruption = supervised.Retry
	told := new(notices)
	cfg.OnDiagnostic = told.of
	p, err := supervised.New(context.Background(), cfg)
	check(t, err)
	deadly, harmless := newJob(c.n), newJob(0)
	first := occupy(t, p, deadly, c.n, c.n)
	rest := occupy(t, p, harmless, c.n, 0)
	close(harmless.gate)
	c.took("jobs tried again: crash, and complete", func() {
		close(deadly.gate)
		ctx := bounded(t)
		for _, tk := range append(first, rest...) {
			_, err := tk.Outcome.Await(ctx)
			check(t, err)
		}
		until(t, "all are restarted", func() bool { return told.restarted.Load() == int64(c.n) })
	})
	s := p.Stats()
	equal(t, "settled", s.Settled, uint64(2*c.n))
	equal(t, "restarts", restarts(p), c.n)
	check(t, p.Shutdown(bounded(t)))
	await(t, "Done", p.Done())
	goroutines(t, before)
}

// stopAtWork has all workers be told to stop with a job in hand and another one
// waiting.
func stopAtWork(c *costs) {
	t, before := c.t, runtime.NumGoroutine()
	p, err := supervised.New(context.Background(), crew(c.n, supervised.Temporary(supervised.RetireRole)))
	check(t, err)
	tickets := occupy(t, p, newJob(0), 2*c.n, c.n)
	c.took("workers are stopped", func() {
		check(t, p.Shutdown(bounded(t)))
		await(t, "Done", p.Done())
	})
	returned(t, tickets, supervised.PoolShutdown)
	s := p.Stats()
	equal(t, "settled", s.Settled, uint64(2*c.n))
	equal(t, "mode", s.Mode, "stopped")
	goroutines(t, before)
}
