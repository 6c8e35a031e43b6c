package executortest

import (
	"context"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/internal/link"
)

type refusing struct {
	err   *executor.RejectedError
	first bool // err comes before that of a ctx that is done
}

// Saturated returns an executor that is always full: Post returns a
// [*executor.RejectedError] with the reason [executor.ErrQueueFull]. As with a
// pool, a ctx that is done is told first.
func Saturated() executor.Executor {
	return refusing{err: &executor.RejectedError{Pool: "saturated", Reason: executor.ErrQueueFull, Size: 1}}
}

// Closed returns an executor that is closed: Post returns a
// [*executor.RejectedError] with the reason [executor.ErrClosed].
func Closed() executor.Executor {
	return refusing{err: &executor.RejectedError{Pool: "closed", Reason: executor.ErrClosed, Size: 1}, first: true}
}

func (r refusing) Post(ctx context.Context, task func(context.Context)) error {
	if ctx != nil && task != nil && r.first {
		return r.err
	}
	if err := link.Refuse(ctx, r.err.Pool, task); err != nil {
		return err
	}
	return r.err
}
