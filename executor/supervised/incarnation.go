package supervised

import (
	"context"
	"errors"
	"runtime/debug"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/future"
)

var (
	errNilContext = errors.New("a context is required")
	errEnded      = errors.New("the worker has ended")
)

// How far the goroutine of an incarnation has come.
const (
	fresh  uint32 = iota // it has not begun
	handed               // it has not begun, and is counted; who started it is done
	begun                // it has, and is counted
	barred               // it was said not to be there, and must not begin any more
)

// incarnation is one worker on its goroutine.
type incarnation[J, R any] struct {
	core      *core[J, R]
	role      int
	id        fold.Incarnation
	worker    Worker[J, R]    // of the goroutine alone; nil when it has ended
	activates bool            // it is an Activator
	ctx       context.Context // canceled when the worker is asked to stop, and when it has ended
	cancel    context.CancelCauseFunc
	slot      chan struct{} // closed when it may activate
	launched  atomic.Uint32
	inbox     Inbox[J, R]

	assigned *authority[J, R] // the last assignment; under the step lock

	// Of the goroutine alone.
	served bool  // Serve was entered
	unfit  error // why Activate failed
	exit   fold.Exit
}

func newIncarnation[J, R any](c *core[J, R], a *action[J, R]) *incarnation[J, R] {
	w := &incarnation[J, R]{
		core: c, role: a.Role, id: a.Incarnation, worker: a.Worker,
		slot: make(chan struct{}),
		exit: fold.Exit{Kind: fold.Goexited, Cause: future.ErrGoexit}, // unless something else is noted
	}
	_, w.activates = w.worker.(Activator)
	w.ctx, w.cancel = context.WithCancelCause(context.Background())
	w.inbox.init(w)
	return w
}

// event returns a fact about the incarnation.
func (w *incarnation[J, R]) event(kind fold.EventKind) event[J, R] {
	ev := event[J, R]{Kind: kind, Role: w.role, Incarnation: w.id}
	ev.Activates = kind == fold.Started && w.activates
	return ev
}

// requestStop asks the worker to stop, and reports whether it had already.
func (w *incarnation[J, R]) requestStop() (already bool) {
	w.cancel(ErrStopRequested) // first, so that who finds the inbox closed finds the context ended
	return !w.inbox.shutDown()
}

// handOver counts a worker whose Launch has returned and that has not begun.
func (w *incarnation[J, R]) handOver() {
	w.core.enter()
	if !w.launched.CompareAndSwap(fresh, handed) {
		w.core.leave()
	}
}

// begin reports whether this is the first run of the incarnation, and may take
// place. Then it is counted: the one that handed it over has done that, or is
// still counted itself.
func (w *incarnation[J, R]) begin() bool {
	if !w.core.enter() {
		return false
	}
	if w.launched.CompareAndSwap(fresh, begun) {
		return true
	}
	w.core.leave()
	return w.launched.CompareAndSwap(handed, begun)
}

// run is the incarnation's goroutine. However the worker ends, its exit is fed
// once, as the last thing but for the accounting.
func (w *incarnation[J, R]) run() {
	if !w.begin() {
		return
	}
	defer w.core.register()()
	pprof.SetGoroutineLabels(w.core.labels)
	defer w.end()
	if w.prepare() {
		w.serve()
	}
}

// prepare has the worker activated, if it wants to be, and reports whether it
// may serve.
func (w *incarnation[J, R]) prepare() bool {
	if activator, ok := w.worker.(Activator); ok {
		select {
		case <-w.slot:
		case <-w.ctx.Done():
			select {
			case <-w.slot: // granted all the same, and its settlement is waited for
			default:
				w.exit = fold.Exit{Kind: fold.Normal}
				return false
			}
		}
		if !w.activate(activator) {
			return false
		}
	}
	if w.ctx.Err() != nil {
		w.exit = fold.Exit{Kind: fold.Normal}
		return false
	}
	return true
}

// activate runs Activate and has the slot freed, whatever that does.
func (w *incarnation[J, R]) activate(activator Activator) (ok bool) {
	w.core.feed(w.event(fold.ActivationBegun))
	ev := w.event(fold.ActivationFailed)
	ev.Cause = future.ErrGoexit
	defer func() {
		if v := recover(); v != nil {
			ev.Cause = &future.PanicError{Value: v, Stack: debug.Stack()}
			w.exit = fold.Exit{Kind: fold.Panicked, Cause: ev.Cause}
		}
		w.unfit = ev.Cause
		w.core.feed(ev)
	}()
	err := w.ctx.Err()
	if err != nil {
		err = context.Cause(w.ctx)
	} else {
		err = activator.Activate(w.ctx)
	}
	if err != nil {
		ev.Cause = err
		w.exit = fold.Exit{Kind: fold.Normal} // the failure is told by the activation
		return false
	}
	ev.Kind, ev.Cause = fold.Activated, nil
	return true
}

// serve runs Serve and notes how it ends.
func (w *incarnation[J, R]) serve() {
	w.served = true
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			w.exit = fold.Exit{Kind: fold.Panicked, Cause: &future.PanicError{Value: v, Stack: debug.Stack()}}
		}
	}()
	err := w.worker.Serve(w.ctx, &w.inbox)
	returned = true
	if err != nil {
		w.exit = fold.Exit{Kind: fold.Failed, Cause: err}
	} else {
		w.exit = fold.Exit{Kind: fold.Normal}
	}
}

// end feeds the exit.
func (w *incarnation[J, R]) end() {
	c := w.core
	pprof.SetGoroutineLabels(c.labels)
	untaken := w.inbox.desert()
	w.cancel(errEnded)
	var at time.Duration
	defer func() { // the clock may call runtime.Goexit
		w.worker = nil // the role may be without another for long
		ev := w.event(fold.Exited)
		ev.Exit = w.exit
		c.feedExit(at, ev, untaken)
	}()
	defer func() { at = c.instant() }() // a Discard may, too
	if d, ok := w.worker.(Discarder); ok && !w.served {
		cause := w.unfit
		if cause == nil {
			cause = context.Cause(w.ctx)
		}
		c.netted(context.Background(), "Discard", func() { d.Discard(cause) })
	}
}
