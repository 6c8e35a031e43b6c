package workloads

import (
	"runtime"
	"sync"
	"time"

	"github.com/cadre-go/cadre/bench/internal/pools"
	"github.com/cadre-go/cadre/bench/internal/sampling"
	"github.com/cadre-go/cadre/future"
)

// memories measures what the heap grows by, stacks included, for each object
// that is kept.
func memories() []sampling.Workload {
	all := []sampling.Workload{
		memory("memory/idle-pool", "memory: an idle pool of 2 workers that has worked, queue of 1024", 500, 12<<10),
		memory("memory/queued-task", "memory: a queued task, its part of the queue included", 10_000, 128),
		memory("memory/pending-future", "memory: a pending future", 10_000, 64),
		memory("memory/outstanding-delay", "memory: an outstanding delay", 10_000, 200),
	}
	idle, queued, pending, outstanding := &all[0], &all[1], &all[2], &all[3]
	for _, kind := range pools.Kinds() {
		switch kind.Name {
		case pools.Cadre, pools.Channel, pools.MutexRing, pools.Ants, pools.Pond, pools.Workerpool, pools.Gopool:
			idle.Subjects = append(idle.Subjects, sampling.Subject{Name: kind.Name, Lacks: kind.Lacks, Run: func(ops int) sampling.Sample {
				return idlePools(kind, ops)
			}})
		}
		if kind.Queue || kind.Name == pools.Goroutines {
			queued.Subjects = append(queued.Subjects, sampling.Subject{Name: kind.Name, Lacks: kind.Lacks, Run: func(ops int) sampling.Sample {
				return queuedTasks(kind, ops)
			}})
		}
	}
	idle.Reference, queued.Reference, pending.Reference, outstanding.Reference = pools.Channel, pools.Channel, chanOfOne, afterFunc
	pending.Subjects = []sampling.Subject{
		{Name: pools.Cadre, Lacks: "nothing", Run: func(ops int) sampling.Sample {
			return keep(ops, func() *future.Completer[int] { return future.NewCompleter[int]() })
		}},
		{Name: chanOfOne, Run: func(ops int) sampling.Sample {
			return keep(ops, func() chan int { return make(chan int, 1) })
		}},
		{Name: closedChannel.name, Run: func(ops int) sampling.Sample { return keep(ops, closedChannel.create) }},
		{Name: monad.name, Run: func(ops int) sampling.Sample { return keep(ops, monad.create) }},
	}
	for _, kind := range alarmKinds() {
		outstanding.Subjects = append(outstanding.Subjects, sampling.Subject{Name: kind.name, Lacks: kind.lacks, Run: func(ops int) sampling.Sample {
			a := kind.start()
			defer a.close()
			a.cancel(a.create(time.Hour))
			var handles []any
			s := growth(ops, func() {
				handles = make([]any, ops)
				for i := range handles {
					handles[i] = a.create(time.Hour + time.Duration(i)*time.Millisecond)
				}
			})
			// The handles themselves are the caller's, two words each.
			s.Figures[sampling.PerObject] -= 16
			for _, handle := range handles {
				a.cancel(handle)
			}
			return s
		}})
	}
	return all
}

func memory(name, title string, objects int, most float64) sampling.Workload {
	return sampling.Workload{
		Name: name, Title: title, Ops: objects, Unit: min(objects, 100),
		Figure: sampling.PerObject, Shown: []string{sampling.PerObject},
		Budgets: []sampling.Budget{{Row: "memory", Subject: pools.Cadre, Most: most}},
	}
}

// growth returns what build leaves behind on the heap and in stacks, for each
// of objects.
func growth(objects int, build func()) sampling.Sample {
	before := heap()
	build()
	after := heap()
	return sampling.Sample{Ran: objects}.With(sampling.PerObject, (after-before)/float64(objects))
}

// heap returns the bytes in use after two collections: the first may leave
// what has a finalizer or sits in a sync.Pool.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// keep measures objects made by create.
func keep[T any](objects int, create func() T) sampling.Sample {
	kept := make([]T, objects)
	s := growth(objects, func() {
		for i := range kept {
			kept[i] = create()
		}
	})
	runtime.KeepAlive(kept)
	return s
}

// idlePools has both workers of each pool run a task, at the same time, so that
// pools which start goroutines when they need them have done so.
func idlePools(kind pools.Kind, objects int) sampling.Sample {
	kept := make([]pools.Pool, objects)
	s := growth(objects, func() {
		for i := range kept {
			kept[i] = kind.Start(2, queueLimit)
			var together sync.WaitGroup
			together.Add(3)
			meet := func() { together.Done(); together.Wait() }
			post := kept[i].Load([]func(){meet})
			post(0)
			post(0)
			meet()
		}
	})
	for _, pool := range kept {
		pool.Close()
	}
	return s
}

// queuedTasks blocks the workers and fills the queue behind them.
func queuedTasks(kind pools.Kind, objects int) sampling.Sample {
	var pool pools.Pool
	gate := make(chan struct{})
	var blocked, ran sync.WaitGroup
	s := growth(objects, func() {
		pool = kind.Start(2, objects+2)
		post := pool.Load([]func(){
			func() { blocked.Done(); <-gate },
			func() { <-gate; ran.Done() },
		})
		blocked.Add(2)
		post(0)
		post(0)
		blocked.Wait()
		ran.Add(objects)
		for range objects {
			post(1)
		}
	})
	close(gate)
	ran.Wait()
	pool.Close()
	return s
}
