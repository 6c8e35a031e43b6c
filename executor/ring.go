package executor

import (
	"runtime"
	"sync/atomic"
)

// ring is the queue: a bounded multi-producer, multi-consumer ring after Dmitry
// Vyukov's (1024cores.net, "Bounded MPMC queue"), changed in two ways. The gate
// hands out the positions, so that admission, closing and position are one
// step. And a cell holds just the task, which knows its own ticket: a consumer
// that reads a cell of an earlier lap sees another ticket there, and one that
// stalls after it has taken a task holds up nobody, since nothing that it has
// left to do matters to others.
//
// A task that was canceled or lent leaves its cell occupied until the head
// passes it. Its place is free at once, so such holes can fill the ring; it is
// twice as large as the number of places, and when it runs out of cells it is
// compacted.
type ring struct {
	cells []atomic.Pointer[task]
	mask  uint64

	_    [64]byte
	head atomic.Uint64 // next ticket to leave, not wrapped; frozenBit while compacting
	_    [56]byte
	seen atomic.Uint64 // a head that some producer saw: how far the ring is surely free
	_    [56]byte
}

const frozenBit = 1 << 63

func (q *ring) init(places int) {
	n := 8
	for n < 2*places {
		n *= 2
	}
	q.cells = make([]atomic.Pointer[task], n)
	q.mask = uint64(n - 1)
}

// room reports whether the cell of ticket is free.
func (q *ring) room(ticket uint64) bool {
	if (ticket-q.seen.Load())&ticketMask <= q.mask {
		return true
	}
	head := q.head.Load() &^ frozenBit
	q.seen.Store(head)
	return (ticket-head)&ticketMask <= q.mask
}

// push publishes t in the cell of the ticket that the gate gave it.
func (q *ring) push(t *task, ticket uint64) {
	t.word.Store(ticket<<stateBits | queued)
	q.cells[ticket&q.mask].Store(t)
}

// pop takes the first task. nil means that there is none, or that whoever got
// the next ticket has not pushed yet. frozen asks to try again when the pool's
// lock is free.
func (q *ring) pop() (t *task, frozen bool) {
	for {
		pos := q.head.Load()
		if pos&frozenBit != 0 {
			return nil, true
		}
		cell := &q.cells[pos&q.mask]
		t := cell.Load()
		if t == nil || t.ticket() != pos&ticketMask {
			return nil, false
		}
		// The cell is not written again before head has moved.
		if q.head.CompareAndSwap(pos, pos+1) {
			cell.CompareAndSwap(t, nil) // the next lap may be here already
			return t, false
		}
	}
}

// ready reports whether pop would find something.
func (q *ring) ready() bool {
	pos := q.head.Load() &^ frozenBit
	t := q.cells[pos&q.mask].Load()
	return t != nil && t.ticket() == pos&ticketMask
}

// empty reports whether every ticket before the given one has left.
func (q *ring) empty(ticket uint64) bool {
	return (q.head.Load()&^frozenBit)&ticketMask == ticket
}

// compact closes the holes below ticket. The caller has made sure that no
// further tickets are given out.
func (q *ring) compact(ticket uint64) {
	from := q.head.Or(frozenBit) &^ frozenBit // no pop succeeds from here on
	n := (ticket - from) & ticketMask
	live := make([]*task, 0, n)
	for pos := from; pos != from+n; pos++ {
		cell := &q.cells[pos&q.mask]
		t := cell.Load()
		for t == nil || t.ticket() != pos&ticketMask { // its producer is about to push
			runtime.Gosched()
			t = cell.Load()
		}
		cell.Store(nil)
		if t.state() == queued {
			live = append(live, t)
		}
	}
	head := from + n - uint64(len(live))
	for i, t := range live {
		pos := head + uint64(i)
		t.renumber(pos & ticketMask)
		q.cells[pos&q.mask].Store(t)
	}
	q.head.Store(head)
}
