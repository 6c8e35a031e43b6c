package executor

import (
	"runtime"
	"sync/atomic"
)

// queue is a bounded multi-producer, multi-consumer ring after Dmitry Vyukov's
// (1024cores.net, "Bounded MPMC queue"), changed in three ways. The gate hands
// out the positions, so that admission, closing and position are one step. A
// cell holds just the task, which knows its own ticket: who reads a cell of an
// earlier lap sees another ticket there, and who stalls after taking a task
// holds up nobody. And a task is taken by a claim on the task itself; moving
// head past a claimed task is left to whoever comes by.
//
// So a task that is canceled or lent where it stands is a claimed task like
// any other: its place is free at once, and its cell when head comes by. Such
// holes could fill the ring; it has a quarter more cells than there are places,
// or more, and is compacted when it runs out of them.
type queue struct {
	gate
	limit int // of places
	cells []atomic.Pointer[task]
	mask  uint64
}

func (q *queue) init(limit int) {
	q.gate.init()
	n := 8
	for n < limit+limit/4 {
		n *= 2
	}
	q.limit, q.cells, q.mask = limit, make([]atomic.Pointer[task], n), uint64(n-1)
}

func (q *queue) cell(ticket uint64) *atomic.Pointer[task] { return &q.cells[ticket&q.mask] }

// verdict says whether a ticket can be given out.
type verdict uint8

const (
	roomy   verdict = iota
	full            // every place is taken
	cramped         // there is a place but no cell
)

// room says whether there is room for the ticket that e shows. That it is full
// is exact: at the instant of the second reading every place was taken.
func (q *queue) room(e entry) verdict {
	ticket := e.ticket()
	if ticket < q.bound.Load() {
		return roomy
	}
	x := q.out()
	if q.in() != e { // head may even have passed e's ticket
		return roomy // which admit will not take
	}
	free := q.limit - places(e, x)
	cells := len(q.cells) - x.behind(ticket)
	switch {
	case free <= 0:
		return full
	case cells <= 0:
		return cramped
	}
	// Neither number gets smaller but by tickets given out, so this bound
	// holds for good, and an older one that overwrites it holds too.
	q.bound.Store(ticket + uint64(min(free, cells)))
	return roomy
}

// push publishes t in the cell of the ticket that the gate gave it.
func (q *queue) push(t *task, ticket uint64) {
	t.word.Store(ticket<<stateBits | queued)
	q.cell(ticket).Store(t)
}

// taken is the outcome of a take.
type taken uint8

const (
	nothing taken = iota // nothing is queued, or whoever got the next ticket has not pushed yet
	got                  // a task
	frozen               // try again when the pool's lock is free
)

// take claims the first task that waits, as state. A worker that still holds
// the place of its last task gives that one back in the same step. x is the
// exit as it was then.
func (q *queue) take(state uint64, holding bool) (t *task, x exit, how taken) {
	for {
		x = q.out()
		if x.frozen() {
			return nil, x, frozen
		}
		cell := q.cell(x.head())
		t := cell.Load()
		if t == nil || t.ticket()&headMask != x.head() {
			return nil, x, nothing
		}
		mine := t.claim(state)
		step := uint64(exitHead + exitExtra) // past a claimed task: no place changes hands
		if mine && holding {
			step = exitHead
		}
		if q.exit.CompareAndSwap(uint64(x), uint64(x)+step) {
			cell.CompareAndSwap(t, nil) // the next lap may be here already
		} else if mine && holding {
			x = q.leave() // somebody else has moved head, or will
		}
		if mine {
			return t, x, got
		}
	}
}

// ready reports whether there is a task at the head.
func (q *queue) ready() bool {
	x := q.out()
	t := q.cell(x.head()).Load()
	return t != nil && t.ticket()&headMask == x.head()
}

// drained reports whether nothing is queued and nothing will be.
func (q *queue) drained() bool {
	e := q.in()
	return e.closed() && q.out().behind(e.ticket()) == 0
}

// compact closes the holes. The caller has made sure that no tickets are given
// out meanwhile.
func (q *queue) compact() {
	q.exit.Or(exitFrozen) // head stays from here on
	end := q.in().ticket()
	n := q.out().behind(end)
	live := make([]*task, 0, n)
	for pos := end - uint64(n); pos != end; pos++ {
		cell := q.cell(pos)
		t := cell.Load()
		for t == nil || t.ticket() != pos { // its producer is about to push
			runtime.Gosched()
			t = cell.Load()
		}
		cell.Store(nil)
		if t.state() == queued {
			live = append(live, t)
		}
	}
	for i, t := range live {
		pos := end - uint64(len(live)-i)
		t.renumber(pos)
		q.cell(pos).Store(t)
	}
	holes := uint64(n - len(live))
	for {
		x := q.exit.Load()
		if q.exit.CompareAndSwap(x, (x+holes*(exitHead+exitExtra))&^exitFrozen) {
			return
		}
	}
}
