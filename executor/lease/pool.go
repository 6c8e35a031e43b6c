package lease

import (
	"runtime"

	"github.com/cadre-go/cadre/internal/goid"
)

// Pool leases a fixed number of slots. All methods may be called from any
// goroutine. The zero Pool is one that is closed: whatever returns an error
// returns a [*ClosedError], Close and Shutdown too.
//
// Whoever makes a Pool closes it. One that becomes unreachable, with all its
// Handles, closes itself, if and when the garbage collector notices, with a
// WARN record; leases alone do not keep its goroutine. A Pool made in a
// testing/synctest bubble does not do so.
type Pool[R any] struct{ anchor *anchor[R] } // nil in the zero Pool

// anchor is what a Pool and its Handles point to, and nothing else: when it is
// unreachable, nobody can ask for a lease any more. A blocked call keeps it
// alive until it returns.
type anchor[R any] struct {
	core    *core[R]
	cleanup runtime.Cleanup
}

// New starts a pool, which is one goroutine. Every bad field of cfg is reported,
// as a [*ConfigError], in one joined error; then nothing is started and no
// function of cfg is called.
func New[R any](cfg Config[R]) (*Pool[R], error) { return newPool(cfg, options{}) }

func newPool[R any](cfg Config[R], o options) (*Pool[R], error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := newCore(cfg, o)
	a := &anchor[R]{core: c}
	// A cleanup runs outside of every synctest bubble, where waking a
	// goroutine that is in one is fatal.
	if c.bubbled = goid.Bubbled(); !c.bubbled {
		a.cleanup = runtime.AddCleanup(a, func(c *core[R]) { c.abandon() }, c)
	}
	c.list()
	go c.own()
	return &Pool[R]{a}, nil
}

// open returns the core; nil for a zero Pool.
func (p *Pool[R]) open() *core[R] {
	if p == nil || p.anchor == nil {
		return nil
	}
	return p.anchor.core
}

// abandon ends a pool that nobody can reach. It runs no hook and does not
// block: the runtime calls it.
func (c *core[R]) abandon() {
	c.counts.abandoned.Add(1)
	c.emit(Event{Kind: EventAbandoned})
	c.close()
}

// Reset has every resource replaced: an Acquire that begins after Reset has
// returned gets none whose Connect began before. What is leased is condemned
// when it is released.
func (p *Pool[R]) Reset() {
	if c := p.open(); c != nil {
		c.counts.resets.Add(1)
		c.generation.Add(1)
	}
}

// Handle returns a new identity for the fair division of permits: see
// [RoundRobin]. It has nothing to do with which slot its leases are of.
func (p *Pool[R]) Handle() *Handle[R] {
	c := p.open()
	if c == nil {
		return &Handle[R]{}
	}
	return &Handle[R]{p.anchor, &party{id: c.handles.Add(1)}}
}

// Outstanding lists the leases that are held.
func (p *Pool[R]) Outstanding() []LeaseInfo {
	c := p.open()
	if c == nil {
		return nil
	}
	defer runtime.KeepAlive(p.anchor)
	return c.outstanding()
}

func (c *core[R]) outstanding() []LeaseInfo {
	now := c.clock.now()
	var list []LeaseInfo
	for i := range c.slots {
		s := &c.slots[i]
		s.mu.Lock()
		for j := range c.cfg.PermitsPerSlot {
			if p := c.permit(ticket{int32(i), int32(j)}); p.taken && p.inc != nil {
				list = append(list, p.info(now))
			}
		}
		s.mu.Unlock()
	}
	return list
}

// info describes the lease of p. Its slot is locked.
func (p *permit[R]) info(now int64) LeaseInfo {
	info := LeaseInfo{Slot: int(p.at.slot), Handle: p.party, Age: since(p.since, now)}
	if p.trace != nil {
		info.Stack = p.trace.stack
	}
	return info
}

// Handle is one party to the fair division of a pool's permits, such as one
// client of several that share the pool. All methods may be called from any
// goroutine. The zero Handle is one of a closed pool.
type Handle[R any] struct {
	anchor *anchor[R]
	party  *party
}

func (h *Handle[R]) open() *core[R] {
	if h == nil || h.anchor == nil {
		return nil
	}
	return h.anchor.core
}

// ID returns the handle's number in its pool, from 1 on. 0 stands for the pool
// itself.
func (h *Handle[R]) ID() uint64 {
	if h.open() == nil {
		return 0
	}
	return h.party.id
}

// Close ends the handle: whoever waits in its name, and every later Acquire,
// gets a [*HandleClosedError]. Leases that it has been granted stay. Close does
// not block, and returns nil.
func (h *Handle[R]) Close() error {
	c := h.open()
	if c == nil {
		return nil
	}
	// The flag comes first: an acquisition that is ahead of the command in the
	// mailbox, or behind it, is refused all the same.
	if h.party.closed.CompareAndSwap(false, true) {
		c.box.deregister(h.party)
	}
	runtime.KeepAlive(h.anchor)
	return nil
}
