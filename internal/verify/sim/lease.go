package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cadre-go/cadre/executor/lease"
)

// leaseSide is the lease pool, its handles, who asks for a lease, and what was
// connected.
type leaseSide struct {
	lease        *lease.Pool[*resource]
	handles      []*handle
	acquisitions []*acquisition
	resources    []*resource
	plans        []ending // of the next Connects and Validates
	leaseClosing bool
	leaseFailed  bool
	resets       int
	sweeps       []*call
	// What the executor does next.
	executorFaults []executorFault
	stall          bool // the next event holds the owner up
	turns          turns
	balanced       int // acquisitions at the last balance
}

const (
	acquireTimeout = 100 * time.Millisecond
	maxIdle        = 200 * time.Millisecond
	maxLifetime    = 2 * time.Second
)

// onEvent is the hook that runs on the owner's goroutine.
const onEvent = "OnEvent"

// handle is a handle of the pool; the first stands for the pool itself.
type handle struct {
	id     int
	h      *lease.Handle[*resource]
	closed bool
}

func (a *acquisition) String() string { return fmt.Sprintf("%s %d", a.verb, a.id) }

// resource is one value that Connect returned.
type resource struct {
	id       int
	born     time.Time
	resets   int
	returned time.Time
	holders  int
	dirty    bool
	disposed int
	detached bool
}

// connecting says which acquisition a puppet in Connect or Validate is for.
type connecting struct{ job int }

func (w *world) openLease() {
	s := w.h.Shape
	cfg := lease.Config[*resource]{
		Slots: s.Slots, PermitsPerSlot: s.Permits, MaxWaiters: s.MaxWaiters,
		Connect: w.connect, Validate: w.validate, Dispose: w.disposeOf,
		Clock: w.clockOrNil(), Logger: slog.New(logHandler{w}),
		OnEvent: w.event,
	}
	if s.FIFO {
		cfg.Fairness = lease.FIFO
	}
	if s.PreferWarm {
		cfg.SlotOrder = lease.PreferWarm
	}
	if s.AcquireTimeout {
		cfg.AcquireTimeout = acquireTimeout
	}
	if s.Aging {
		cfg.MaxIdle, cfg.MaxLifetime, cfg.ValidateAfter = maxIdle, maxLifetime, 20*time.Millisecond
	}
	if s.LeaseOnPool {
		cfg.Executor = faultyExecutor{w}
		w.plain = false
	}
	p, err := lease.New(cfg)
	if err != nil {
		panic(err)
	}
	w.lease = p
	w.handles = []*handle{{}, {id: 1, h: p.Handle()}, {id: 2, h: p.Handle()}}
}

// event is told on the owner's goroutine.
func (w *world) event(lease.Event) {
	w.mu.Lock()
	stall := w.stall && !w.epilogue.Load()
	w.stall = false
	w.mu.Unlock()
	if stall {
		w.counts.fault("owner held up in " + onEvent)
		w.stand(w.newPuppet(hookRole, context.Background(), onEvent), nil)
		return
	}
	w.hook(context.Background(), onEvent, w.failLease)
}

// stallOwner holds the owner up at the next event, such as that of a second
// release, which it makes if it can.
func (w *world) stallOwner(op Op) {
	w.mu.Lock()
	w.stall = true
	w.mu.Unlock()
	if w.releaseAgain(op); w.skip {
		w.skip = false
		w.note("the next event holds the owner up")
	}
}

// failLease enters that a hook is about to panic, which fails the pool for good.
func (w *world) failLease() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leaseFailed = true
}

