package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cadre-go/cadre/executor/lease"
)

// acquisition is one call of Acquire, TryAcquire or Do.
type acquisition struct {
	id      int // its job
	verb    string
	handle  *handle
	caller  *caller
	stop    context.CancelFunc // for an acquisition that waits for itself, at the end
	call    *call
	began   time.Time
	resets  int // before it
	granted bool
	inside  bool // in the function of Do
	alone   bool // nobody was connecting or validating when it began

	lease lease.Lease[*resource]
	err   error
	res   *resource
	held  bool
	dirty bool // marked or armed: the resource goes with the release
}

func (w *world) newHandle(op Op) {
	h := &handle{id: len(w.handles)}
	w.at(op, fmt.Sprintf("make handle %d", h.id), func(context.Context) { h.h = w.lease.Handle() })
	w.handles = append(w.handles, h)
}

func (w *world) closeHandle(op Op) {
	h, ok := pick(w.handles, op.A)
	if !ok || h.h == nil {
		w.none()
		return
	}
	h.closed = true
	w.counts.fault("end of a handle")
	w.at(op, fmt.Sprintf("close handle %d", h.id), func(context.Context) { _ = h.h.Close() })
}

func (w *world) acquire(op Op) {
	w.ask(op, "acquire", func(a *acquisition, ctx context.Context) {
		var l lease.Lease[*resource]
		var err error
		if a.handle.h != nil {
			l, err = a.handle.h.Acquire(ctx)
		} else {
			l, err = w.lease.Acquire(ctx)
		}
		w.acquired(a, l, err)
	})
}

func (w *world) tryAcquire(op Op) {
	w.ask(op, "try-acquire", func(a *acquisition, ctx context.Context) {
		var l lease.Lease[*resource]
		var err error
		if a.handle.h != nil {
			l, err = a.handle.h.TryAcquire(ctx)
		} else {
			l, err = w.lease.TryAcquire(ctx)
		}
		w.acquired(a, l, err)
	})
}

func (w *world) leaseDo(op Op) {
	w.ask(op, "do", func(a *acquisition, ctx context.Context) {
		do := w.lease.Do
		if a.handle.h != nil {
			do = a.handle.h.Do
		}
		err := do(ctx, func(ctx context.Context, r *resource) error {
			w.mu.Lock()
			a.inside = true
			w.deliveredLocked(a, r)
			w.mu.Unlock()
			end := exited
			defer func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				a.inside, a.held = false, false
				r.dirty = r.dirty || end != returned
				r.holders--
				r.returned = w.now()
			}()
			end = w.stand(w.newPuppet(doRole, ctx, a.String()), nil)
			return finish(end, a.String())
		})
		w.mu.Lock()
		a.err = err
		w.mu.Unlock()
	})
}

// ask makes an acquisition and checks its answer against what could be known.
func (w *world) ask(op Op, verb string, fn func(*acquisition, context.Context)) {
	h, _ := pick(w.handles, op.A)
	c := w.newCaller(op, op.B)
	ctx, job := w.jobContext(c.ctx)
	ctx, stop := context.WithCancel(ctx)
	a := &acquisition{id: job, stop: stop, verb: verb, handle: h, caller: c, began: w.now(), resets: w.resets}
	want := w.expectLease(a)
	// In a hook of the pool itself an acquisition fails where it would wait.
	unknown := !w.quiet() // nothing is known then either
	if c.inHook {
		unknown, want = true, nil
	}
	a.alone = len(w.standing(connectRole)) == 0
	w.mu.Lock()
	w.acquisitions = append(w.acquisitions, a)
	w.mu.Unlock()
	a.call = w.at(op, fmt.Sprintf("%v by handle %d%s", a, h.id, w.under(c)), func(context.Context) { fn(a, ctx) })
	w.mu.Lock()
	defer w.mu.Unlock()
	if want != nil && (!a.call.done || !errors.Is(a.err, want)) {
		w.badLocked("%v ended: %v, with %v, and not with %v", a, a.call.done, a.err, want)
	}
	if want == nil && !unknown && (errors.Is(a.err, lease.ErrSaturated) || errors.Is(a.err, lease.ErrNoCapacity)) && w.blocked == 0 {
		w.badLocked("%v was refused with %v, and a permit was free", a, a.err)
	}
}

// expectLease is the error that an acquisition has to end with at once, or nil.
func (w *world) expectLease(a *acquisition) error {
	quiet := w.quiet()
	s := w.lease.Stats()
	switch {
	case w.leaseFailed || w.leaseClosing && !quiet:
		return nil
	case w.leaseClosing:
		return lease.ErrClosed
	case a.handle.closed:
		return lease.ErrHandleClosed
	case a.caller.ended():
		return a.caller.ctx.Err()
	case !quiet || s.Free > 0:
		return nil
	case a.verb == "try-acquire":
		return lease.ErrNoCapacity
	case s.Waiters >= max(0, w.h.Shape.MaxWaiters):
		return lease.ErrSaturated
	}
	return nil
}

func (w *world) acquired(a *acquisition, l lease.Lease[*resource], err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.err = err; err == nil {
		a.lease = l
		w.deliveredLocked(a, l.Value())
	}
}

// deliveredLocked checks a resource that is lent.
func (w *world) deliveredLocked(a *acquisition, r *resource) {
	a.res, a.held, a.granted = r, true, true
	r.holders++
	// Who comes while a Validate is going on takes what that is about.
	aged := w.h.Shape.Aging && !w.jumped && a.alone
	switch {
	case r.disposed > 0 || r.detached:
		w.badLocked("%v got resource %d, which is gone", a, r.id)
	case r.dirty:
		w.badLocked("%v got resource %d, which is dirty", a, r.id)
	case r.holders > w.h.Shape.Permits:
		w.badLocked("%v got resource %d, as the holder number %d", a, r.id, r.holders)
	case r.resets < a.resets:
		w.badLocked("%v got resource %d, which was connected before a Reset", a, r.id)
	case aged && a.began.Sub(r.born) >= maxLifetime:
		w.badLocked("%v got resource %d, which is %v old", a, r.id, a.began.Sub(r.born))
	case aged && r.holders == 1 && a.began.Sub(r.returned) >= maxIdle:
		w.badLocked("%v got resource %d, which was idle for %v", a, r.id, a.began.Sub(r.returned))
	}
}
