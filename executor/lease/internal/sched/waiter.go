package sched

// Caller answers for a waiter. Both answers change once at most, at any time.
type Caller interface {
	// Live reports whether the waiter is neither settled nor canceled.
	Live() bool
	// Barred reports whether the waiter's handle has been closed.
	Barred() bool
}

// Waiter is one blocked acquisition. It belongs to whoever made it, until a Box
// or a Sched has it and after it has been settled or dropped.
type Waiter struct {
	Caller Caller
	Handle *Handle

	links [lists]link
	next  *Waiter // in the Box's stack of cancellations

	// The owner's view.
	arrival uint64 // of those queued, increasing
	seen    bool   // Acquire has been called
	gone    bool   // Cancel has been called
}

// Reset makes w ready for another acquisition.
func (w *Waiter) Reset(h *Handle) {
	w.Handle, w.arrival, w.seen, w.gone = h, 0, false, false
}

// Handle is one party to the fair division of permits. The zero Handle has no
// waiters. Nothing is kept about a handle that has none.
type Handle struct {
	queue      list    // its waiters, in order of arrival
	prev, next *Handle // in the ring; nil outside of it
	leaving    *Handle // the next in the Box's stack of deregistrations
}

// The lists that a waiter can be in.
const (
	boxed     = iota // the mailbox
	byArrival        // all queued waiters
	byHandle         // its handle's
	lists
)

// link is a waiter's place in one list.
type link struct {
	prev, next *Waiter
	in         bool
}

// list is a queue of waiters that finds the place of each in the waiter itself.
type list struct {
	first, last *Waiter
	n           int
}

func (l *list) push(w *Waiter, which int) {
	at := &w.links[which]
	at.prev, at.in = l.last, true
	if l.last == nil {
		l.first = w
	} else {
		l.last.links[which].next = w
	}
	l.last = w
	l.n++
}

func (l *list) remove(w *Waiter, which int) {
	at := &w.links[which]
	if at.prev == nil {
		l.first = at.next
	} else {
		at.prev.links[which].next = at.next
	}
	if at.next == nil {
		l.last = at.prev
	} else {
		at.next.links[which].prev = at.prev
	}
	*at = link{}
	l.n--
}

// ring is the handles that have a queued waiter, in the order of their turns.
type ring struct {
	front *Handle // whose turn it is; nil if the ring is empty
	n     int
}

// join puts h, which is not in the ring, at the back.
func (r *ring) join(h *Handle) {
	r.n++
	if r.front == nil {
		h.prev, h.next = h, h
		r.front = h
		return
	}
	back := r.front.prev
	h.prev, h.next = back, r.front
	back.next, r.front.prev = h, h
}

// leave takes h out.
func (r *ring) leave(h *Handle) {
	r.n--
	if h.next == h {
		r.front = nil
	} else {
		h.prev.next, h.next.prev = h.next, h.prev
		if r.front == h {
			r.front = h.next
		}
	}
	h.prev, h.next = nil, nil
}

// served ends the turn of h, which was in front when its waiter was chosen.
func (r *ring) served(h *Handle) {
	if h == r.front {
		r.front = h.next
	}
}
