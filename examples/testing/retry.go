package main

import (
	"context"
	"errors"
	"time"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
)

// errUnavailable is a failure that another attempt may mend.
var errUnavailable = errors.New("unavailable")

// retry is the code under test: it submits op to pool until op succeeds or has
// failed attempts times, and doubles the backoff after each failure.
func retry[T any](ctx context.Context, pool *executor.Pool, attempts int, backoff time.Duration, op func(context.Context) (T, error)) *future.Future[T] {
	result := executor.Submit(ctx, pool, op)
	for range attempts - 1 {
		result = again(ctx, pool, backoff, result, op)
		backoff *= 2
	}
	return result
}

// again is first, or, if that is unavailable, op after a delay.
func again[T any](ctx context.Context, pool *executor.Pool, wait time.Duration, first *future.Future[T], op func(context.Context) (T, error)) *future.Future[T] {
	second := future.NewCompleter[T]()
	pass := func(o future.Outcome[T]) {
		if o.Err != nil {
			second.Fail(o.Err)
		} else {
			second.Complete(o.Value)
		}
	}
	first.OnSettle(func(o future.Outcome[T]) {
		if errors.Is(o.Err, errUnavailable) {
			executor.SubmitAfter(ctx, pool, wait, op).OnSettle(pass)
		} else {
			pass(o)
		}
	})
	return second.Future()
}
