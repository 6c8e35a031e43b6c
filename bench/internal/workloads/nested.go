package workloads

import (
	"context"

	"github.com/cadre-go/cadre/bench/internal/pools"
	"github.com/cadre-go/cadre/bench/internal/sampling"
	"github.com/cadre-go/cadre/executor"
)

// depth is how many levels one nest has.
const depth = 1000

// nested has each task submit the next one to its own pool of one worker, and
// await it. No other pool here gets beyond the first level; a goroutine for
// each level, with no pool at all, shows what the levels themselves cost.
func nested() []sampling.Workload {
	return []sampling.Workload{{
		Name:      "nested/depth=1000/size=1",
		Title:     "Submit + Await from inside a task: 1,000 levels, a pool of one worker; per level",
		Ops:       50 * depth,
		Unit:      depth,
		Reference: "goroutine for each level",
		Subjects: []sampling.Subject{
			{Name: pools.Cadre, Run: func(ops int) sampling.Sample { return nestCadre(ops, depth) }},
			{Name: "goroutine for each level", Run: func(ops int) sampling.Sample { return nestGoroutines(ops, depth) }},
		},
		Budgets: []sampling.Budget{
			{Row: "nested Submit+Await, depth 1,000, Size 1", Subject: pools.Cadre, Most: 3000},
		},
	}}
}

func nestCadre(ops, depth int) sampling.Sample {
	pool, err := executor.New(executor.Config{Size: 1, QueueLimit: queueLimit})
	check(err)
	defer func() { check(pool.Close()) }()
	var level func(ctx context.Context, n int) (int, error)
	level = func(ctx context.Context, n int) (int, error) {
		if n == 0 {
			return 0, nil
		}
		below, err := executor.Submit(ctx, pool, func(ctx context.Context) (int, error) {
			return level(ctx, n-1)
		}).Await(ctx)
		return below + 1, err
	}
	return nest(ops, depth, func(depth int) int {
		levels, err := level(context.Background(), depth)
		check(err)
		return levels
	})
}

func nestGoroutines(ops, depth int) sampling.Sample {
	var level func(n int) int
	level = func(n int) int {
		if n == 0 {
			return 0
		}
		below := make(chan int, 1)
		go func() { below <- level(n - 1) }()
		return <-below + 1
	}
	return nest(ops, depth, level)
}

// nest measures nests of depth levels, and a last one of what is left over.
func nest(ops, depth int, once func(depth int) int) sampling.Sample {
	once(min(depth, ops))
	ran := 0
	s := sampling.Measure(ops, func() {
		for left := ops; left > 0; left -= depth {
			ran += once(min(depth, left))
		}
	})
	s.Ran = ran
	return s
}
