package lease

import (
	"context"
	"runtime"
	"time"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

// acquire is Acquire for the party by.
func (c *core[R]) acquire(ctx context.Context, by *party) (Lease[R], error) {
	if err := c.admit(ctx, by); err != nil {
		return Lease[R]{}, err
	}
	now := c.clock.now() // ahead of the take: a foreign clock may end this goroutine
	if !c.slow {
		if turn, ok := c.gate.take(); ok {
			return c.finish(ctx, by, turn, now)
		}
	}
	if c.owner.abroad.Load() && c.inside() {
		return Lease[R]{}, c.unavailable() // it would wait for itself
	}
	c.counts.slow.Add(1)
	t, err := c.queue(ctx, by, now)
	if err != nil {
		return Lease[R]{}, err
	}
	return c.prepare(preparation[R]{core: c, ctx: ctx, ticket: t, by: by, queued: true, began: now, waited: true, stage: StageQueued})
}

// tryAcquire is TryAcquire for the party by.
func (c *core[R]) tryAcquire(ctx context.Context, by *party) (Lease[R], error) {
	if err := c.admit(ctx, by); err != nil {
		return Lease[R]{}, err
	}
	now := c.clock.now()
	if turn, ok := c.gate.take(); ok {
		return c.finish(ctx, by, turn, now)
	}
	return Lease[R]{}, c.unavailable()
}

// unavailable counts and returns the error of an acquisition that got no permit
// and does not wait for one.
func (c *core[R]) unavailable() error {
	c.counts.slow.Add(1)
	if c.gate.load().Ended() {
		return c.refusal()
	}
	c.counts.noCapacity.Add(1)
	return ErrNoCapacity
}

// admit refuses what needs no permit to be refused, in the documented order.
func (c *core[R]) admit(ctx context.Context, by *party) error {
	if ctx == nil {
		return nilContext()
	}
	if c.gate.load().Ended() {
		c.counts.slow.Add(1)
		return c.refusal()
	}
	if by.closed.Load() {
		c.counts.slow.Add(1)
		return c.barred(by)
	}
	if ctx.Err() != nil {
		err := c.canceled(ctx, StageAdmission)
		c.counts.slow.Add(1)
		return err
	}
	return nil
}

// finish makes a lease of a permit taken from the gate.
func (c *core[R]) finish(ctx context.Context, by *party, turn uint64, now int64) (Lease[R], error) {
	s, t := c.pick(turn, now)
	s.count.fast++
	if c.tracing || !c.freshLocked(s, now) {
		s.mu.Unlock()
		return c.prepare(preparation[R]{core: c, ctx: ctx, ticket: t, by: by})
	}
	l := c.leaseLocked(s, t, by, now)
	s.mu.Unlock()
	return l, nil
}

// canceled counts and returns the error of an acquisition whose context has
// ended. It counts last: a foreign context may panic.
func (c *core[R]) canceled(ctx context.Context, stage Stage) error {
	err := newCanceled(c.cfg.Name, stage, ctx)
	c.counts.canceled[stage].Add(1)
	return err
}

func (c *core[R]) barred(by *party) error {
	c.counts.barred.Add(1)
	return &HandleClosedError{Pool: c.cfg.Name, Handle: by.id}
}

// refusal counts and returns the error of an acquisition on a pool that has
// ended, or is about to.
func (c *core[R]) refusal() error {
	err := c.terminal()
	if _, failed := err.(*SchedulerFailedError); failed {
		c.counts.failedRejections.Add(1)
	} else {
		c.counts.closedRejections.Add(1)
	}
	return err
}

// queue asks the owner for a permit, and returns it, with its slot's taken.
func (c *core[R]) queue(ctx context.Context, by *party, began int64) (t ticket, err error) {
	granted, returned := false, false
	defer func() {
		if returned { // else a foreign context or clock has ended this goroutine
			return
		}
		if granted {
			c.putBack(t)
		}
		if err == nil { // not counted yet
			c.counts.exited.Add(1)
		}
	}()
	d := c.cfg.AcquireTimeout
	if d == 0 {
		t, err = c.wait(ctx, by, began, nil)
	} else {
		alarm := c.clock.newTimer(d)
		t, err = c.wait(ctx, by, began, alarm.C())
		granted = err == nil
		alarm.Stop()
	}
	returned = true
	return t, err
}

// wait waits for the owner's answer. Once it has one, nothing foreign is asked
// that could lose it.
func (c *core[R]) wait(ctx context.Context, by *party, began int64, alarm <-chan time.Time) (ticket, error) {
	done := ctx.Done()
	w := c.box.push(by)
	if w == nil {
		return ticket{}, c.refusal()
	}
	if done == nil && alarm == nil { // a plain receive costs a third of a select
		<-w.ready
		return c.answer(w, by)
	}
	select {
	case <-w.ready:
	case <-done:
		if c.box.leave(w) {
			return ticket{}, c.canceled(ctx, StageQueued)
		}
		<-w.ready // it is on its way
	case <-alarm:
		if c.box.leave(w) {
			return ticket{}, c.timedOut(ctx, began)
		}
		<-w.ready // a grant that wins beats the deadline
	}
	return c.answer(w, by)
}

// answer takes the owner's answer out of w, which is free for use again.
func (c *core[R]) answer(w *waiter, by *party) (ticket, error) {
	state, t, why := w.state.Load(), w.ticket, w.reason
	c.box.recycle(w)
	if state == rejected {
		return ticket{}, c.rejection(why, by)
	}
	c.counts.granted.Add(1)
	return t, nil
}

// timedOut is the error of a wait whose deadline has passed. A ctx that has
// ended as well goes before.
func (c *core[R]) timedOut(ctx context.Context, began int64) error {
	if ctx.Err() != nil {
		return c.canceled(ctx, StageQueued)
	}
	err := &AcquireTimeoutError{Pool: c.cfg.Name, Limit: c.cfg.AcquireTimeout, Waited: since(began, c.clock.now())}
	c.counts.timedOut.Add(1)
	return err
}

// rejection is the error of a waiter that the owner rejected.
func (c *core[R]) rejection(why sched.Reason, by *party) error {
	switch why {
	case sched.Saturated:
		c.counts.saturated.Add(1)
		c.emit(Event{Kind: EventSaturated, Handle: by.id})
		return &SaturatedError{Pool: c.cfg.Name, Limit: c.cfg.MaxWaiters}
	case sched.Barred:
		return c.barred(by)
	}
	return c.refusal()
}

// Acquire leases a resource, and waits for it if it has to.
//
// The answers, in this order: a [*ConfigError] for a nil ctx; a [*ClosedError]
// or a [*SchedulerFailedError] if the pool has ended; a [*HandleClosedError]; a
// [*CanceledError] for a ctx that has ended; all these take no permit and no
// place in the queue. Then a free permit is taken if nobody waits for one, or
// the call waits: for its turn ([*SaturatedError], [*AcquireTimeoutError]), for
// the slot's Connect ([*ConnectError]) and for Validate. Waiting ends with ctx
// ([*CanceledError]); a lease is never returned after ctx was seen to have
// ended. In OnEvent, which runs on the goroutine that grants permits, it fails
// with [ErrNoCapacity] where it would wait for one.
//
// What ctx panics with goes to the caller, or comes back in a [*ConnectError] if
// it was on the Executor; the pool goes on.
func (p *Pool[R]) Acquire(ctx context.Context) (Lease[R], error) {
	c := p.open()
	if c == nil {
		return Lease[R]{}, zeroClosed(ctx)
	}
	l, err := c.acquire(ctx, &c.anonymous)
	runtime.KeepAlive(p.anchor)
	return l, err
}

// TryAcquire is Acquire, but fails with [ErrNoCapacity] where that would wait for
// a permit. It may wait for Connect and Validate.
func (p *Pool[R]) TryAcquire(ctx context.Context) (Lease[R], error) {
	c := p.open()
	if c == nil {
		return Lease[R]{}, zeroClosed(ctx)
	}
	l, err := c.tryAcquire(ctx, &c.anonymous)
	runtime.KeepAlive(p.anchor)
	return l, err
}

// Do acquires a lease, calls fn as [Lease.Run] does, and releases the lease,
// also if fn panics or calls runtime.Goexit, which goes on afterwards. It
// returns the error of Acquire or of fn.
func (p *Pool[R]) Do(ctx context.Context, fn func(context.Context, R) error) error {
	if ctx != nil && fn == nil {
		return nilFunction()
	}
	l, err := p.Acquire(ctx)
	if err != nil {
		return err
	}
	return do(ctx, l, fn)
}

func do[R any](ctx context.Context, l Lease[R], fn func(context.Context, R) error) error {
	defer func() { _ = l.Release() }() // fn may have released or detached it
	return l.Run(ctx, fn)
}

// Acquire is [Pool.Acquire] in the name of the handle.
func (h *Handle[R]) Acquire(ctx context.Context) (Lease[R], error) {
	c := h.open()
	if c == nil {
		return Lease[R]{}, zeroClosed(ctx)
	}
	l, err := c.acquire(ctx, h.party)
	runtime.KeepAlive(h.anchor)
	return l, err
}

// TryAcquire is [Pool.TryAcquire] in the name of the handle.
func (h *Handle[R]) TryAcquire(ctx context.Context) (Lease[R], error) {
	c := h.open()
	if c == nil {
		return Lease[R]{}, zeroClosed(ctx)
	}
	l, err := c.tryAcquire(ctx, h.party)
	runtime.KeepAlive(h.anchor)
	return l, err
}

// Do is [Pool.Do] in the name of the handle.
func (h *Handle[R]) Do(ctx context.Context, fn func(context.Context, R) error) error {
	if ctx != nil && fn == nil {
		return nilFunction()
	}
	l, err := h.Acquire(ctx)
	if err != nil {
		return err
	}
	return do(ctx, l, fn)
}

// zeroClosed is the answer of a zero Pool or Handle.
func zeroClosed(ctx context.Context) error {
	if ctx == nil {
		return nilContext()
	}
	return &ClosedError{}
}
