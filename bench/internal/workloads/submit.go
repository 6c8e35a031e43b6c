package workloads

import (
	"context"
	"fmt"

	"github.com/alitto/pond/v2"

	"github.com/cadre-go/cadre/bench/internal/pools"
	"github.com/cadre-go/cadre/bench/internal/sampling"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
)

const (
	rowSubmit = "Submit + Await"
	pondFor   = "pond, Submit"
	handOff   = "channel hand-off"
	endable   = "cadre, ctx that can end"
)

// caller is a pool that hands results back: call has it compute v, and await
// returns what came of the call in the same place. There is one task for each
// place, made beforehand: what is allocated, the pool allocates.
type caller struct {
	call  func(place, v int)
	await func(place int) int
	close func()
}

// submits has one goroutine hand over tasks with a result, and await these.
func submits() []sampling.Workload {
	var all []sampling.Workload
	for _, workers := range []int{2, 8} {
		for _, inFlight := range []int{1, 1000} {
			w := sampling.Workload{
				Name:      fmt.Sprintf("submit/workers=%d/inflight=%d", workers, inFlight),
				Title:     fmt.Sprintf("Submit + Await: %d workers, %d in flight", workers, inFlight),
				Ops:       100_000,
				Unit:      inFlight,
				Reference: handOff,
			}
			for _, c := range callers() {
				w.Subjects = append(w.Subjects, sampling.Subject{Name: c.name, Lacks: c.lacks, Run: func(ops int) sampling.Sample {
					return callAll(c.start(workers, inFlight), inFlight, ops)
				}})
			}
			w.Budgets = []sampling.Budget{
				{Row: rowSubmit, Subject: pools.Cadre, Against: []string{pondFor}, Most: 0.4},
				{Row: rowSubmit, Subject: pools.Cadre, Figure: sampling.Allocs, Most: 4},
			}
			if inFlight == 1 {
				w.Budgets = append(w.Budgets, sampling.Budget{
					Row: rowSubmit, Subject: pools.Cadre, Against: []string{handOff}, Most: 1.3,
				})
			}
			all = append(all, w)
		}
	}
	return all
}

type callerKind struct {
	name  string
	lacks string
	start func(workers, inFlight int) caller
}

func callers() []callerKind {
	kinds := []callerKind{
		{pools.Cadre, "nothing", func(workers, inFlight int) caller {
			return submitCadre(context.Background(), workers, inFlight, func() {})
		}},
		{endable, "nothing", func(workers, inFlight int) caller {
			ctx, cancel := context.WithCancel(context.Background())
			return submitCadre(ctx, workers, inFlight, cancel)
		}},
		{pondFor, "cancellation of a task and by a caller's ctx, bound of Wait, an outcome after Goexit, disposal, label hygiene", submitPond},
	}
	for _, kind := range pools.Kinds() {
		name := kind.Name + " + channel"
		switch kind.Name {
		case pools.Cadre, pools.Labeled:
			continue
		case pools.Channel:
			name = handOff
		}
		kinds = append(kinds, callerKind{name, "as " + kind.Name + "; also errors, cancellation and an outcome for a task that does not return", func(workers, inFlight int) caller {
			return handBack(kind.Start(workers, queueLimit), inFlight)
		}})
	}
	return kinds
}

func submitCadre(ctx context.Context, workers, inFlight int, end func()) caller {
	pool, err := executor.New(executor.Config{Size: workers, QueueLimit: queueLimit})
	check(err)
	results := make([]*future.Future[int], inFlight)
	values := make([]int, inFlight)
	tasks := make([]func(context.Context) (int, error), inFlight)
	for place := range tasks {
		tasks[place] = func(context.Context) (int, error) { return values[place], nil }
	}
	return caller{
		call: func(place, v int) {
			values[place] = v
			results[place] = executor.Submit(ctx, pool, tasks[place])
		},
		await: func(place int) int {
			v, err := results[place].Await(ctx)
			check(err)
			return v
		},
		close: func() { end(); check(pool.Close()) },
	}
}

func submitPond(workers, inFlight int) caller {
	pool := pond.NewResultPool[int](workers, pond.WithQueueSize(queueLimit))
	results := make([]pond.ResultTask[int], inFlight)
	values := make([]int, inFlight)
	tasks := make([]func() int, inFlight)
	for place := range tasks {
		tasks[place] = func() int { return values[place] }
	}
	return caller{
		call: func(place, v int) {
			values[place] = v
			results[place] = pool.Submit(tasks[place])
		},
		await: func(place int) int {
			v, err := results[place].Wait()
			check(err)
			return v
		},
		close: pool.StopAndWait,
	}
}

// handBack sends each result through a channel of its own, as one would with a
// pool that has no results.
func handBack(pool pools.Pool, inFlight int) caller {
	results := make([]chan int, inFlight)
	values := make([]int, inFlight)
	tasks := make([]func(), inFlight)
	for place := range tasks {
		tasks[place] = func() { results[place] <- values[place] }
	}
	post := pool.Load(tasks)
	return caller{
		call: func(place, v int) {
			results[place], values[place] = make(chan int, 1), v
			post(place)
		},
		await: func(place int) int { return <-results[place] },
		close: pool.Close,
	}
}

func callAll(c caller, inFlight, ops int) sampling.Sample {
	defer c.close()
	ran := 0
	run := func(ops int) {
		for first := 0; first < ops; first += inFlight {
			for place := range inFlight {
				c.call(place, first+place)
			}
			for place := range inFlight {
				if c.await(place) == first+place {
					ran++
				}
			}
		}
	}
	run(inFlight)
	ran = 0
	s := sampling.Measure(ops, func() { run(ops) })
	s.Ran = ran
	return s
}
