package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
)

// tracked is a future of whatever type, and what is known of it.
type tracked struct {
	id     int
	what   string
	caller *caller // nil: no context can end it

	cancel    func(error) bool
	abandon   func(error) bool
	outcome   func() (outcome, bool)
	onSettle  func(func(outcome))
	await     func(context.Context) (any, error)
	future    *future.Future[*token]    // nil for an aggregate
	completer *future.Completer[*token] // nil unless the history completes it

	settles    int // calls of the function that track registered
	seen       bool
	first      outcome
	abandonWon bool
	listeners  []*listener
	cancels    []*listener // functions of OnCancel

	task   *task
	mapped []*task
	inputs []*tracked
	rule   func(o outcome, ok bool) // what a derived future owes its inputs; holds w.mu
	made   []*token                 // values that were produced for it
}

// outcome is what a future settled with, whatever its type.
type outcome struct {
	value    any
	err      error
	canceled bool
}

func (f *tracked) settledNow() bool {
	_, ok := f.outcome()
	return ok
}

// track enters a future into the books.
func track[T any](w *world, f *future.Future[T], what string, c *caller, inputs ...*tracked) *tracked {
	convert := func(o future.Outcome[T]) outcome { return outcome{any(o.Value), o.Err, o.Canceled()} }
	t := &tracked{what: what, caller: c, inputs: inputs}
	t.cancel, t.abandon = f.Cancel, f.Abandon
	t.outcome = func() (outcome, bool) {
		o, ok := f.Outcome()
		return convert(o), ok
	}
	t.onSettle = func(fn func(outcome)) { f.OnSettle(func(o future.Outcome[T]) { fn(convert(o)) }) }
	t.await = func(ctx context.Context) (any, error) {
		v, err := f.Await(ctx)
		return any(v), err
	}
	if g, ok := any(f).(*future.Future[*token]); ok {
		t.future = g
	}
	w.mu.Lock()
	t.id = len(w.futures)
	w.futures = append(w.futures, t)
	w.mu.Unlock()
	t.onSettle(func(outcome) {
		w.mu.Lock()
		defer w.mu.Unlock()
		t.settles++
		if t.settles > 1 {
			w.badLocked("%s settled twice", t.what)
		}
	})
	return t
}

func (f *tracked) String() string { return fmt.Sprintf("future %d (%s)", f.id, f.what) }

// balanceFuture is what has to hold of every future: it settles once, stays what
// it is, tells everybody in order, and follows the context that it is tied to.
func (w *world) balanceFutureLocked(f *tracked, quiet bool) {
	o, ok := f.outcome()
	if f.seen {
		if !ok || !same(o, f.first) {
			w.badLocked("%v was %+v, and is %+v", f, f.first, o)
		}
	} else if ok {
		f.seen, f.first = true, o
	}
	if !ok && f.settles > 0 || ok && f.settles > 1 || ok && f.settles == 0 && quiet {
		w.badLocked("%v has told of its outcome %d times; settled: %v", f, f.settles, ok)
	}
	// The end of a pool reaches what its own tasks have submitted to it through the
	// contexts of the tasks.
	nested := (f.task != nil || f.mapped != nil) && f.caller != nil && errors.Is(context.Cause(f.caller.ctx), executor.ErrClosed)
	if !ok && f.caller != nil && f.caller.ended() && !nested {
		w.badLocked("%v is pending, and its context has ended", f)
	}
	for i, l := range f.listeners {
		switch {
		case l.calls > 1, l.calls > 0 && !ok, l.calls == 0 && ok && quiet:
			w.badLocked("function %d of %v was called %d times; settled: %v", i, f, l.calls, ok)
		}
	}
	canceled := ok && o.canceled && !f.abandonWon
	for i, l := range f.cancels {
		switch {
		case l.calls > 1, l.calls > 0 && !canceled, l.calls == 0 && canceled && quiet:
			w.badLocked("function %d of OnCancel of %v was called %d times; canceled: %v", i, f, l.calls, canceled)
		}
	}
	if f.rule != nil && quiet {
		f.rule(o, ok)
	}
	for _, t := range f.made {
		w.fateLocked(t, f)
	}
	if f.task != nil && f.task.token != nil && f.task.end == returned && quiet {
		w.fateLocked(f.task.token, f)
	}
	if f.task != nil && ok && quiet {
		w.balanceSubmitLocked(f, f.task, o)
	}
}

// balanceSubmitLocked is what the future of a task says of how that ended.
func (w *world) balanceSubmitLocked(f *tracked, t *task, o outcome) {
	if o.canceled || t.rejected != nil || t.starts == 0 {
		return
	}
	var pe *future.PanicError
	good := true
	switch t.end {
	case running:
		good = false
	case returned:
		good = o.err == nil && o.value == any(t.token)
	case failed:
		good = errors.Is(o.err, errOwn)
	case panicked, panickedNil:
		good = errors.As(o.err, &pe)
	case exited:
		good = errors.Is(o.err, future.ErrGoexit)
	}
	if !good {
		w.badLocked("%s has %v, and its future says %v, %v", t.what, t.end, o.value, o.err)
	}
}

// same compares two outcomes without looking into slices.
func same(a, b outcome) bool {
	if a.err != b.err {
		return false
	}
	if at, ok := a.value.(*token); ok {
		return b.value == any(at)
	}
	return true
}
