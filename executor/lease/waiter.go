package lease

import (
	"sync/atomic"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

// party is one handle: an identity for the division of permits. The core has
// the one of the pool's own acquisitions.
type party struct {
	sched.Handle
	id     uint64
	closed atomic.Bool
}

// The states of a waiter. It leaves pending once, by a compare-and-swap; what it
// is settled with is written before.
const (
	idle     uint32 = iota // in the free list
	pending                //
	granted                // it has a ticket
	rejected               // it has a reason
	canceled               // by its caller
)

// waiter is one blocked Acquire. Whoever knows that the owner has no pointer to
// it puts it back into the pool's free list: its caller once it was granted or
// rejected or taken out of the mailbox, the owner once it has dropped it.
//
// The free list is the pool's. From a package's sync.Pool the channel, if it was
// made in a testing/synctest bubble, would come up outside of it.
type waiter struct {
	sched.Waiter
	state atomic.Uint32
	ready chan struct{} // capacity 1: one value for each settlement by the owner
	party *party

	ticket ticket       // set before granted
	reason sched.Reason // set before rejected

	spare *waiter // the next in the free list
}

func newWaiter() *waiter {
	w := &waiter{ready: make(chan struct{}, 1)}
	w.Caller = w
	return w
}

// Live is asked by the scheduler.
func (w *waiter) Live() bool { return w.state.Load() == pending }

// Barred is asked by the scheduler.
func (w *waiter) Barred() bool { return w.party.closed.Load() }

// reject is the owner's, like settle. w may have been settled, and be its
// caller's again.
func (w *waiter) reject(why sched.Reason) bool {
	if !w.Live() {
		return false
	}
	w.reason = why
	return w.settle(rejected)
}

// settle is the owner's; it does not block, for there is room in ready.
func (w *waiter) settle(to uint32) bool {
	if !w.state.CompareAndSwap(pending, to) {
		return false
	}
	select {
	case w.ready <- struct{}{}:
	default:
	}
	return true
}
