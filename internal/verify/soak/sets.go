package main

import (
	"context"
	"errors"
	"time"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/executor/supervised"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/timer"
)

// sets are pools, timers, leases and workers that are made, filled, and ended in
// every way while they are full.
type sets struct{ *book }

func newSets() (*desk, error) {
	b := newBook("sets")
	return &desk{book: b, subject: sets{b}, clients: 4, pace: 100 * time.Millisecond}, nil
}

func (sets) watch() int           { return 0 }
func (sets) rest(context.Context) {}
func (sets) end(context.Context)  {}

func (s sets) play(c *player) {
	start := time.Now()
	switch c.IntN(4) {
	case 0:
		s.pool(c)
	case 1:
		s.timer(c)
	case 2:
		s.leases(c)
	case 3:
		s.workers(c)
	}
	s.since(start)
}

// bound is the context of a shutdown: with time enough, with little, with none.
func bound(c *player) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c, []time.Duration{patience, 2 * time.Millisecond, 0}[c.IntN(3)])
}

// over waits for the last goroutine of what was ended.
func (s sets) over(what string, done <-chan struct{}) {
	select {
	case <-done:
		s.enter(what + " ended")
	case <-time.After(patience):
		s.bad("the %s does not end", what)
	}
}

// pool ends one with tasks that run, tasks that are queued, and delays.
func (s sets) pool(c *player) {
	p, err := executor.New(executor.Config{Name: "set", Size: 2, QueueLimit: 8, OnDiscard: executor.Discard})
	if err != nil {
		s.bad("pool: %v", err)
		return
	}
	var all []*future.Future[int]
	for range 12 {
		all = append(all, executor.Submit(c, p, func(ctx context.Context) (int, error) {
			select {
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			case <-time.After(time.Millisecond):
				return 1, nil
			}
		}))
	}
	all = append(all, executor.SubmitAfter(c, p, time.Minute, func(context.Context) (int, error) { return 1, nil }))
	ctx, cancel := bound(c)
	defer cancel()
	var left *executor.ShutdownError
	if err := p.Shutdown(ctx); err != nil && !errors.As(err, &left) {
		s.bad("pool: %v", err)
	}
	s.over("pool", p.Done())
	for _, f := range all {
		if o, ok := f.Outcome(); !ok {
			s.bad("a future is pending, and its pool has ended")
		} else if o.Err != nil && !errors.Is(o.Err, executor.ErrClosed) && !errors.Is(o.Err, executor.ErrRejected) {
			s.bad("a future of a pool that has ended: %v", o.Err)
		}
	}
	if st := p.Stats(); st.Accepted != st.Finished+st.Skipped+st.Discarded {
		s.bad("the numbers do not add up: %+v", st)
	}
}

// timer ends one with delays outstanding.
func (s sets) timer(c *player) {
	t, err := timer.New(timer.Config{Name: "set"})
	if err != nil {
		s.bad("timer: %v", err)
		return
	}
	var all []*future.Future[time.Time]
	for i := range 50 {
		all = append(all, t.Delay(c, time.Duration(i%25)*time.Millisecond*10))
	}
	if _, err := t.Every(c, time.Millisecond, func(context.Context) error { return nil }); err != nil {
		s.bad("ticker: %v", err)
	}
	ctx, cancel := bound(c)
	defer cancel()
	if err := t.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		s.bad("timer: %v", err)
	}
	s.over("timer", t.Done())
	for _, f := range all {
		if o, ok := f.Outcome(); !ok || o.Err != nil && !errors.Is(o.Err, timer.ErrClosed) {
			s.bad("a delay of a timer that has ended: %v %v", ok, o.Err)
		}
	}
}

// leases ends a pool while acquisitions wait.
func (s sets) leases(c *player) {
	p, err := lease.New(lease.Config[int]{
		Name: "set", Slots: 2, MaxWaiters: 8,
		Connect: func(context.Context) (int, error) { return 1, nil }, Dispose: func(int) {},
	})
	if err != nil {
		s.bad("leases: %v", err)
		return
	}
	var held []lease.Lease[int]
	for range 2 {
		if l, err := p.Acquire(c); err == nil {
			held = append(held, l)
		} else {
			s.bad("leases: %v", err)
		}
	}
	answers := make(chan error, 10)
	for range 10 {
		go func() {
			l, err := p.Acquire(c)
			if err == nil {
				err = l.Release()
			}
			answers <- err
		}()
	}
	if c.chance(2) {
		_ = p.Close()
	}
	for _, l := range held {
		if err := l.Release(); err != nil {
			s.bad("leases: %v", err)
		}
	}
	ctx, cancel := bound(c)
	defer cancel()
	_ = p.Shutdown(ctx)
	for range 10 {
		if err := <-answers; err != nil && !errors.Is(err, lease.ErrClosed) && !errors.Is(err, lease.ErrSaturated) {
			s.bad("an acquisition of leases that have ended: %v", err)
		}
	}
	if err := p.Shutdown(c); err != nil {
		s.bad("leases: %v", err)
	}
	s.over("lease pool", p.Done())
}

// workers ends a supervised pool, or lets it end by itself when the budget of
// its restarts is spent.
func (s sets) workers(c *player) {
	spend := c.chance(2)
	p, err := supervised.New(c, supervised.Config[int, int]{
		Name: "set", Roles: roles[:2], Backlog: 8, Activations: 2, Interruption: supervised.Retry, MaxAttempts: 2,
		Recovery: supervised.Permanent(supervised.Budget{Max: 3, Window: time.Minute}, supervised.Immediate(), supervised.StopPool),
		Factory: func(context.Context, supervised.Role) (supervised.Worker[int, int], error) {
			return supervised.HandlerFunc[int, int](func(ctx context.Context, a supervised.Assignment[int, int]) error {
				if spend {
					return errCrash
				}
				return a.Complete(a.Job())
			}), nil
		},
	})
	if err != nil {
		s.bad("workers: %v", err)
		return
	}
	var tickets []*supervised.Ticket[int]
	for i := range 12 {
		if ticket, err := p.Submit(c, i); err == nil {
			tickets = append(tickets, ticket)
		}
	}
	if !spend {
		ctx, cancel := bound(c)
		defer cancel()
		_ = p.Shutdown(ctx)
	}
	s.over("supervised pool", p.Done())
	for _, ticket := range tickets {
		o, ok := ticket.Outcome.Outcome()
		var returned *supervised.ReturnedError[int]
		if !ok || o.Err != nil && !errors.As(o.Err, &returned) {
			s.bad("a job of a pool that has ended: %v %v", ok, o.Err)
		}
	}
}