// hookPlan plays Connect or Validate for the acquisition whose context it has.
func (w *world) hookPlan(ctx context.Context, what string) error {
	job := jobOf(ctx)
	w.mu.Lock()
	for _, a := range w.acquisitions {
		if a.id == job {
			a.granted = true
		}
	}
	end := returned
	if len(w.plans) > 0 && !w.epilogue.Load() {
		end, w.plans = w.plans[0], w.plans[1:]
	}
	w.mu.Unlock()
	if end == running {
		w.counts.fault("slow " + what)
		p := w.newPuppet(connectRole, context.WithValue(ctx, inHook{}, true), fmt.Sprintf("%s for %d", what, job))
		p.connect = &connecting{job}
		end = w.stand(p, ctx.Done())
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if end != returned {
		w.counts.fault(what + " that " + end.String())
	}
	if end == panicked || end == panickedNil {
		w.failLease()
	}
	return finish(end, what)
}

func (w *world) connect(ctx context.Context) (*resource, error) {
	if err := w.hookPlan(ctx, "Connect"); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &resource{id: len(w.resources), born: w.now(), resets: w.resets, returned: w.now()}
	w.resources = append(w.resources, r)
	return r, nil
}

func (w *world) validate(ctx context.Context, r *resource) error {
	w.mu.Lock()
	if r.disposed > 0 || r.detached {
		w.badLocked("resource %d is validated, and is gone", r.id)
	}
	w.mu.Unlock()
	return w.hookPlan(ctx, "Validate")
}

func (w *world) disposeOf(r *resource) {
	w.mu.Lock()
	r.disposed++
	switch {
	case r.disposed > 1:
		w.badLocked("resource %d is disposed of twice", r.id)
	case r.detached:
		w.badLocked("resource %d is disposed of, and was detached", r.id)
	case r.holders > 0:
		w.badLocked("resource %d is disposed of, and is leased", r.id)
	}
	w.mu.Unlock()
	w.hook(context.Background(), "Dispose", w.failLease)
}

// heldLease picks a lease that is held, not one that Do will release.
func (w *world) heldLease(arg uint16) (*acquisition, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*acquisition
	for _, a := range w.acquisitions {
		if a.held && a.verb != "do" {
			out = append(out, a)
		}
	}
	return pick(out, arg)
}

func (w *world) release(op Op) { w.giveBack(op, false) }

func (w *world) discard(op Op) { w.giveBack(op, true) }

func (w *world) giveBack(op Op, discard bool) {
	a, ok := w.heldLease(op.A)
	if !ok {
		w.none()
		return
	}
	verb := "release"
	if discard {
		verb = "discard"
	}
	w.at(op, fmt.Sprintf("%s the lease of %v", verb, a), func(context.Context) {
		if err := w.returnLease(a, discard); err != nil {
			w.bad("%s of the lease of %v: %v", verb, a, err)
		}
	})
}

// returnLease enters the release first: on a pool that has ended it disposes.
func (w *world) returnLease(a *acquisition, discard bool) error {
	w.mu.Lock()
	a.held = false
	a.res.dirty = a.res.dirty || discard || a.dirty
	a.res.holders--
	a.res.returned = w.now()
	w.mu.Unlock()
	if discard {
		return a.lease.Discard(&ownError{"a discard"})
	}
	return a.lease.Release()
}

func (w *world) releaseAgain(op Op) {
	var done []*acquisition
	for _, a := range w.acquisitions {
		if a.res != nil && !a.held && a.verb != "do" {
			done = append(done, a)
		}
	}
	a, ok := pick(done, op.A)
	if !ok {
		w.none()
		return
	}
	w.counts.fault("second release")
	w.at(op, fmt.Sprintf("release the lease of %v again", a), func(context.Context) {
		if err := a.lease.Release(); !errors.Is(err, lease.ErrReleased) {
			w.bad("the second release of %v answers %v", a, err)
		}
		if a.lease.Held() {
			w.bad("the lease of %v was released, and is held", a)
		}
	})
}

func (w *world) detach(op Op) {
	a, ok := w.heldLease(op.A)
	if !ok {
		w.none()
		return
	}
	w.at(op, fmt.Sprintf("detach the resource of %v", a), func(context.Context) {
		shared := a.res.holders > 1
		w.mu.Lock()
		a.res.detached = !shared // ahead of the call, in which somebody may get a new one
		w.mu.Unlock()
		r, err := a.lease.Detach()
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case shared && !errors.Is(err, lease.ErrShared), !shared && err != nil, err == nil && r != a.res:
			w.badLocked("detach of resource %d, with %d holders, answers %v", a.res.id, a.res.holders, err)
		case err == nil:
			a.held = false
			r.holders--
		}
	})
}

func (w *world) armLease(op Op) {
	a, ok := w.heldLease(op.A)
	if !ok {
		w.none()
		return
	}
	w.at(op, fmt.Sprintf("leave an operation in flight on %v", a), func(context.Context) {
		if op.B%2 == 0 {
			a.lease.Arm()
			a.dirty = true
			return
		}
		w.mu.Lock()
		a.res.dirty = true
		w.mu.Unlock()
		a.lease.MarkDirty(&ownError{"a mark"})
	})
}

func (w *world) reset(op Op) {
	w.at(op, "reset", func(context.Context) {
		w.lease.Reset()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.resets++
	})
}

func (w *world) sweep(op Op) {
	c := w.newCaller(op, op.B)
	w.sweeps = append(w.sweeps, w.at(op, "sweep"+w.under(c), func(context.Context) { _, _ = w.lease.Sweep(c.ctx) }))
}

// armConnect prepares a fault of the next Connect or Validate.
func (w *world) armConnect(op Op) {
	end := []ending{running, running, running, failed, failed, exited, panicked}[op.A%7]
	if end == panicked && op.B%3 != 0 {
		end = running
	}
	w.note("the next Connect or Validate: %v", end)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plans = append(w.plans, end)
}

func (w *world) leaseClose(op Op) {
	w.leaseClosing = true
	w.counts.fault("end of the leases")
	onOwner := w.site(op) != nil // maybe, and it does not wait for itself
	w.at(op, "close the leases", func(context.Context) {
		_ = w.lease.Close()
		select {
		case <-w.lease.Done():
		default:
			if !onOwner {
				w.bad("the lease pool was closed, and is not done")
			}
		}
	})
}

func (w *world) leaseShutdown(op Op) {
	c := w.newCaller(op, 4+op.B%4)
	w.leaseClosing = true
	w.counts.fault("end of the leases")
	w.at(op, fmt.Sprintf("shut down the leases under caller %d", c.id), func(context.Context) { _ = w.lease.Shutdown(c.ctx) })
}
