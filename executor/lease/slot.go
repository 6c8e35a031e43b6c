package lease

import (
	"sync"
	"sync/atomic"
)

// incarnation is one resource, from its Connect to its end.
//
// Its fields are protected by its slot's lock, but for value and slot, which
// never change. Invariant: it is the slot's cur, or condemned and in use
// (users > 0), or in the slot's parked list, or gone (disposed of or detached,
// or on the way there); never two of these.
type incarnation[R any] struct {
	value R
	slot  int32

	born       int64 // by the pool's clock: when it was connected
	idle       int64 // when it was last returned
	checked    int64 // when it was last connected, validated or returned
	returned   bool  // a lease of it has ended since it was connected or validated
	generation uint64
	condemned  bool
	users      int
	next       *incarnation[R] // in a list of those to be disposed of
}

// permit is one unit of a slot. Its fields are protected by the slot's lock;
// seq is written under it and read without.
type permit[R any] struct {
	core *core[R] // neither changes
	at   ticket

	// seq is what a lease of it carries. A release raises it, so that of all
	// copies one is the last.
	seq   atomic.Uint64
	inc   *incarnation[R] // of the lease; nil while it is prepared
	party uint64
	since int64 // when it was leased
	armed int
	taken bool
	next  int32  // in the slot's list of free permits; -1: the last
	trace *trace // of its acquisition; nil if leaks are not looked for
}

// ticket names a permit that was taken and not yet leased.
type ticket struct{ slot, permit int32 }

// slot is one cell of the pool: some permits and at most one current resource.
type slot[R any] struct {
	_     [64]byte // a line of its own: each holder writes its slot's
	index int32

	// mu protects what follows and the slot's permits. No foreign code runs
	// under it, and nothing blocks.
	mu     sync.Mutex
	spare  int32 // the first free permit; -1: none
	held   int   // permits taken
	leased int   // of these, with a lease; the others are being prepared

	cur       *incarnation[R] // Invariant: not condemned
	flight    *flight[R]      // somebody connects, or validates cur; the others wait for it
	parked    *incarnation[R] // condemned, unused, waiting for somebody to dispose of them
	condemned int             // condemned and in use

	// view is what a search reads without the lock. Invariant: it shows a
	// free permit if there is one. It may show one that is gone: a slot that
	// is taken and given back over and over never writes it.
	view atomic.Uint32

	count slotCounts
}

const (
	viewFree = 1 << iota // a permit is free
	viewWarm             // cur is set
)

// slotCounts are the counters of the fast path, summed when they are read.
type slotCounts struct {
	fast   uint64 // acquisitions that took a permit without the owner
	leases uint64 // delivered
}

// viewLocked publishes what a search looks at.
func (s *slot[R]) viewLocked() {
	var v uint32
	if s.spare >= 0 {
		v |= viewFree
	}
	if s.cur != nil {
		v |= viewWarm
	}
	if s.view.Load() != v {
		s.view.Store(v)
	}
}

// init makes the slot of that index. All of its permits are free.
func (s *slot[R]) init(c *core[R], index int, permits []permit[R]) {
	s.index = int32(index)
	for i := range permits {
		p := &permits[i]
		p.core, p.at, p.next = c, ticket{int32(index), int32(i)}, int32(i)-1
	}
	s.spare = int32(len(permits)) - 1
	s.viewLocked()
}

func (c *core[R]) permit(t ticket) *permit[R] {
	return &c.permits[int(t.slot)*c.cfg.PermitsPerSlot+int(t.permit)]
}

// pick finds a free permit for whoever has taken one from the gate, and returns
// with its slot locked. There is one: a release raises the slot's count before
// the gate's, a take lowers it after. Somebody else may be quicker at the one
// that a pass sees, so another pass may follow. now matters to PreferWarm.
func (c *core[R]) pick(turn uint64, now int64) (*slot[R], ticket) {
	n := len(c.slots)
	start := 0
	if c.cfg.SlotOrder == Rotate && n > 1 {
		start = int(turn % uint64(n))
	}
	for {
		if c.cfg.SlotOrder == PreferWarm {
			if s, t := c.search(0, viewFree|viewWarm, now); s != nil {
				return s, t
			}
		}
		if s, t := c.search(start, viewFree, now); s != nil {
			return s, t
		}
	}
}

