package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/cadre-go/cadre/future"
)

// futureSide is all futures, whoever made them, and who waits for them.
type futureSide struct {
	futures   []*tracked
	tokens    []*token
	awaits    []*awaiting
	eaches    []*eachCall
	listening int
}

// awaiting is a call of Await.
type awaiting struct {
	f     *tracked
	ctx   context.Context
	call  *call
	value any
	err   error
}

// listener is a function that was given to OnSettle or OnCancel.
type listener struct {
	calls int
	order int
	late  bool // registered when the future had settled: called at once
}

func (w *world) completer(op Op) {
	w.at(op, fmt.Sprintf("make future %d", len(w.futures)), func(context.Context) {
		c := future.NewCompleter(w.dispose())
		track(w, c.Future(), "a completer's", nil).completer = c
	})
}

// open is a future that has not settled, in three of four cases, or any.
func (w *world) open(op Op, ok func(*tracked) bool) (*tracked, bool) {
	var pending, all []*tracked
	for _, f := range w.futures {
		if ok != nil && !ok(f) {
			continue
		}
		all = append(all, f)
		if !f.settledNow() {
			pending = append(pending, f)
		}
	}
	if op.B%4 != 0 && len(pending) > 0 {
		return pick(pending, op.A)
	}
	return pick(all, op.A)
}

func completes(f *tracked) bool { return f.completer != nil }
func values(f *tracked) bool    { return f.future != nil }

func (w *world) complete(op Op) {
	f, ok := w.open(op, completes)
	if !ok {
		w.none()
		return
	}
	pending := !f.settledNow()
	tok := w.newToken(fmt.Sprintf("complete %d", f.id))
	f.made = append(f.made, tok)
	w.at(op, fmt.Sprintf("complete %v", f), func(context.Context) {
		if got := f.completer.Complete(tok); got != pending {
			w.bad("Complete of %v answers %v", f, got)
		}
	})
}

func (w *world) completeError(op Op) {
	f, ok := w.open(op, completes)
	if !ok {
		w.none()
		return
	}
	pending := !f.settledNow()
	w.at(op, fmt.Sprintf("fail %v", f), func(context.Context) {
		err := &ownError{f.what}
		got := f.completer.Fail(err)
		if got != pending {
			w.bad("Fail of %v answers %v", f, got)
		}
		if o, _ := f.outcome(); got && o.err != error(err) {
			w.bad("%v failed with %v, and says %v", f, err, o.err)
		}
	})
}

func (w *world) cancel(op Op)  { w.cancelOrAbandon(op, false) }
func (w *world) abandon(op Op) { w.cancelOrAbandon(op, true) }

func (w *world) cancelOrAbandon(op Op, abandon bool) {
	f, ok := w.open(op, nil)
	if !ok {
		w.none()
		return
	}
	pending := !f.settledNow()
	verb, fn := "cancel", f.cancel
	if abandon {
		verb, fn = "abandon", f.abandon
		if pending {
			w.mu.Lock()
			f.abandonWon = true
			w.mu.Unlock()
		}
	}
	w.counts.fault(verb + " of a future")
	// An aggregate that depends on f, maybe by way of others, may cancel the rest.
	alone := !slices.ContainsFunc(w.futures, func(g *tracked) bool { return g.id > f.id && len(g.inputs) > 0 })
	var before []bool
	for _, in := range f.inputs {
		before = append(before, in.settledNow())
	}
	var over atomic.Bool // the step is
	defer over.Store(true)
	w.at(op, fmt.Sprintf("%s %v", verb, f), func(context.Context) {
		cause := &ownError{verb}
		got := fn(cause)
		if got != pending {
			w.bad("%s of %v answers %v", verb, f, got)
		}
		var ce *future.CanceledError
		if o, _ := f.outcome(); got && (!errors.As(o.err, &ce) || ce.Cause != error(cause)) {
			w.bad("%s of %v with a cause, and it says %v", verb, f, o.err)
		}
		for i, in := range f.inputs {
			if over.Load() {
				return // in a callback that was stuck, and other things have happened since
			}
			if abandon && got && alone && !before[i] && in.settledNow() {
				w.bad("%v was abandoned, and so its input %v has settled", f, in)
			}
		}
	})
}

// onSettle registers a function that counts, panics, exits, stands still, or
// calls back into its own future.
func (w *world) onSettle(op Op) {
	f, ok := w.open(op, nil)
	if !ok {
		w.none()
		return
	}
	plan := op.C % 8
	l := &listener{order: w.listening}
	w.listening++
	w.at(op, fmt.Sprintf("listen to %v, plan %d", f, plan), func(ctx context.Context) {
		w.mu.Lock()
		l.late = f.settledNow()
		f.listeners = append(f.listeners, l)
		w.mu.Unlock()
		f.onSettle(func(outcome) {
			w.called(f, l, f.listeners)
			w.listenerActs(f, plan)
		})
	})
}

