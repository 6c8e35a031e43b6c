package pools

import (
	"errors"

	"github.com/alitto/pond/v2"
)

// The names of alitto/pond in its two modes.
const (
	Pond            = "pond"
	PondNonblocking = "pond, nonblocking"
)

// startPond starts a pool with a bounded queue. Its producers wait for room, or
// are refused.
func startPond(nonblocking bool) func(workers, queue int) Pool {
	return func(workers, queue int) Pool {
		pool := pond.NewPool(workers, pond.WithQueueSize(queue), pond.WithNonBlocking(nonblocking))
		if !nonblocking {
			return blocking(plain, func(task func()) { check(pool.Go(task)) }, pool.StopAndWait)
		}
		return rejecting(plain, func(task func()) bool {
			err := pool.Go(task)
			if !errors.Is(err, pond.ErrQueueFull) {
				check(err)
			}
			return err == nil
		}, pool.StopAndWait)
	}
}
