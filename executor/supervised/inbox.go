package supervised

import (
	"context"
	"runtime/pprof"
	"sync"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
)

// Inbox is where a worker takes its assignments from. It has one place, and
// takes nothing that the worker has not room for. The zero Inbox is closed.
type Inbox[J, R any] struct {
	worker *incarnation[J, R]
	ready  chan struct{} // holds a token when there may be an item
	closed chan struct{}

	// mu protects what follows; nothing is called under it. It comes after
	// the step lock.
	mu       sync.Mutex
	item     *authority[J, R] // delivered and not taken
	taken    *authority[J, R] // taken last
	shut     bool             // closed is closed
	deserted bool             // the worker has ended, and takes nothing any more
}

func (in *Inbox[J, R]) init(w *incarnation[J, R]) {
	in.worker = w
	in.ready = make(chan struct{}, 1)
	in.closed = make(chan struct{})
}

// Next waits for an assignment, until ctx ends.
//
// The errors are [ErrNotCompleted] while the last assignment is live,
// [ErrInboxClosed] when the pool has asked the worker to stop, and ctx's own,
// in this order. A nil ctx is a [*ConfigError].
//
// With the assignment, its submitter's pprof labels are on the calling
// goroutine; the following Next, whatever it returns, and the end of Serve clear
// them. What happened before Submit happens before Next returns.
func (in *Inbox[J, R]) Next(ctx context.Context) (Assignment[J, R], error) {
	var none Assignment[J, R]
	w := in.worker
	if w != nil {
		pprof.SetGoroutineLabels(w.core.labels)
	}
	if ctx == nil {
		return none, &ConfigError{Field: "ctx", Reason: errNilContext}
	}
	if w == nil {
		return none, ErrInboxClosed
	}
	for {
		a, err := in.take()
		if err != nil {
			return none, err
		}
		if a != nil {
			w.core.feedAbout(a, a.event(fold.DeliveryAccepted))
			if a.state.Load() == issued {
				wearLabels(&a.ctx, w.core.labels)
				if clone := w.core.cfg.Clone; clone != nil {
					a.job = clone(a.job)
				}
				return Assignment[J, R]{a}, nil
			}
			continue // revoked before it could be taken: the inbox is closed, or about to be
		}
		select {
		case <-in.ready:
		case <-in.closed:
		case <-ctx.Done():
			if w.ctx.Err() != nil { // the usual reason: the inbox is closed, or about to be
				return none, ErrInboxClosed
			}
			return none, ctx.Err()
		}
	}
}

// take takes what has been delivered; nil if there is nothing.
func (in *Inbox[J, R]) take() (*authority[J, R], error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.taken != nil && in.taken.state.Load() == issued {
		return nil, ErrNotCompleted
	}
	if in.shut {
		return nil, ErrInboxClosed
	}
	a := in.item
	in.item = nil
	if a != nil {
		in.taken = a
	}
	return a, nil
}

// put delivers a, or returns false if the worker cannot have seen it.
func (in *Inbox[J, R]) put(a *authority[J, R]) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.deserted {
		return false
	}
	in.item = a
	select {
	case in.ready <- struct{}{}:
	default:
	}
	return true
}

// release lets go of an assignment that has ended: an idle worker keeps nothing
// of its last job.
func (in *Inbox[J, R]) release(a *authority[J, R]) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.taken == a {
		in.taken = nil
	}
}

// shutDown closes the inbox, and returns false if its worker had ended.
func (in *Inbox[J, R]) shutDown() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.shut {
		in.shut = true
		close(in.closed)
	}
	return !in.deserted
}

// desert ends the inbox with its worker, and returns what was not taken.
func (in *Inbox[J, R]) desert() *authority[J, R] {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.deserted = true
	if !in.shut {
		in.shut = true
		close(in.closed)
	}
	a := in.item
	in.item, in.taken = nil, nil
	return a
}
