package linear

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cadre-go/cadre/executor"
)

// places is the state of a pool: how many of its places are taken, and whether
// it was closed.
type places struct {
	taken  int
	closed bool
}

// TestPool is Post against Shutdown: capacity is exact, and a task is accepted
// before the close or refused after it.
func TestPool(t *testing.T) {
	rounds(t, func(t *testing.T, rng *rand.Rand) {
		var r recorder
		size, queue := 1+rng.IntN(2), 1+rng.IntN(2)
		pool, err := executor.New(executor.Config{Size: size, QueueLimit: queue})
		if err != nil {
			t.Fatal(err)
		}
		stuck := make(chan struct{}) // closed when the posts have been answered
		var closed sync.WaitGroup
		closer := rng.IntN(6)
		var kinds [4][3]int
		for i := range kinds {
			for k := range kinds[i] {
				kinds[i][k] = rng.IntN(3)
			}
		}
		clients(5, func(me int) {
			if me == 4 {
				for range closer {
					r.do(me, "stats", func() any { s := pool.Stats(); return s.Queued + s.Running })
				}
				r.begin(me, "close")
				closed.Go(func() { _ = pool.Shutdown(context.Background()) })
				return
			}
			for i, kind := range kinds[me] {
				r.do(me, "post", func() any {
					err := pool.Post(context.Background(), func(context.Context) {
						if kind == 0 {
							<-stuck
						}
						r.begin(100+me*10+i, "finish")
					})
					switch {
					case err == nil:
						return "accepted"
					case errors.Is(err, executor.ErrQueueFull):
						return "full"
					case errors.Is(err, executor.ErrClosed):
						return "closed"
					}
					return err.Error()
				})
			}
		})
		close(stuck)
		if err := pool.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		closed.Wait()
		check(t, &r, places{}, func(s places, in, out any) (bool, places) {
			switch in {
			case "post":
				switch out {
				case "accepted":
					return s.taken < size+queue && !s.closed, places{s.taken + 1, s.closed}
				case "full":
					return s.taken == size+queue && !s.closed, s
				default:
					return out == "closed" && s.closed, s
				}
			case "close":
				return true, places{s.taken, true}
			case "stats": // a task that has ended may have its place for a while
				return out.(int) <= s.taken, s
			}
			// finish: the place is given back at some time after the task's end
			return s.taken > 0, places{s.taken - 1, s.closed}
		})
	})
}
