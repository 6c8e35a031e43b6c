package main

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/executor/supervised"
)

// errCrash is how a worker fails that fails.
var errCrash = errors.New("crash, as told")

// errand is what a worker is asked to do: to echo, or to crash instead, as often
// as it says.
type errand struct {
	id      int64
	crashes *atomic.Int32 // still to come
	how     int
	takes   time.Duration
}

// crashes is a supervised pool whose workers crash all the time, within the
// budget of their restarts.
type crashes struct {
	*book
	pool *supervised.Pool[errand, int64]

	accepted, settled, rejected, completed, crashed atomic.Uint64
}

// backlog bounds the jobs that wait, but for those that come back from a worker.
const backlog = 16

var roles = []supervised.Role{"a", "b", "c", "d"}

func newCrashes() (*desk, error) {
	k := &crashes{book: newBook("jobs")}
	var err error
	k.pool, err = supervised.New(context.Background(), supervised.Config[errand, int64]{
		Name: "jobs", Roles: roles, Backlog: backlog, Activations: 2,
		Interruption: supervised.Retry, MaxAttempts: 3,
		Recovery: supervised.Permanent(supervised.Budget{Max: 10000, Window: time.Second},
			supervised.Exponential(time.Microsecond, 20*time.Microsecond), supervised.RetireRole),
		Factory: func(context.Context, supervised.Role) (supervised.Worker[errand, int64], error) {
			return supervised.HandlerFunc[errand, int64](k.handle), nil
		},
		OnDiagnostic: func(d supervised.Diagnostic) {
			k.enter(d.Kind.String())
			if d.Severity == supervised.Fault && d.Kind != supervised.AbnormalExit {
				k.bad("%v: %v", d.Kind, d.Cause)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return &desk{book: k.book, subject: k, clients: 24, pace: 80 * time.Millisecond}, nil
}

func (k *crashes) handle(ctx context.Context, a supervised.Assignment[errand, int64]) error {
	job := a.Job()
	k.sound(ctx, job.id)
	if job.how%4 == 0 {
		stray(ctx)
	}
	if job.crashes.Add(-1) >= 0 {
		k.crashed.Add(1)
		switch job.how % 4 {
		case 0:
			panic("crash, as told")
		case 1:
			panic(nil)
		case 2:
			runtime.Goexit()
		}
		return errCrash
	}
	if job.takes > 0 {
		select {
		case <-time.After(job.takes):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := a.Complete(job.id); err != nil {
		return err
	}
	k.completed.Add(1)
	return nil
}

// play submits a few jobs at once, of which one in sixteen crashes one worker or
// more.
func (k *crashes) play(c *player) {
	type open struct {
		job    errand
		ticket *supervised.Ticket[int64]
	}
	var tickets []open
	start := time.Now()
	for range 3 {
		ctx, id := stamped(c)
		job := errand{id: id, crashes: new(atomic.Int32), how: c.IntN(16), takes: time.Duration(c.IntN(3)) * time.Millisecond}
		if c.chance(16) {
			job.crashes.Store(int32(1 + c.IntN(4)))
		}
		ticket, err := k.pool.Submit(ctx, job)
		var rejected *supervised.RejectedError[errand]
		switch {
		case err == nil:
			k.accepted.Add(1)
			tickets = append(tickets, open{job, ticket})
		case errors.As(err, &rejected) && rejected.Reason == supervised.BacklogFull && rejected.Job.id == id:
			k.rejected.Add(1)
			k.enter("job rejected")
		default:
			k.bad("submit: %v", err)
		}
	}
	for _, o := range tickets {
		done, err := o.ticket.Outcome.Await(c)
		k.since(start)
		k.settled.Add(1)
		var returned *supervised.ReturnedError[errand]
		switch {
		case err == nil:
			k.enter("job completed")
			if done.Result != o.job.id || done.Job != o.ticket.ID {
				k.bad("job %d has the result %d", o.job.id, done.Result)
			}
		case errors.As(err, &returned):
			k.enter("job returned: " + returned.Reason.String())
			if returned.Job.id != o.job.id || returned.Reason != supervised.AttemptsExhausted || returned.Attempts != 3 {
				k.bad("job %d came back as job %d: %v", o.job.id, returned.Job.id, err)
			}
		default:
			k.bad("job %d: %v", o.job.id, err)
		}
	}
}

func (k *crashes) watch() int {
	s := k.pool.Stats()
	if s.Accepted != uint64(s.Queued+s.Assigned)+s.Settled || s.Queued > backlog+len(roles) || s.Assigned > len(roles) {
		k.bad("the numbers do not add up: %+v", s)
	}
	if s.Mode != "serving" {
		k.bad("the pool is %s", s.Mode)
	}
	return s.Queued
}

func (k *crashes) rest(ctx context.Context) {
	restarts := func() (n uint64) {
		for _, r := range k.pool.Stats().Roles {
			n += r.Restarts
		}
		return n
	}
	if !eventually(ctx, func() bool { return restarts() == k.crashed.Load() }) {
		k.bad("%d crashes, and %d restarts", k.crashed.Load(), restarts())
	}
	k.watch()
	k.balance()
}

func (k *crashes) balance() {
	s := k.pool.Stats()
	k.equal("jobs accepted", s.Accepted, k.accepted.Load())
	k.equal("jobs settled", s.Settled, k.accepted.Load())
	k.equal("outcomes", k.settled.Load(), k.accepted.Load())
	k.equal("jobs rejected", s.Rejected, k.rejected.Load())
	k.equal("callbacks that panicked", s.DiagnosticPanics, 0)
}

func (k *crashes) end(ctx context.Context) {
	if err := k.pool.Shutdown(ctx); err != nil {
		k.bad("shutdown: %v", err)
	}
	k.balance()
}
