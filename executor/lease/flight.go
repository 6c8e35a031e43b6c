package lease

import (
	"context"
	"sync/atomic"

	"github.com/cadre-go/cadre/future"
)

// flight is one Connect or Validate of a slot in progress. Whoever needs the
// slot meanwhile waits for it.
type flight struct {
	stage Stage
	c     *future.Completer[struct{}]

	// Of a flight that was posted to the Executor. posted is closed when task
	// is set. Waiting for the task's own future lends the waiter's place to it,
	// if the Executor is a pool and the waiter one of its tasks.
	posted chan struct{}
	task   *future.Future[struct{}]
	began  atomic.Bool
}

func newFlight(stage Stage) *flight {
	return &flight{stage: stage, c: future.NewCompleter[struct{}]()}
}

// wait returns when the flight has ended, with its error, or ctx has.
func (f *flight) wait(ctx context.Context) (err error, settled bool) {
	if f.posted != nil {
		select {
		case <-f.posted:
			_, _ = f.task.Await(ctx)
		case <-f.c.Future().Done(): // an executor that posts inline may have ended its goroutine
		case <-ctx.Done():
		}
	}
	_, _ = f.c.Future().Await(ctx)
	o, settled := f.c.Future().Outcome()
	return o.Err, settled
}

// drop ends a flight whose pool has ended.
func (f *flight) drop(cause error) {
	f.c.Fail(cause)
	if f.posted == nil {
		return
	}
	select {
	case <-f.posted:
		f.task.Cancel(cause)
	default: // whoever posts it looks afterwards
	}
}

// land settles the flight, and lets go of the slot's reference to it.
func (c *core[R]) land(s *slot[R], f *flight, err error) {
	s.mu.Lock()
	if s.flight == f {
		s.flight = nil
	}
	s.mu.Unlock()
	f.settle(err)
}

func (f *flight) settle(err error) {
	if err != nil {
		f.c.Fail(err)
	} else {
		f.c.Complete(struct{}{})
	}
}
