package workloads

import (
	"slices"

	"github.com/cadre-go/cadre/bench/internal/pools"
	"github.com/cadre-go/cadre/bench/internal/sampling"
)

const rowGrowth = "growth: neighboring points (x2)"

// contender is one subject of a sweep, which can be measured at any size.
type contender struct {
	name string
	at   func(size, ops int) sampling.Sample
}

// sweeps measures how the cost of an operation changes with how many take part
// and how much is there.
func sweeps() []sampling.Workload {
	return []sampling.Workload{
		sweep("post/producers", "Post+run: producers, 2 workers", "producers", 1, 64, 128_000, posters(func(kind pools.Kind, size, ops int) sampling.Sample {
			return postAll(kind, 2, size, ops)
		})),
		sweep("post/workers", "Post+run: workers, 8 producers", "workers", 2, 256, 128_000, posters(func(kind pools.Kind, size, ops int) sampling.Sample {
			return postAll(kind, size, 8, ops)
		})),
		sweep("post/entries", "Post+run of as many tasks as the queue holds, then drain: 2 workers", "entries", 1<<10, 1<<20, 1<<20, posters(fillAndDrain)),
		sweep("submit/inflight", "Submit + Await: in flight, 2 workers", "in flight", 1, 1024, 50<<10, submitters(func(start func(workers, inFlight int) caller, size, ops int) sampling.Sample {
			return callAll(start(2, size), size, ops)
		})),
		sweep("submit/workers", "Submit + Await: workers, 1,024 in flight", "workers", 2, 256, 50<<10, submitters(func(start func(workers, inFlight int) caller, size, ops int) sampling.Sample {
			return callAll(start(size, 1024), 1024, ops)
		})),
		sweep("nested/depth", "nested Submit + Await, a pool of one worker: levels; per level", "levels", 1<<10, 1<<14, 1<<15, []contender{
			{pools.Cadre, func(size, ops int) sampling.Sample { return nestCadre(ops, size) }},
			{"goroutine for each level", func(size, ops int) sampling.Sample { return nestGoroutines(ops, size) }},
		}),
		sweep("timer/outstanding", "timer: create+cancel: outstanding", "outstanding", 1<<10, 1<<20, 200_000, alarmers()),
		sweep("lease/goroutines", "lease: goroutines on 2 slots, holding across a yield", "goroutines", 4, 256, 1<<16, lessees()),
		sweep("supervised/submitters", "supervised: submitters, 4 roles", "submitters", 1, 64, 1<<15, servers(func(start func(roles int) service, size, ops int) sampling.Sample {
			return serveJobs(start(4), size, ops)
		})),
		sweep("supervised/roles", "supervised: roles, 8 submitters", "roles", 2, 256, 1<<15, servers(func(start func(roles int) service, size, ops int) sampling.Sample {
			return serveJobs(start(size), 8, ops)
		})),
	}
}

// sweep measures every contender at sizes that double from first to last. The
// first contender is the library under test, the second the reference.
func sweep(name, title, axis string, first, last, ops int, contenders []contender) sampling.Workload {
	w := sampling.Workload{
		Name: "growth/" + name, Title: "growth of " + title, Axis: axis,
		Ops: ops, Unit: 1024, Reference: contenders[1].name,
		Budgets: []sampling.Budget{{Row: rowGrowth, Subject: contenders[0].name, Step: 1.5}},
	}
	for size := first; size <= last; size *= 2 {
		for _, c := range contenders {
			w.Subjects = append(w.Subjects, sampling.Subject{Name: c.name, X: size, Run: func(ops int) sampling.Sample {
				return c.at(size, ops)
			}})
		}
	}
	return w
}

func posters(at func(kind pools.Kind, size, ops int) sampling.Sample) []contender {
	var all []contender
	for _, name := range []string{pools.Cadre, pools.Channel, pools.PondNonblocking, pools.Gopool} {
		kinds := pools.Kinds()
		kind := kinds[slices.IndexFunc(kinds, func(k pools.Kind) bool { return k.Name == name })]
		all = append(all, contender{name, func(size, ops int) sampling.Sample { return at(kind, size, ops) }})
	}
	return all
}

// fillAndDrain posts as many tasks as the queue has room for and waits until
// they have run, again and again.
func fillAndDrain(kind pools.Kind, size, ops int) sampling.Sample {
	pool := kind.Start(2, size)
	defer pool.Close()
	var c countdown
	post := pool.Load([]func(){c.task})
	fill := func(tasks int) {
		c.start(tasks)
		for range tasks {
			post(0)
		}
		<-c.done
	}
	fill(size)
	c.ran.Store(0)
	s := sampling.Measure(ops, func() {
		for left := ops; left > 0; left -= size {
			fill(min(size, left))
		}
	})
	s.Ran = int(c.ran.Load())
	return s
}

func submitters(at func(start func(workers, inFlight int) caller, size, ops int) sampling.Sample) []contender {
	var all []contender
	for _, name := range []string{pools.Cadre, handOff, pondFor} {
		kinds := callers()
		kind := kinds[slices.IndexFunc(kinds, func(k callerKind) bool { return k.name == name })]
		all = append(all, contender{name, func(size, ops int) sampling.Sample { return at(kind.start, size, ops) }})
	}
	return all
}

func alarmers() []contender {
	var all []contender
	for _, kind := range alarmKinds() {
		if kind.name == endable {
			continue
		}
		all = append(all, contender{kind.name, func(size, ops int) sampling.Sample {
			return createCancel(kind, min(size, 10*ops), ops)
		}})
	}
	return all
}

func lessees() []contender {
	var all []contender
	for _, kind := range lessors()[:3] {
		all = append(all, contender{kind.name, func(size, ops int) sampling.Sample {
			return contend(kind.start(2), size, ops, holds["yield"])
		}})
	}
	return all
}

func servers(at func(start func(roles int) service, size, ops int) sampling.Sample) []contender {
	var all []contender
	for _, kind := range serviceKinds() {
		all = append(all, contender{kind.name, func(size, ops int) sampling.Sample { return at(kind.start, size, ops) }})
	}
	return all
}
