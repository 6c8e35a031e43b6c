package lease

import (
	"context"
	"sync/atomic"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
)

// post has the Executor run fn, or calls lost if it never will. One of the two
// is called, once, whatever the Executor does: refuse the task or drop it, run
// it twice, run it after having refused it, panic or exit. ctx is the task's.
//
// It returns the task's future, or the failure of the pool.
func (c *core[R]) post(ctx *callerContext, fn func(context.Context), lost func()) (task *future.Future[struct{}], failed error) {
	var claimed atomic.Bool // by whichever of the two it is
	unlessClaimed := func(fn func()) {
		if !claimed.Swap(true) {
			fn()
		}
	}
	returned := false
	defer func() {
		if !returned { // a panic in Post, or a Goexit
			unlessClaimed(lost)
		}
	}()
	failed = c.hookUnder(ctx, "Executor", func() {
		task = executor.Submit(ctx, c.cfg.Executor, func(ctx context.Context) (struct{}, error) {
			unlessClaimed(func() { fn(ctx) })
			return struct{}{}, nil
		})
	})
	if failed != nil {
		return nil, failed
	}
	returned = true
	task.OnSettle(func(future.Outcome[struct{}]) { unlessClaimed(lost) })
	return task, nil
}
