package main

import (
	"context"
	"fmt"
	"time"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
)

// withTimeout returns a future that settles as f does, or fails after d. What
// loses is canceled: f's task, or the delay.
func withTimeout[T any](ctx context.Context, pool *executor.Pool, d time.Duration, f *future.Future[T]) *future.Future[T] {
	timeout := future.Then(ctx, pool.Delay(ctx, d), func(context.Context, time.Time) (T, error) {
		var none T
		return none, fmt.Errorf("after %v: %w", d, context.DeadlineExceeded)
	})
	return future.Race(ctx, f, timeout)
}
