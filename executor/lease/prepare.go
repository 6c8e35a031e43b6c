package lease

import (
	"context"
	"errors"
)

// freshLocked reports whether a lease of the slot's incarnation may be made as
// it is.
func (c *core[R]) freshLocked(s *slot[R], now int64) bool {
	return s.flight == nil && s.parked == nil && c.usableLocked(s, now) && !c.suspect(s.cur, now)
}

// usableLocked reports whether the slot has a resource that is neither of an
// older generation nor expired.
func (c *core[R]) usableLocked(s *slot[R], now int64) bool {
	inc := s.cur
	return inc != nil && inc.generation == c.generation.Load() && !c.expired(inc, now)
}

// expired reports whether inc may not be handed out any more, by its age.
func (c *core[R]) expired(inc *incarnation[R], now int64) bool {
	return c.ages && (c.tooOld(inc, now) || c.tooIdle(inc, now))
}

func (c *core[R]) tooOld(inc *incarnation[R], now int64) bool {
	d := int64(c.cfg.MaxLifetime)
	return d > 0 && now-inc.born >= d
}

func (c *core[R]) tooIdle(inc *incarnation[R], now int64) bool {
	d := int64(c.cfg.MaxIdle)
	return d > 0 && inc.users == 0 && now-inc.idle >= d
}

// suspect reports whether Validate has to be asked about inc.
func (c *core[R]) suspect(inc *incarnation[R], now int64) bool {
	if c.cfg.Validate == nil || inc.users > 0 {
		return false
	}
	d := int64(c.cfg.ValidateAfter)
	return d == 0 || now-inc.checked >= d
}

// errAgain settles a flight whose leader has gone: somebody else has to lead.
var errAgain = errors.New("lease: the one who connected has left")

// preparation is one Acquire that has a permit and no lease yet.
type preparation[R any] struct {
	*core[R]
	ctx     context.Context
	ticket  ticket
	by      *party
	stage   Stage
	refused bool // the Executor did not take the Connect, or dropped it
	waited  bool // ctx has to be looked at before the lease is returned
	queued  bool // the wait for the permit, since began, has to be counted
	began   int64
	trace   *trace // of the call, if leaks are looked for

	// made is what this Acquire has had connected or validated. It takes that
	// as it is, unless it began after a Reset that made is older than: however
	// short MaxLifetime and the like are, there is an end of it.
	made       *incarnation[R]
	generation uint64 // when it began
}

// prepare makes a lease of a taken permit: it has the slot's resource connected
// and validated where that is needed. Whatever goes wrong, panic and Goexit
// included, the permit is returned.
//
// first is on the caller's stack: where nothing stands in the way of the lease,
// that is all there is.
func (c *core[R]) prepare(first preparation[R]) (l Lease[R], err error) {
	leased := false
	defer func() {
		if leased {
			return
		}
		c.putBack(first.ticket)
		if err == nil {
			c.counts.exited.Add(1)
		}
	}()
	if l, leased = c.readyLease(&first); leased {
		return l, nil
	}
	pr := new(preparation[R])
	*pr = first
	pr.generation = c.generation.Load()
	for {
		var ok bool
		if l, ok, err = pr.step(); ok || err != nil {
			leased = ok
			return l, err
		}
	}
}

// readyLease makes a lease if nothing has to be done for it.
func (c *core[R]) readyLease(pr *preparation[R]) (l Lease[R], ok bool) {
	if c.tracing || pr.waited && pr.ctx.Err() != nil {
		return l, false
	}
	now := c.clock.now()
	s := &c.slots[pr.ticket.slot]
	s.mu.Lock()
	if ok = c.freshLocked(s, now); ok {
		l = c.leaseLocked(s, pr.ticket, pr.by, now)
	}
	s.mu.Unlock()
	if ok && pr.queued {
		c.counts.waited(since(pr.began, now))
	}
	return l, ok
}

// step makes a lease, or does the one thing that stands in the way.
func (pr *preparation[R]) step() (l Lease[R], ok bool, err error) {
	c, s := pr.core, &pr.slots[pr.ticket.slot]
	if pr.waited && pr.ctx.Err() != nil {
		return l, false, c.canceled(pr.ctx, pr.stage)
	}
	now := c.clock.now()
	if pr.queued {
		pr.queued = false
		c.counts.waited(since(pr.began, now))
	}
	if c.tracing && pr.trace == nil {
		pr.trace = newTrace()
	}
	s.mu.Lock()
	dead := s.unparkLocked()
	inc := s.cur
	mine := inc != nil && inc == pr.made && inc.generation >= pr.generation
	if inc != nil && !mine && s.flight == nil && c.retireLocked(s, inc, now) && inc.users == 0 {
		inc.next, dead = dead, inc
	}
	switch {
	case dead != nil:
		s.mu.Unlock()
		pr.waited = true
		return l, false, pr.failure(c.disposeAll(dead))
	case s.flight != nil:
		f := s.flight
		s.mu.Unlock()
		return l, false, pr.follow(f)
	case s.cur == nil:
		f := newFlight[R](StageConnecting, c.cfg.Executor != nil && !pr.refused)
		s.flight = f
		s.mu.Unlock()
		return l, false, pr.connect(s, f)
	case (!mine || inc.returned) && c.suspect(inc, now):
		f := newFlight[R](StageValidating, false)
		s.flight = f
		s.mu.Unlock()
		return l, false, pr.validate(s, f, inc)
	}
	l = c.leaseLocked(s, pr.ticket, pr.by, now)
	if pr.trace != nil {
		c.traceLocked(&l, pr.trace)
	}
	s.mu.Unlock()
	return l, true, nil
}

// retireLocked condemns inc if it is of an old generation or has expired, and
// reports whether it did.
func (c *core[R]) retireLocked(s *slot[R], inc *incarnation[R], now int64) bool {
	switch {
	case inc.generation != c.generation.Load():
	case c.ages && c.tooOld(inc, now):
		c.counts.lifetimeExpiries.Add(1)
	case c.ages && c.tooIdle(inc, now):
		c.counts.idleExpiries.Add(1)
	default:
		return false
	}
	s.condemnLocked(inc)
	return true
}

// follow waits for whoever connects or validates. A failure is everybody's,
// unless it was the leader's own.
func (pr *preparation[R]) follow(f *flight[R]) error {
	err := pr.await(f)
	if err == errAgain {
		return nil
	}
	return pr.failure(err)
}

// await waits for f, whose resource is then this Acquire's as well.
func (pr *preparation[R]) await(f *flight[R]) error {
	pr.waited, pr.stage = true, f.stage
	if f == pr.ctx.Value(flightKey{}) {
		return ErrNoCapacity // the hook of f itself would wait for its own return
	}
	o, settled := f.wait(pr.ctx)
	if !settled {
		return pr.canceled(pr.ctx, f.stage)
	}
	pr.made = o.Value
	return o.Err
}

// failure counts the error of a preparation.
func (pr *preparation[R]) failure(err error) error {
	if err == ErrNoCapacity {
		pr.counts.noCapacity.Add(1)
		return err
	}
	switch err.(type) {
	case nil, *CanceledError: // counted
	case *ConnectError:
		pr.counts.connectErrors.Add(1)
	case *ClosedError:
		return pr.refusal() // it may have failed since
	default:
		pr.counts.failedRejections.Add(1)
	}
	return err
}
