package executor_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
)

// perPost returns what one Post under ctx costs, its run included. Of a few
// measurements it takes the least: the runtime allocates beside.
func perPost(t *testing.T, ctx context.Context) (allocs, bytes float64) {
	t.Helper()
	allocs, bytes = measure(t, ctx)
	for range 2 {
		a, b := measure(t, ctx)
		allocs, bytes = min(allocs, a), min(bytes, b)
	}
	return allocs, bytes
}

func measure(t *testing.T, ctx context.Context) (allocs, bytes float64) {
	t.Helper()
	const n = 4_000
	p := newPool(t, executor.Config{Size: 1, QueueLimit: n})
	task := func(context.Context) {}
	post := func() {
		for range n {
			if err := p.Post(ctx, task); err != nil {
				t.Fatal(err)
			}
		}
		barrier(t, p)
	}
	post() // the goroutines' stacks have grown
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	post()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / n, float64(after.TotalAlloc-before.TotalAlloc) / n
}

func TestAllocations(t *testing.T) {
	// The barrier allocates beside.
	const slack = 0.03
	t.Run("EXEC-5_Post", func(t *testing.T) {
		allocs, bytes := perPost(t, bg)
		require.LessOrEqual(t, allocs, 1+slack)
		require.LessOrEqual(t, bytes, 64*(1+slack))
	})
	t.Run("EXEC-5_Post_with_diagnostics", func(t *testing.T) {
		scope := make(chan context.Context, 1)
		p := newPool(t, executor.Config{Size: 1})
		require.NoError(t, p.Post(with("a", 1, "b", 2), func(ctx context.Context) { scope <- ctx }))
		for _, ctx := range []context.Context{with("a", 1, "b", 2), <-scope, context.WithValue(bg, valueKey{}, 1)} {
			allocs, bytes := perPost(t, ctx)
			require.LessOrEqual(t, allocs, 1+slack)
			require.LessOrEqual(t, bytes, 64*(1+slack))
		}
	})
	t.Run("DIAG-5_a_bare_ctx", func(t *testing.T) {
		bare, _ := perPost(t, bg)
		carrying, _ := perPost(t, with("a", 1))
		require.InDelta(t, carrying, bare, slack, "the task's context is all there is")
	})
	t.Run("EXEC-11_Submit_and_Await", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		ending, cancel := context.WithCancel(bg)
		defer cancel()
		fn := func(context.Context) (int, error) { return 1, nil }
		for ctx, limit := range map[context.Context]float64{
			bg:     2, // the operation and the channel of the wait
			ending: 5, // and what package context makes to tie it to a ctx that can end
		} {
			require.LessOrEqual(t, testing.AllocsPerRun(1000, func() {
				_, _ = executor.Submit(ctx, p, fn).Await(ctx)
			}), limit)
		}
	})
	t.Run("EXEC-5_a_refused_Post", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: executor.NoQueue})
		occupy(t, p, 1)
		task := func(context.Context) {}
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = p.Post(bg, task) }))
	})
}
