package executor_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/executortest"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
)

// A Limit over a Manual against a list.
func TestLimit_EXEC_20_model(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(rt, "n")
		limit := rapid.IntRange(0, 4).Draw(rt, "limit")
		m := executortest.NewManual()
		full := false // what ex says next
		l := newLimit(t, postFunc(func(ctx context.Context, task func(context.Context)) error {
			if full {
				return executor.ErrQueueFull
			}
			return m.Post(ctx, task)
		}), n, limit)

		var want, got []int // to run, in order, and what has run
		runners := 0
		fs := map[int]*future.Future[int]{}
		rt.Repeat(map[string]func(*rapid.T){
			"post": func(rt *rapid.T) {
				id := len(fs)
				full = rapid.Bool().Draw(rt, "full")
				fs[id] = executor.Submit(bg, l, func(context.Context) (int, error) { got = append(got, id); return id, nil })
				accepted := true
				switch waiting := len(want); {
				case runners < n && waiting >= runners && !full:
					runners++
				case runners == 0 || waiting >= runners+limit:
					accepted = false
				}
				if accepted {
					want = append(want, id)
					futuretest.RequirePending(t, fs[id])
				} else {
					futuretest.RequireError(t, fs[id], executor.ErrQueueFull)
				}
				full = false
			},
			"cancel": func(rt *rapid.T) {
				if len(fs) == 0 {
					return
				}
				id := rapid.IntRange(0, len(fs)-1).Draw(rt, "id")
				at := slices.Index(want, id)
				require.Equal(t, at >= 0, fs[id].Cancel(nil))
				if at >= 0 {
					want = slices.Delete(want, at, at+1)
				}
			},
			"run": func(*rapid.T) {
				before := len(got)
				if m.RunNext() {
					runners--
					require.Equal(t, want, append([]int{}, got[before:]...), "one runner serves all")
					want = []int{}
				}
			},
			"": func(*rapid.T) {
				require.Equal(t, runners, m.Queued())
				if want == nil {
					want = []int{}
				}
			},
		})
		m.RunAll()
	})
}

// The same under concurrency: everything that was accepted runs once, in order.
func TestLimit_EXEC_20_model_concurrent(t *testing.T) {
	p := newPool(t, executor.Config{Size: 2, QueueLimit: 2})
	l := newLimit(t, executor.CallerRuns(p), 2, 3)
	var ran atomic.Int64
	var accepted int64
	var all sync.WaitGroup
	var mu sync.Mutex
	for range 4 {
		all.Go(func() {
			mine := int64(0)
			for i := range 200 {
				ctx := with("n", strconv.Itoa(i))
				err := l.Post(ctx, func(ctx context.Context) { ran.Add(1) })
				switch {
				case err == nil:
					mine++
				case !errors.Is(err, executor.ErrQueueFull):
					t.Error(err)
				}
			}
			mu.Lock()
			accepted += mine
			mu.Unlock()
		})
	}
	all.Wait()
	testwait.Until(t, func() bool { return ran.Load() == accepted })
}
