package supervised

import (
	"context"
	"sync/atomic"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/internal/lazyctx"
)

// Assignment is one job, given to one worker once. Copies are the same
// assignment. The zero value is of no pool.
//
// An assignment ends when it is completed, when its worker ends, and when the
// pool begins to shut down.
type Assignment[J, R any] struct{ a *authority[J, R] }

// Job returns the payload: what [Config].Clone made of it, or the one that the
// pool has too.
func (a Assignment[J, R]) Job() J {
	if a.a == nil {
		var none J
		return none
	}
	return a.a.job
}

// Context returns a context with the values, diagnostics and labels of the
// submission, and the lifetime of the assignment: it is done when that ends.
// The end of the submitter's own context does not end it.
func (a Assignment[J, R]) Context() context.Context {
	if a.a == nil {
		return context.Background()
	}
	return &a.a.ctx
}

// Complete ends the job with result. nil means that this is the job's outcome;
// its future has settled when Complete returns, and the functions attached to
// it have run on this goroutine. The assignment has ended by then: its context
// is done, and its worker can take another. The next job is delivered to that
// worker when those functions have returned; one of them that waits for a job
// that this worker is to do waits for ever.
//
// Otherwise the error is a [*CompletionError], and nothing has changed:
// [ErrDuplicateCompletion] if Complete has been called before on any copy,
// [ErrStaleAssignment] if the assignment ended another way,
// [ErrForeignAssignment] for the zero value. The result goes into a diagnostic.
// Of concurrent calls at most one gets nil.
//
// Any goroutine may call it: holding the value is the right to.
func (a Assignment[J, R]) Complete(result R) error {
	if a.a == nil {
		return &CompletionError{Reason: ErrForeignAssignment}
	}
	return a.a.complete(result)
}

// live reports whether the assignment has not ended.
func (a Assignment[J, R]) live() bool { return a.a != nil && a.a.state.Load() == issued }

// The states of an authority; each but the first is final.
const (
	issued uint32 = iota
	consumed
	revoked
)

// authority is the right to complete one assignment, shared by its copies.
type authority[J, R any] struct {
	worker *incarnation[J, R]
	id     fold.AssignmentID
	order  *order[J, R]
	job    J // written by the worker's goroutine before it can be seen
	state  atomic.Uint32
	ctx    lazyctx.Ctx
	parent jobContext
}

func newAuthority[J, R any](w *incarnation[J, R], action *action[J, R]) *authority[J, R] {
	a := &authority[J, R]{worker: w, id: action.Assignment, order: action.Customer, job: action.Payload}
	a.parent.life, a.parent.values = w.ctx, a.order.ctx
	a.parent.scope.Start(a.order.attrs)
	a.ctx.Parent = &a.parent
	return a
}

// event returns a fact about the assignment.
func (a *authority[J, R]) event(kind fold.EventKind) event[J, R] {
	ev := a.worker.event(kind)
	ev.Pool, ev.Assignment = a.worker.core.id, a.id
	return ev
}

// revoke takes the right away, unless it has been used, and ends the assignment.
func (a *authority[J, R]) revoke() {
	a.state.CompareAndSwap(issued, revoked)
	a.end()
}

// end ends what an assignment has of its own, before its outcome shows. Nothing
// foreign is called.
func (a *authority[J, R]) end() {
	a.worker.inbox.release(a)
	a.ctx.Cancel(ErrStaleAssignment)
}

// complete uses the right, if it is there. The fold has the last word.
func (a *authority[J, R]) complete(result R) error {
	c := a.worker.core
	ev := a.event(fold.Completed)
	ev.Result = result
	if !a.state.CompareAndSwap(issued, consumed) {
		ev.Used = a.state.Load() == consumed
	}
	var reason error
	switch c.feedAbout(a, ev) {
	case fold.Applied:
		return nil
	case fold.Duplicate:
		reason = ErrDuplicateCompletion
	case fold.Foreign:
		reason = ErrForeignAssignment
	default:
		reason = ErrStaleAssignment
	}
	return &CompletionError{Pool: c.cfg.Name, Job: a.order.id, Role: c.role(a.worker.role), Reason: reason}
}
