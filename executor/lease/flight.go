package lease

import (
	"context"

	"github.com/cadre-go/cadre/future"
)

// flight is one Connect or Validate of a slot in progress. Whoever needs the
// slot meanwhile waits for it. It is published as the slot's flight with all
// of its fields but task set.
type flight[R any] struct {
	stage Stage

	// c tells those who wait which resource has been connected or validated
	// for them; nil if what they find is theirs to see to; or why there is
	// none.
	c *future.Completer[*incarnation[R]]

	// Of a flight for the Executor. posted is closed when task is set; it
	// never is if the posting came to nothing. Waiting for the task's own
	// future lends the waiter's place to it, if the Executor is a pool and the
	// waiter one of its tasks.
	posted chan struct{}
	task   *future.Future[struct{}]
}

func newFlight[R any](stage Stage, posts bool) *flight[R] {
	f := &flight[R]{stage: stage, c: future.NewCompleter[*incarnation[R]]()}
	if posts {
		f.posted = make(chan struct{})
	}
	return f
}

// wait returns when the flight has ended, with how it has, or ctx has.
func (f *flight[R]) wait(ctx context.Context) (o future.Outcome[*incarnation[R]], settled bool) {
	if f.posted != nil {
		select {
		case <-f.posted:
			_, _ = f.task.Await(ctx)
		case <-f.c.Future().Done():
		case <-ctx.Done():
		}
	}
	_, _ = f.c.Future().Await(ctx)
	return f.c.Future().Outcome()
}

// drop tells those who wait that the pool has ended. The flight stays on its
// slot until it lands.
func (f *flight[R]) drop(cause error) {
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

// land takes f off its slot, and tells those who wait how it has ended. Every
// flight lands, however its leader comes to leave it.
//
// The owner's last look at the slots passes over those with a flight. So who
// takes a flight off after the end does for the slot what the owner does for
// the others. Both look under the slot's lock: one of the two finds the
// resource, whenever the end comes.
func (c *core[R]) land(s *slot[R], f *flight[R], made *incarnation[R], err error) {
	c.at("landing")
	var dead *incarnation[R]
	s.mu.Lock()
	if s.flight == f {
		s.flight = nil
		if c.gate.load().Ended() {
			dead = s.vacateLocked()
		}
	}
	s.mu.Unlock()
	if err != nil {
		f.c.Fail(err)
	} else {
		f.c.Complete(made)
	}
	if dead != nil {
		c.disposeElsewhere(dead)
	}
}
