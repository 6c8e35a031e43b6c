package lease

import (
	"errors"
	"runtime"
	"time"
)

// Lease is the right to use one resource until it is released. It is a small
// value: all copies are the same lease, and any may be used from any
// goroutine. The zero Lease is one that was released.
type Lease[R any] struct {
	// Four words: the compiler keeps no larger struct in registers.
	permit *permit[R] // nil: the zero Lease
	inc    *incarnation[R]
	seq    uint64
	tag    *tag // nil if leaks are not looked for
}

// LeaseInfo describes a lease that is held.
type LeaseInfo struct {
	Slot   int
	Handle uint64        // 0: acquired from the Pool itself
	Age    time.Duration // by the pool's clock
	Stack  []byte        // of its Acquire; nil unless leaks are looked for
}

// Held reports whether the lease has not been released.
func (l Lease[R]) Held() bool {
	return l.permit != nil && l.permit.seq.Load() == l.seq
}

// Value returns the resource. It panics with a [*StaleLeaseError] if the lease
// is not held any more: it never returns what another lease holds.
func (l Lease[R]) Value() R {
	if !l.Held() {
		panic(l.stale())
	}
	runtime.KeepAlive(l.tag)
	return l.inc.value
}

// Slot returns the index of the slot; 0 for the zero Lease.
func (l Lease[R]) Slot() int {
	if l.permit == nil {
		return 0
	}
	return int(l.permit.at.slot)
}

func (l Lease[R]) stale() error { return &StaleLeaseError{Pool: l.pool(), Slot: l.Slot()} }

func (l Lease[R]) pool() string {
	if l.permit == nil {
		return ""
	}
	return l.permit.core.cfg.Name
}

// lock returns the lease's slot and permit, with the slot locked, or nil if the
// lease is not held.
func (l Lease[R]) lock() (*slot[R], *permit[R]) {
	p := l.permit
	if p == nil {
		return nil, nil
	}
	s := &p.core.slots[p.at.slot]
	s.mu.Lock()
	if p.seq.Load() != l.seq {
		s.mu.Unlock()
		return nil, nil
	}
	return s, p
}

// lastHolder returns whose lease it was that was released, or 0 if the permit has
// gone on to somebody else.
func (l Lease[R]) lastHolder() uint64 {
	p := l.permit
	s := &p.core.slots[p.at.slot]
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.inc != nil || p.seq.Load() != l.seq+1 {
		return 0
	}
	return p.party
}

// Arm counts an operation in flight, which Disarm ends. A lease released with
// one in flight is dirty: whoever reads from its resource next might read the
// answer of somebody else.
func (l Lease[R]) Arm() { l.arm(1) }

// Disarm ends an operation that Arm began. One too many does nothing.
func (l Lease[R]) Disarm() { l.arm(-1) }

func (l Lease[R]) arm(n int) (held bool) {
	s, p := l.lock()
	if held = s != nil; held {
		p.armed = max(p.armed+n, 0)
		s.mu.Unlock()
	}
	runtime.KeepAlive(l.tag)
	return held
}

// MarkDirty condemns the resource: no new lease gets it, and it is disposed of
// when the last one that has it is released. cause goes to the event.
func (l Lease[R]) MarkDirty(cause error) {
	s, p := l.lock()
	if s == nil {
		return
	}
	fresh, handle := !p.inc.condemned, p.party
	s.condemnLocked(p.inc)
	s.mu.Unlock()
	if fresh {
		p.core.discarded(l.Slot(), handle, cause)
	}
	runtime.KeepAlive(l.tag)
}

// Release gives the permit back, and the resource, unless that is dirty. Of all
// calls on all copies of a lease the first succeeds; the others return a
// [*ReleasedError] and change nothing.
//
// While the pool is open Release calls no Dispose and waits for nobody. On a
// pool that has ended and has no Executor, or one that refuses, it runs Dispose
// itself: nobody else is left.
//
// What happened before Release happens before the return of the Acquire that
// gets the permit.
func (l Lease[R]) Release() error {
	err := l.release(false)
	runtime.KeepAlive(l.tag)
	return err
}

// Discard is MarkDirty and Release.
func (l Lease[R]) Discard(cause error) error {
	l.MarkDirty(cause)
	return l.Release()
}

// Detach takes the resource out of the pool, for the caller to own, and
// releases the permit. It returns [ErrShared], and the lease is still held, if
// another lease uses the resource, and a [*StaleLeaseError] if the lease is not
// held.
func (l Lease[R]) Detach() (R, error) {
	defer runtime.KeepAlive(l.tag)
	s, p := l.lock()
	if s == nil {
		var zero R
		return zero, l.stale()
	}
	c, inc := p.core, p.inc
	if inc.users > 1 {
		s.mu.Unlock()
		var zero R
		return zero, ErrShared
	}
	s.condemnLocked(inc)
	s.dropLocked(inc, 0)
	l.endLocked(s, p)
	s.giveLocked(p)
	s.mu.Unlock()
	c.counts.detaches.Add(1)
	c.alive.Add(-1)
	c.returned()
	return inc.value, nil
}

// endLocked ends the lease: no copy of it is held any more.
func (l Lease[R]) endLocked(s *slot[R], p *permit[R]) {
	p.seq.Store(l.seq + 1)
	s.leased--
	if p.trace != nil {
		p.trace.stop.Stop()
	}
}

// release is Release. A reclaimed lease's resource is condemned, and parked:
// this is no goroutine to run a Dispose on.
func (l Lease[R]) release(reclaimed bool) error {
	if l.permit == nil {
		return &ReleasedError{}
	}
	c := l.permit.core
	var now int64
	if c.ages {
		now = c.clock.now()
	}
	s, p := l.lock()
	if s == nil {
		c.releasedTwice(l)
		return &ReleasedError{Pool: c.cfg.Name, Slot: l.Slot()}
	}
	inc, handle := p.inc, p.party
	armed := p.armed > 0 && !inc.condemned
	if armed || reclaimed || c.gate.load().Ended() || inc.generation != c.generation.Load() {
		s.condemnLocked(inc)
	}
	l.endLocked(s, p)
	dead := s.dropLocked(inc, now)
	if dead == nil {
		c.settled()
		s.giveLocked(p)
		s.mu.Unlock()
		c.returned()
	} else {
		c.shed(s, p, dead, reclaimed)
	}
	if armed {
		c.discarded(l.Slot(), handle, errArmed)
	}
	return nil
}

var errArmed = errors.New("released with an operation in flight")

// shed is the end of a release whose resource has to be disposed of. The slot
// is locked, and unlocked when it returns.
//
// The resource is on its way before the permit is back, so that what is parked
// on a slot is bounded by its permits. When the pool has ended it is the other
// way round: nobody comes for the permit, and Dispose may run here.
func (c *core[R]) shed(s *slot[R], p *permit[R], dead *incarnation[R], reclaimed bool) {
	c.settled()
	switch {
	case reclaimed || c.cfg.Executor == nil && !c.gate.load().Ended():
		s.parkLocked(dead)
		s.giveLocked(p)
		s.mu.Unlock()
		c.returned()
	case c.gate.load().Ended():
		s.giveLocked(p)
		s.mu.Unlock()
		c.returned()
		c.disposeElsewhere(dead)
	default:
		s.mu.Unlock()
		defer c.putBack(p.at)
		c.disposeElsewhere(dead)
	}
}

// settled is between the disposition of a resource and the return of its
// permit: no later holder may see the permit before.
func (c *core[R]) settled() {
	if c.probe != nil {
		c.probe("settled")
	}
}
