package lease

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Stats is a reading of a pool. Each slot is read at an instant of its own, so
// the numbers of a busy pool may not quite add up.
type Stats struct {
	ID    uint64
	Name  string
	State string // Running, Closing, Closed, Failed

	// What there is now.
	Slots, Capacity int
	Free            int // permits
	Leased          int // permits held by leases
	Preparing       int // permits held by acquisitions that connect or validate
	Waiters         int // queued acquisitions
	WaitingHandles  int // handles with a queued acquisition
	Idle            int // resources that may be leased and are not
	InUse           int // resources that may be leased further and are
	Condemned       int // resources in use that are not leased further, or wait for Dispose

	// What there has been. Acquires is the sum of Leases, of the ways to fail,
	// which are Saturated to Exited, and of those in progress. A nil context is
	// not counted.
	Acquires          uint64
	Leases            uint64        // acquisitions that got one
	Grants            uint64        // permits taken: with and without the owner
	FastGrants        uint64        // permits taken without the owner
	CapacityWaits     uint64        // acquisitions that were queued, whatever came of it
	WaitTime, MaxWait time.Duration // from the call to the grant, of those granted by the owner
	Saturated         uint64
	TimedOut          uint64
	NoCapacity        uint64    // TryAcquires
	Canceled          [4]uint64 // by Stage
	HandleClosed      uint64
	ClosedRejections  uint64
	FailedRejections  uint64
	ConnectErrors     uint64
	Exited            uint64 // ended by foreign code: a hook's runtime.Goexit, a context's panic

	Spawned           uint64 // goroutines started: 1
	Connects          uint64
	ValidationsFailed uint64
	LifetimeExpiries  uint64
	IdleExpiries      uint64
	Discards          uint64 // resources made dirty
	Detaches          uint64
	Resets            uint64
	DoubleReleases    uint64
	Leaks             uint64
	Abandoned         uint64
	Failures          uint64 // panics, those after the first too
	Hints             uint64 // permits returned while somebody waited
	OwnerWakes        uint64
	EventsLost        uint64 // for want of room, or after the end
}

// counts are the counters off the fast path; each slot has those on it.
type counts struct {
	slow             atomic.Uint64 // acquisitions that took no permit by themselves
	granted          atomic.Uint64 // by the owner
	waitTime         atomic.Int64
	maxWait          atomic.Int64
	saturated        atomic.Uint64
	timedOut         atomic.Uint64
	noCapacity       atomic.Uint64
	canceled         [stages]atomic.Uint64
	barred           atomic.Uint64
	closedRejections atomic.Uint64
	failedRejections atomic.Uint64
	connectErrors    atomic.Uint64
	exited           atomic.Uint64

	spawned           atomic.Uint64
	connects          atomic.Uint64
	validationsFailed atomic.Uint64
	lifetimeExpiries  atomic.Uint64
	idleExpiries      atomic.Uint64
	discards          atomic.Uint64
	detaches          atomic.Uint64
	resets            atomic.Uint64
	doubleReleases    atomic.Uint64
	leaks             atomic.Uint64
	abandoned         atomic.Uint64
	failures          atomic.Uint64
	hints             atomic.Uint64
	wakes             atomic.Uint64
	eventsLost        atomic.Uint64
}

func (c *counts) waited(d time.Duration) {
	c.waitTime.Add(int64(d))
	for {
		old := c.maxWait.Load()
		if int64(d) <= old || c.maxWait.CompareAndSwap(old, int64(d)) {
			return
		}
	}
}

// Stats returns a reading. It delays nobody for more than a look at one slot.
func (p *Pool[R]) Stats() Stats {
	c := p.open()
	if c == nil {
		return Stats{State: stateClosed}
	}
	defer runtime.KeepAlive(p.anchor)
	return c.stats()
}

const (
	stateRunning = "Running"
	stateClosing = "Closing"
	stateClosed  = "Closed"
	stateFailed  = "Failed"
)

func (c *core[R]) state() string {
	switch w := c.gate.load(); {
	case w.Failed():
		return stateFailed
	case !w.Closed():
		return stateRunning
	case c.life.ended():
		return stateClosed
	}
	return stateClosing
}

func (c *core[R]) stats() Stats {
	n := &c.counts
	st := Stats{
		ID: c.id, Name: c.cfg.Name, State: c.state(),
		Slots: len(c.slots), Capacity: len(c.permits), Free: c.gate.load().Free(),
		Waiters: int(c.owner.waiters.Load()), WaitingHandles: int(c.owner.handles.Load()),
		CapacityWaits: uint64(c.owner.arrivals.Load()), WaitTime: time.Duration(n.waitTime.Load()), MaxWait: time.Duration(n.maxWait.Load()),
		Saturated: n.saturated.Load(), TimedOut: n.timedOut.Load(), NoCapacity: n.noCapacity.Load(),
		HandleClosed: n.barred.Load(), ClosedRejections: n.closedRejections.Load(),
		FailedRejections: n.failedRejections.Load(), ConnectErrors: n.connectErrors.Load(), Exited: n.exited.Load(),
		Spawned: n.spawned.Load(), Connects: n.connects.Load(), ValidationsFailed: n.validationsFailed.Load(),
		LifetimeExpiries: n.lifetimeExpiries.Load(), IdleExpiries: n.idleExpiries.Load(),
		Discards: n.discards.Load(), Detaches: n.detaches.Load(), Resets: n.resets.Load(),
		DoubleReleases: n.doubleReleases.Load(), Leaks: n.leaks.Load(), Abandoned: n.abandoned.Load(),
		Failures: n.failures.Load(), Hints: n.hints.Load(), OwnerWakes: n.wakes.Load(), EventsLost: n.eventsLost.Load(),
	}
	for i := range st.Canceled {
		st.Canceled[i] = n.canceled[i].Load()
	}
	for i := range c.slots {
		c.slots[i].addTo(&st)
	}
	st.Acquires = st.FastGrants + n.slow.Load()
	st.Grants = st.FastGrants + n.granted.Load()
	return st
}

// addTo adds what s holds to st.
func (s *slot[R]) addTo(st *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Leased += s.leased
	st.Preparing += s.held - s.leased
	st.FastGrants += s.count.fast
	st.Leases += s.count.leases
	switch {
	case s.cur == nil:
	case s.cur.users > 0:
		st.InUse++
	default:
		st.Idle++
	}
	st.Condemned += s.condemned
	for inc := s.parked; inc != nil; inc = inc.next {
		st.Condemned++
	}
}
