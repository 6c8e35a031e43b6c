package pools

import (
	"github.com/bytedance/gopkg/util/gopool"
	"github.com/gammazero/workerpool"
)

// The kinds whose queue has no bound: a producer never waits.
const (
	Workerpool = "workerpool"
	Gopool     = "gopool"
)

func startWorkerpool(workers, _ int) Pool {
	pool := workerpool.New(workers)
	return blocking(plain, pool.Submit, pool.StopWait)
}

// startGopool starts a pool that cannot be closed: its goroutines end when they
// find no task.
func startGopool(workers, _ int) Pool {
	pool := gopool.NewPool("bench", int32(workers), gopool.NewConfig())
	return blocking(plain, pool.Go, func() {})
}
