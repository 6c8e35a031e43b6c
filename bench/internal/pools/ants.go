package pools

import (
	"errors"
	"time"

	"github.com/panjf2000/ants/v2"
)

// Ants is the name of panjf2000/ants in its blocking mode.
const Ants = "ants"

// startAnts starts a pool of panjf2000/ants. Its producers wait for a worker,
// or are refused.
func startAnts(nonblocking bool) func(workers, queue int) Pool {
	return func(workers, _ int) Pool {
		pool, err := ants.NewPool(workers, ants.WithNonblocking(nonblocking))
		check(err)
		closing := func() { check(pool.ReleaseTimeout(10 * time.Second)) }
		if !nonblocking {
			return blocking(plain, func(task func()) { check(pool.Submit(task)) }, closing)
		}
		return rejecting(plain, func(task func()) bool {
			err := pool.Submit(task)
			if !errors.Is(err, ants.ErrPoolOverload) {
				check(err)
			}
			return err == nil
		}, closing)
	}
}
