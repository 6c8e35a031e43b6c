package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/cadre-go/cadre/future"
)

// deriving is the function of a Then or a Recover.
type deriving struct {
	calls int
	end   ending
	tok   *token
}

// derivedBody makes the function of a Then or a Recover, whose plan the operation
// fixes.
func (w *world) derivedBody(op Op, d *deriving, job int, what string) func(context.Context) (*token, error) {
	d.end = []ending{returned, returned, returned, failed, panicked, exited}[op.C/2%6]
	return func(ctx context.Context) (*token, error) {
		w.mu.Lock()
		d.calls++
		w.mu.Unlock()
		w.sound(ctx, job, what)
		if w.epilogue.Load() {
			d.end = returned
		}
		if d.end != returned {
			w.counts.fault("function of a derived future that " + d.end.String())
		}
		if err := finish(d.end, what); err != nil {
			return nil, err
		}
		d.tok = w.newToken(what)
		return d.tok, nil
	}
}

func (w *world) then(op Op)        { w.derive(op, false) }
func (w *world) recoverFrom(op Op) { w.derive(op, true) }

func (w *world) derive(op Op, onFailure bool) {
	src, ok := w.open(op, values)
	if !ok {
		w.none()
		return
	}
	c := w.newCaller(op, op.C)
	ctx, job := w.jobContext(c.ctx)
	d := &deriving{}
	verb := "then"
	if onFailure {
		verb = "recover"
	}
	what := fmt.Sprintf("%s of %d", verb, src.id)
	body := w.derivedBody(op, d, job, what)
	w.at(op, fmt.Sprintf("%s %v, plan %v%s", verb, src, d.end, w.under(c)), func(context.Context) {
		var f *future.Future[*token]
		// A function that exits takes the goroutine along, this one if the source
		// has settled.
		if onFailure {
			f = future.Recover(ctx, src.future, func(ctx context.Context, _ error) (*token, error) { return body(ctx) })
		} else {
			f = future.Then(ctx, src.future, func(ctx context.Context, _ *token) (*token, error) { return body(ctx) }, w.dispose())
		}
		t := track(w, f, what, c, src)
		t.rule = func(o outcome, ok bool) { w.derivedRule(t, src, d, onFailure, o, ok) }
	})
}

// derivedRule is what a future that follows one other owes it.
func (w *world) derivedRule(f, src *tracked, d *deriving, onFailure bool, o outcome, ok bool) {
	so, sok := src.outcome()
	if d.calls > 1 {
		w.badLocked("the function of %v was called %d times", f, d.calls)
	}
	if !ok {
		if sok {
			w.badLocked("%v is pending, and %v has settled", f, src)
		}
		return
	}
	if o.canceled {
		if !sok && !f.abandonWon {
			w.badLocked("%v was canceled, and %v is pending", f, src)
		}
		return
	}
	if !sok {
		w.badLocked("%v has settled, and %v is pending", f, src)
		return
	}
	if so.canceled {
		w.badLocked("%v was canceled, and %v says %v, %v", src, f, o.value, o.err)
		return
	}
	if (so.err != nil) != onFailure {
		if d.calls != 0 || !same(o, so) {
			w.badLocked("%v says %v, %v, which is not passed on: %v says %v, %v", src, so.value, so.err, f, o.value, o.err)
		}
		return
	}
	var pe *future.PanicError
	good := d.calls == 1
	switch d.end {
	case returned:
		good = good && o.err == nil && o.value == any(d.tok)
	case failed:
		good = good && errors.Is(o.err, errOwn)
	case panicked:
		good = good && errors.As(o.err, &pe)
	case exited:
		good = good && errors.Is(o.err, future.ErrGoexit)
	}
	if !good {
		w.badLocked("the function of %v has %v after %d calls, and the future says %v, %v", f, d.end, d.calls, o.value, o.err)
	}
}

func (w *world) shield(op Op) {
	src, ok := w.open(op, values)
	if !ok {
		w.none()
		return
	}
	w.at(op, fmt.Sprintf("shield %v", src), func(context.Context) {
		t := track(w, future.Shield(src.future), fmt.Sprintf("shield of %d", src.id), nil)
		t.rule = func(o outcome, ok bool) {
			so, sok := src.outcome()
			switch {
			case sok && !ok:
				w.badLocked("%v is pending, and %v has settled", t, src)
			case ok && !sok && !o.canceled:
				w.badLocked("%v has settled, and %v is pending", t, src)
			case ok && sok && !o.canceled && !same(o, so):
				w.badLocked("%v says %v, %v, and %v says %v, %v", t, o.value, o.err, src, so.value, so.err)
			}
		}
	})
}

// some are up to three futures of values.
func (w *world) some(op Op) []*tracked {
	var all []*tracked
	for _, f := range w.futures {
		if values(f) && (!f.settledNow() || op.B%3 == 0) {
			all = append(all, f)
		}
	}
	var out []*tracked
	for i := range min(len(all), int(op.C%4)) {
		out = append(out, all[(int(op.A)+i)%len(all)])
	}
	return out
}

func sources(fs []*tracked) (out []*future.Future[*token]) {
	for _, f := range fs {
		out = append(out, f.future)
	}
	return out
}

func ids(fs []*tracked) (out []int) {
	for _, f := range fs {
		out = append(out, f.id)
	}
	return out
}

