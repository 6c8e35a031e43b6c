package supervised

import "context"

// Role names a seat that is served by one worker after another.
type Role string

// JobID names an accepted job of one pool. It is never used again.
type JobID uint64

// Incarnation numbers the workers that a pool has started, over all roles. It
// is never used again.
type Incarnation uint64

// Worker serves jobs. Each value is used for one incarnation: Serve is called
// once, on a goroutine of its own.
//
// Serve takes assignments from in with Next and completes each before it takes
// another. It ends the incarnation however it ends: nil is a normal exit; an
// error, a panic and runtime.Goexit are abnormal. An assignment that is live
// then is resolved as [Config].Interruption says. ctx is canceled, with the
// cause [ErrStopRequested], when the pool asks the worker to stop; Next then
// fails with [ErrInboxClosed], for which Serve returns nil: to return that error
// is an abnormal exit.
type Worker[J, R any] interface {
	Serve(ctx context.Context, in *Inbox[J, R]) error
}

// Activator is a worker that has something slow to do before it can serve.
// Activate runs on the worker's goroutine, before Serve; [Config].Activations
// bounds how many do at once. A failure stops the incarnation, and the role
// recovers as after an abnormal exit, which is charged to the budget.
type Activator interface {
	Activate(ctx context.Context) error
}

// Discarder is a worker that has something to let go of if its Serve is never
// called. Discard is called once in that case; a panic in it is contained. It
// runs on the worker's goroutine if that was started, beside other callbacks,
// and otherwise in turn with them.
type Discarder interface {
	Discard(cause error)
}

// Factory makes a worker for a role. It is never called concurrently with
// itself. [New] calls it on its caller's goroutine with its caller's context,
// restarts on a goroutine of the pool with a context that ends when shutdown
// begins.
//
// An error, a nil worker, a panic or a runtime.Goexit in a restart loses the
// role; so does an error that matches [ErrFactoryUnavailable]. The budget is
// charged when the worker is there, so the factory is called even if it is
// spent; then the worker is discarded and the role lost.
type Factory[J, R any] func(ctx context.Context, role Role) (Worker[J, R], error)

// HandlerFunc is a [Worker] that handles one job a call. ctx is the
// assignment's; see [Assignment.Context].
//
// It completes the assignment and returns nil, or returns an error, which ends
// the incarnation. Returning nil with the assignment live ends it too, with
// [ErrNotCompleted]. The error of a Complete that a stop request has overtaken,
// returned as it is, ends it normally.
type HandlerFunc[J, R any] func(ctx context.Context, a Assignment[J, R]) error

// Serve calls f for each assignment until the inbox is closed.
func (f HandlerFunc[J, R]) Serve(ctx context.Context, in *Inbox[J, R]) error {
	for {
		a, err := in.Next(ctx)
		if err == ErrInboxClosed {
			return nil
		}
		if err != nil {
			return err
		}
		err = f(a.Context(), a)
		if late, ok := err.(*CompletionError); ok && late.Reason == ErrStaleAssignment && ctx.Err() != nil {
			return nil // a return a.Complete(r) that a stop request has overtaken
		}
		if err != nil {
			return err
		}
		if a.live() {
			return ErrNotCompleted
		}
	}
}
