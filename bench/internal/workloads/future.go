package workloads

import (
	"context"

	"github.com/samber/mo"

	"github.com/cadre-go/cadre/bench/internal/pools"
	"github.com/cadre-go/cadre/bench/internal/sampling"
	"github.com/cadre-go/cadre/future"
)

const (
	rowFuture = "future: create, complete, await"
	chanOfOne = "channel of 1, select with ctx"
)

// promise is one kind of value that arrives later.
type promise[T any] struct {
	name     string
	lacks    string
	create   func() T
	complete func(T, int)
	await    func(context.Context, T) int
}

// futures compares values that arrive later: complete before they are awaited,
// and while somebody waits for them. The ctx of the wait can end, and does not.
func futures() []sampling.Workload {
	settled := sampling.Workload{
		Name: "future/settled", Title: "future: create, complete, then await, on one goroutine",
		Ops: 500_000, Reference: chanOfOne,
		Budgets: []sampling.Budget{
			{Row: rowFuture, Subject: pools.Cadre, Against: []string{chanOfOne}, Most: 0.4},
			{Row: rowFuture, Subject: pools.Cadre, Figure: sampling.Allocs, Most: 1},
		},
	}
	parked := sampling.Workload{
		Name: "future/parked", Title: "future: create, have another goroutine complete it, await meanwhile",
		Ops: 100_000, Reference: chanOfOne,
		Budgets: []sampling.Budget{
			{Row: rowFuture, Subject: pools.Cadre, Against: []string{chanOfOne}, Most: 1.1},
			{Row: rowFuture, Subject: pools.Cadre, Figure: sampling.Allocs, Most: 1},
		},
	}
	cadre := promise[*future.Completer[int]]{
		name:     pools.Cadre,
		lacks:    "nothing",
		create:   func() *future.Completer[int] { return future.NewCompleter[int]() },
		complete: func(c *future.Completer[int], v int) { c.Complete(v) },
		await: func(ctx context.Context, c *future.Completer[int]) int {
			v, err := c.Future().Await(ctx)
			check(err)
			return v
		},
	}
	channel := promise[chan int]{
		name:     chanOfOne,
		lacks:    "a second reader, errors, cancellation, callbacks, settling once, disposal",
		create:   func() chan int { return make(chan int, 1) },
		complete: func(ch chan int, v int) { ch <- v },
		await: func(ctx context.Context, ch chan int) int {
			select {
			case v := <-ch:
				return v
			case <-ctx.Done():
				return -1
			}
		},
	}
	bare := channel
	bare.name, bare.lacks = "channel of 1, no ctx", "as "+chanOfOne+"; also a bound of the wait"
	bare.await = func(_ context.Context, ch chan int) int { return <-ch }

	both(&settled, &parked, cadre)
	both(&settled, &parked, channel)
	both(&settled, &parked, bare)
	both(&settled, &parked, closedChannel)
	both(&settled, &parked, monad)
	return []sampling.Workload{settled, parked}
}

// broadcast is a value behind a channel that is closed when it is there, which
// any number can await.
type broadcast struct {
	value int
	done  chan struct{}
}

var closedChannel = promise[*broadcast]{
	name:     "value and closed channel, select with ctx",
	lacks:    "errors, cancellation, callbacks, settling once, disposal",
	create:   func() *broadcast { return &broadcast{done: make(chan struct{})} },
	complete: func(b *broadcast, v int) { b.value = v; close(b.done) },
	await: func(ctx context.Context, b *broadcast) int {
		select {
		case <-b.done:
			return b.value
		case <-ctx.Done():
			return -1
		}
	},
}

// resolver is a future of samber/mo, which starts a goroutine to run the
// function that resolves it; here that gives its resolve away.
type resolver struct {
	future  *mo.Future[int]
	resolve chan func(int)
}

var monad = promise[resolver]{
	name:  "samber/mo, no ctx",
	lacks: "a bound of the wait, a producer without a goroutine, panics that are contained, disposal",
	create: func() resolver {
		r := resolver{resolve: make(chan func(int), 1)}
		r.future = mo.NewFuture(func(resolve func(int), _ func(error)) { r.resolve <- resolve })
		return r
	},
	complete: func(r resolver, v int) { (<-r.resolve)(v) },
	await: func(_ context.Context, r resolver) int {
		v, err := r.future.Collect()
		check(err)
		return v
	},
}

// both adds a kind to the two workloads.
func both[T any](settled, parked *sampling.Workload, p promise[T]) {
	settled.Subjects = append(settled.Subjects, sampling.Subject{Name: p.name, Lacks: p.lacks, Run: p.settled})
	parked.Subjects = append(parked.Subjects, sampling.Subject{Name: p.name, Lacks: p.lacks, Run: p.parked})
}

func (p promise[T]) settled(ops int) sampling.Sample {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ran := 0
	s := sampling.Measure(ops, func() {
		for i := range ops {
			f := p.create()
			p.complete(f, i)
			if p.await(ctx, f) == i {
				ran++
			}
		}
	})
	s.Ran = ran
	return s
}

// parked hands each value to a standing goroutine that completes it, which as a
// rule runs when the one that awaits has gone to sleep.
func (p promise[T]) parked(ops int) sampling.Sample {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pending := make(chan T)
	go func() {
		i := 0
		for f := range pending {
			p.complete(f, i)
			i++
		}
	}()
	defer close(pending)
	ran := 0
	s := sampling.Measure(ops, func() {
		for i := range ops {
			f := p.create()
			pending <- f
			if p.await(ctx, f) == i {
				ran++
			}
		}
	})
	s.Ran = ran
	return s
}