func (w *world) all(op Op) {
	in, c := w.some(op), w.newCaller(op, op.B)
	w.at(op, fmt.Sprintf("all of %v%s", ids(in), w.under(c)), func(context.Context) {
		t := track(w, future.All(c.ctx, sources(in)...), fmt.Sprintf("all of %v", ids(in)), c, in...)
		t.rule = func(o outcome, ok bool) {
			n := w.tally(in)
			w.aggregateRule(t, in, o, ok, n.failed > 0 || n.pending == 0)
			if ok && o.err == nil {
				for i, tok := range o.value.([]*token) {
					if io, _ := in[i].outcome(); io.value != any(tok) {
						w.badLocked("%v has not the value of %v", t, in[i])
					}
				}
			}
		}
	})
}

func (w *world) settledAll(op Op) {
	in, c := w.some(op), w.newCaller(op, op.B)
	w.at(op, fmt.Sprintf("settled of %v%s", ids(in), w.under(c)), func(context.Context) {
		t := track(w, future.Settled(c.ctx, sources(in)...), fmt.Sprintf("settled of %v", ids(in)), c, in...)
		t.rule = func(o outcome, ok bool) {
			n := w.tally(in)
			w.aggregateRule(t, in, o, ok, n.pending == 0)
			if ok && o.err == nil {
				for i, got := range o.value.([]future.Outcome[*token]) {
					if io, sok := in[i].outcome(); !sok || io.err != got.Err || io.value != any(got.Value) {
						w.badLocked("%v has not the outcome of %v", t, in[i])
					}
				}
			}
		}
	})
}

func (w *world) anyOf(op Op) {
	in, c := w.some(op), w.newCaller(op, op.B)
	w.at(op, fmt.Sprintf("any of %v%s", ids(in), w.under(c)), func(context.Context) {
		t := track(w, future.Any(c.ctx, sources(in)...), fmt.Sprintf("any of %v", ids(in)), c, in...)
		t.rule = func(o outcome, ok bool) {
			n := w.tally(in)
			w.aggregateRule(t, in, o, ok, n.completed > 0 || n.pending == 0)
			w.firstRule(t, in, o, ok)
		}
	})
}

func (w *world) race(op Op) {
	in, c := w.some(op), w.newCaller(op, op.B)
	w.at(op, fmt.Sprintf("race of %v%s", ids(in), w.under(c)), func(context.Context) {
		t := track(w, future.Race(c.ctx, sources(in)...), fmt.Sprintf("race of %v", ids(in)), c, in...)
		t.rule = func(o outcome, ok bool) {
			n := w.tally(in)
			w.aggregateRule(t, in, o, ok, len(in) == 0 || n.pending < len(in))
			w.firstRule(t, in, o, ok)
		}
	})
}

type tally struct{ completed, failed, pending int }

func (w *world) tally(in []*tracked) (n tally) {
	for _, f := range in {
		switch o, ok := f.outcome(); {
		case !ok:
			n.pending++
		case o.err == nil:
			n.completed++
		default:
			n.failed++
		}
	}
	return n
}

// aggregateRule: an aggregate settles when its inputs have decided it, and unless
// it was abandoned it leaves none of them pending.
func (w *world) aggregateRule(f *tracked, in []*tracked, o outcome, ok, decided bool) {
	if !ok && decided {
		w.badLocked("%v is pending, and its inputs have decided it", f)
	}
	if ok && !decided && !o.canceled {
		w.badLocked("%v says %v, %v, and its inputs have not decided it", f, o.value, o.err)
	}
	if !ok || f.abandonWon {
		return
	}
	for _, i := range in {
		if !i.settledNow() {
			w.badLocked("%v has settled, and %v is pending", f, i)
		}
	}
}

// firstRule: a value is that of one of the inputs.
func (w *world) firstRule(f *tracked, in []*tracked, o outcome, ok bool) {
	if !ok || o.err != nil {
		return
	}
	for _, i := range in {
		if io, sok := i.outcome(); sok && io.err == nil && io.value == o.value {
			return
		}
	}
	w.badLocked("%v has the value of none of its inputs", f)
}

// each ranges over futures; every one comes up once.
func (w *world) each(op Op) {
	in, c := w.some(op), w.newCaller(op, op.B)
	e := &eachCall{in: in, caller: c}
	w.eaches = append(w.eaches, e)
	if p := w.site(op); p != nil || c.nested {
		w.mu.Lock()
		w.lending++ // its context may be the task's
		w.mu.Unlock()
	}
	e.call = w.at(op, fmt.Sprintf("each of %v%s", ids(in), w.under(c)), func(context.Context) {
		seen := map[int]int{}
		for i, o := range future.Each(c.ctx, sources(in)...) {
			seen[i]++
			if io, ok := in[i].outcome(); ok && io.err == o.Err && io.value != any(o.Value) {
				w.bad("each of %v yields another outcome than that of %v", ids(in), in[i])
			}
			if op.A%5 == 0 {
				return
			}
		}
		for i := range in {
			if seen[i] != 1 {
				w.bad("each of %v yielded number %d %d times", ids(in), i, seen[i])
			}
		}
	})
}

type eachCall struct {
	in     []*tracked
	caller *caller
	call   *call
}

func (w *world) balanceEachLocked(e *eachCall, quiet bool) {
	// It is told by a callback, which a stuck one of another may come before.
	if e.call == nil || e.call.done || !quiet {
		return
	}
	if e.caller.ended() || w.tally(e.in).pending == 0 {
		w.badLocked("%s does not end", e.call.name)
	}
}