// search makes one pass over the slots, from the one given, for those with the
// features wanted. A view does not tell how old the resource is: one that has
// expired is passed over when it is found.
func (c *core[R]) search(start int, want uint32, now int64) (*slot[R], ticket) {
	i := start
	for range c.slots {
		s := &c.slots[i]
		if s.view.Load()&want == want {
			s.mu.Lock()
			if s.spare >= 0 && (want&viewWarm == 0 || c.usableLocked(s, now)) {
				return s, ticket{int32(i), c.takeLocked(s, int32(i))}
			}
			s.viewLocked()
			s.mu.Unlock()
		}
		if i++; i == len(c.slots) {
			i = 0
		}
	}
	return nil, ticket{}
}

func (c *core[R]) takeLocked(s *slot[R], slot int32) int32 {
	i := s.spare
	p := c.permit(ticket{slot, i})
	s.spare, p.taken = p.next, true
	s.held++
	return i
}

// giveLocked makes the permit free for the slot. The gate comes after it.
func (s *slot[R]) giveLocked(p *permit[R]) {
	p.taken, p.inc, p.trace, p.armed = false, nil, nil, 0
	p.next, s.spare = s.spare, p.at.permit
	s.held--
	s.viewLocked()
}

// putBack returns a permit that no lease came of.
func (c *core[R]) putBack(t ticket) {
	s := &c.slots[t.slot]
	s.mu.Lock()
	s.giveLocked(c.permit(t))
	s.mu.Unlock()
	c.returned()
}

// returned tells the gate of a permit that its slot has back, and whoever waits
// for one.
func (c *core[R]) returned() {
	w := c.gate.put()
	if w.Demand() {
		c.counts.hints.Add(1)
		c.box.signal()
	}
	if w.Ended() {
		c.changed()
	}
}

// leaseLocked makes a lease of a taken permit and the slot's incarnation.
func (c *core[R]) leaseLocked(s *slot[R], t ticket, by *party, now int64) Lease[R] {
	p, inc := c.permit(t), s.cur
	inc.users++
	p.inc, p.party, p.since = inc, by.id, now
	s.leased++
	s.count.leases++
	return Lease[R]{permit: p, inc: inc, seq: p.seq.Load()}
}

// condemnLocked makes inc unreachable for new leases.
func (s *slot[R]) condemnLocked(inc *incarnation[R]) {
	if inc.condemned {
		return
	}
	inc.condemned = true
	if inc.users > 0 {
		s.condemned++
	}
	if s.cur == inc {
		s.cur = nil
		s.viewLocked()
	}
}

// vacateLocked is what becomes of the current resource when the pool has ended.
// It returns it if it has to be disposed of; if it is in use, its last user does
// that.
func (s *slot[R]) vacateLocked() *incarnation[R] {
	inc := s.cur
	if inc == nil {
		return nil
	}
	s.condemnLocked(inc)
	if inc.users > 0 {
		return nil
	}
	return inc
}

// dropLocked ends one use of inc, and returns it if it has to be disposed of.
func (s *slot[R]) dropLocked(inc *incarnation[R], now int64) *incarnation[R] {
	inc.users--
	inc.idle, inc.checked, inc.returned = now, now, true
	if !inc.condemned || inc.users > 0 {
		return nil
	}
	s.condemned--
	return inc
}

// parkLocked keeps inc for the next one who may dispose of it.
func (s *slot[R]) parkLocked(inc *incarnation[R]) {
	inc.next, s.parked = s.parked, inc
}

// unparkLocked takes out all that is parked.
func (s *slot[R]) unparkLocked() *incarnation[R] {
	list := s.parked
	s.parked = nil
	return list
}