// called enters a call of a listener, which has to come after all earlier ones.
func (w *world) called(f *tracked, l *listener, all []*listener) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.calls++
	if !f.settledNow() {
		w.badLocked("a function of %v is called before the outcome is there", f)
	}
	for _, o := range all {
		if o.order < l.order && o.calls == 0 && !l.late {
			w.badLocked("a function of %v is called before one that was registered earlier", f)
		}
	}
}

func (w *world) listenerActs(f *tracked, plan uint16) {
	if w.epilogue.Load() {
		return
	}
	switch plan {
	case 3:
		w.counts.fault("callback that panics")
		panic(&boom{"a callback"})
	case 4:
		w.counts.fault("callback that exits")
		runtime.Goexit()
	case 5:
		w.counts.fault("callback that is stuck")
		end := w.stand(w.newPuppet(callbackRole, nil, "a callback of "+f.what), nil)
		_ = finish(end, "a callback")
	case 6:
		w.counts.fault("callback that calls back in")
		if f.cancel(nil) || f.abandon(nil) {
			w.bad("%v settled a second time, in its own callback", f)
		}
		w.callBack(context.Background())
	}
}

func (w *world) onCancel(op Op) {
	f, ok := w.open(op, completes)
	if !ok {
		w.none()
		return
	}
	l := &listener{order: w.listening}
	w.listening++
	w.at(op, fmt.Sprintf("listen for a cancel of %v", f), func(context.Context) {
		w.mu.Lock()
		l.late = f.settledNow()
		f.cancels = append(f.cancels, l)
		w.mu.Unlock()
		f.completer.OnCancel(func(error) {
			w.called(f, l, f.cancels)
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, o := range f.listeners {
				if o.calls > 0 && !l.late {
					w.badLocked("a function of OnSettle of %v was called before one of OnCancel", f)
				}
			}
			if op.C%8 == 3 && !w.epilogue.Load() {
				panic(&boom{"a function of OnCancel"})
			}
		})
	})
}

func (w *world) await(op Op) {
	f, ok := w.open(op, nil)
	if !ok {
		w.none()
		return
	}
	a := &awaiting{f: f}
	c := w.newCaller(op, op.C)
	inside := w.site(op)
	lends := inside != nil && inside.role == taskRole && op.B%2 == 0
	if inside != nil || c.nested {
		w.counts.fault("await inside of a task")
		w.mu.Lock()
		w.lending++
		w.mu.Unlock()
	}
	w.awaits = append(w.awaits, a)
	a.call = w.at(op, fmt.Sprintf("await %v%s", f, w.under(c)), func(ctx context.Context) {
		if a.ctx = c.ctx; lends {
			a.ctx = ctx
		}
		v, err := f.await(a.ctx)
		w.mu.Lock()
		defer w.mu.Unlock()
		a.value, a.err = v, err
	})
}

// balanceAwait is that who waits is told, and told the truth.
func (w *world) balanceAwaitLocked(a *awaiting) {
	o, settled := a.f.outcome()
	if a.call == nil || a.ctx == nil {
		return
	}
	if !a.call.done {
		if settled || a.ctx.Err() != nil {
			w.badLocked("%s does not return; the future has settled: %v, the context has ended: %v", a.call.name, settled, a.ctx.Err() != nil)
		}
		return
	}
	if !a.call.returned {
		return
	}
	var ie *future.InterruptedError
	if errors.As(a.err, &ie) && a.err == error(ie) && (!settled || a.err != o.err) {
		if a.ctx.Err() == nil || ie.Cause != context.Cause(a.ctx) {
			w.badLocked("%s was interrupted with %v, and its context ended with %v", a.call.name, ie.Cause, context.Cause(a.ctx))
		}
		return
	}
	if !settled || !same(outcome{value: a.value, err: a.err}, outcome{value: o.value, err: o.err}) {
		w.badLocked("%s returned %v, %v, and the future says %v, %v", a.call.name, a.value, a.err, o.value, o.err)
	}
}

func (w *world) balanceFutures() {
	quiet := w.quiet()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.futures {
		w.balanceFutureLocked(f, quiet)
	}
	for _, a := range w.awaits {
		w.balanceAwaitLocked(a)
	}
	for _, e := range w.eaches {
		w.balanceEachLocked(e, quiet)
	}
}
