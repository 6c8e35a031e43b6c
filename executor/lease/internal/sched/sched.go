package sched

import "fmt"

// Policy is the order in which waiters are served.
type Policy uint8

const (
	// RoundRobin serves handles in turn, and the waiters of one handle in the
	// order of their arrival.
	RoundRobin Policy = iota
	// FIFO serves waiters in the order of their arrival.
	FIFO
)

// Sched is the scheduling state of one pool. Only the pool's owner touches it.
type Sched struct {
	policy Policy
	limit  int // of queued waiters

	all      list // queued waiters, in order of arrival
	ring     ring // Invariant: exactly the handles that have a queued waiter, each once
	arrivals uint64

	// What the event in progress is about. Invariant: none of it is set at
	// rest; chosen implies hand.
	arriving *Waiter // not queued yet
	leaving  *Handle // being deregistered
	hand     bool    // a permit is taken and not given
	chosen   *Waiter // to get it; in no list any more
	putting  bool    // the permit in hand is on its way back
	settling *Waiter // being rejected; in no list any more
	turn     *Handle // whose turn ends when chosen has got it; nil if it was not queued

	end     Reason // Open, Closed or Failed
	stopped bool
}

// New returns a scheduler that lets limit waiters queue.
func New(policy Policy, limit int) *Sched { return &Sched{policy: policy, limit: limit} }

// Len returns the number of queued waiters.
func (s *Sched) Len() int { return s.all.n }

// Handles returns the number of handles that have a queued waiter.
func (s *Sched) Handles() int { return s.ring.n }

// Arrivals returns the number of waiters that have ever been queued.
func (s *Sched) Arrivals() uint64 { return s.arrivals }

// Acquire admits w: it is refused, granted at once, or queued.
func (s *Sched) Acquire(w *Waiter) Effect {
	s.event("Acquire")
	w.seen = true
	switch {
	case s.end != Open:
		return s.reject(w, s.end)
	case w.Caller.Barred():
		return s.reject(w, Barred)
	case !w.Caller.Live():
		if w.gone {
			return Effect{Kind: Drop, Waiter: w}
		}
		return s.rest() // Cancel will come
	}
	s.arriving = w
	return Effect{Kind: Prune}
}

// Cancel takes out w, which has left. It returns true if the owner has no
// pointer to w any more; otherwise that is so when Acquire drops it.
//
// It may be called at any time but between Grant and Committed.
func (s *Sched) Cancel(w *Waiter) bool {
	w.gone = true
	if w == s.arriving {
		s.arriving = nil
	}
	s.unqueue(w)
	return w.seen
}

// Deregister settles the queued waiters of h. A handle that has none is no
// trouble.
func (s *Sched) Deregister(h *Handle) Effect {
	s.event("Deregister")
	s.leaving = h
	return s.Next()
}

// Release tells that a permit may have come back.
func (s *Sched) Release() Effect { return s.Sweep() }

// Hint tells that something may have changed. It carries nothing, so any number
// of hints does what one does.
func (s *Sched) Hint() Effect { return s.Sweep() }

// Sweep grants whatever can be granted.
func (s *Sched) Sweep() Effect {
	s.event("Sweep")
	if s.end != Open {
		return s.Next()
	}
	return Effect{Kind: Prune}
}

// Close settles every waiter, and all that arrive later, with Closed.
func (s *Sched) Close() Effect { return s.finish(Closed) }

// Fail is Close with the reason Failed, which wins over Closed. It may come in
// the middle of any event.
func (s *Sched) Fail() Effect { return s.finish(Failed) }

func (s *Sched) finish(why Reason) Effect {
	s.end = max(s.end, why)
	s.putting = false
	if w := s.settling; w != nil {
		return s.reject(w, s.end)
	}
	return s.Next()
}

// event checks that the last event has been dealt with.
func (s *Sched) event(name string) {
	if s.end == Open && (s.hand || s.settling != nil || s.arriving != nil || s.leaving != nil) {
		panic(fmt.Sprintf("sched: %s in the middle of another event", name))
	}
}

// Next goes on after an effect that has no other answer.
func (s *Sched) Next() Effect {
	s.settling = nil
	if s.putting {
		s.putting, s.hand = false, false
	}
	switch {
	case s.end != Open:
		return s.ending()
	case s.leaving != nil:
		if w := s.leaving.queue.first; w != nil {
			s.unqueue(w)
			return s.reject(w, Barred)
		}
		s.leaving = nil
		return s.rest()
	case s.arriving != nil && s.all.n > 0: // whoever is queued comes first
		return s.admit()
	case s.arriving != nil || s.all.n > 0:
		return Effect{Kind: Take}
	}
	return s.rest()
}

// Took goes on after Take: ok tells whether there was a permit.
func (s *Sched) Took(ok bool) Effect {
	switch {
	case ok:
		s.hand = true
		return s.choose()
	case s.end != Open:
		return s.ending()
	case s.arriving != nil:
		return s.admit()
	}
	return s.rest()
}

// choose selects who gets the permit in hand. Whoever it is leaves the queue
// now: once it has been granted, its caller may use it again at any moment.
func (s *Sched) choose() Effect {
	w := s.arriving
	switch {
	case w != nil:
		s.arriving = nil
	case s.all.n == 0:
		return s.put()
	case s.policy == FIFO:
		w = s.all.first
	default:
		w = s.ring.front.queue.first
	}
	s.chosen = w
	if s.unqueue(w) {
		s.turn = w.Handle
	}
	return Effect{Kind: Grant, Waiter: w}
}

// Committed goes on after Grant: ok tells whether the waiter took the permit.
// If it had left, the permit goes to the next one.
func (s *Sched) Committed(ok bool) Effect {
	turn := s.turn
	s.chosen, s.turn = nil, nil
	if !ok && s.end == Open {
		return s.choose()
	}
	s.hand = s.hand && !ok
	if ok && turn != nil {
		s.ring.served(turn)
	}
	return s.Next()
}

// admit queues the waiter that arrives, if there is room.
func (s *Sched) admit() Effect {
	w := s.arriving
	s.arriving = nil
	if s.all.n >= s.limit {
		return s.reject(w, Saturated)
	}
	s.arrivals++
	w.arrival = s.arrivals
	s.all.push(w, byArrival)
	if w.Handle.queue.n == 0 {
		s.ring.join(w.Handle)
	}
	w.Handle.queue.push(w, byHandle)
	return s.Sweep()
}

// unqueue takes w out of the queue, and returns false if it is not in it.
func (s *Sched) unqueue(w *Waiter) bool {
	if !w.links[byArrival].in {
		return false
	}
	s.all.remove(w, byArrival)
	w.Handle.queue.remove(w, byHandle)
	if w.Handle.queue.n == 0 {
		s.ring.leave(w.Handle)
	}
	return true
}

// ending settles what is left, one thing at a time. The waiter in hand comes
// first, then its permit.
func (s *Sched) ending() Effect {
	w := s.chosen
	switch {
	case w != nil:
		s.chosen, s.turn = nil, nil
		return s.reject(w, s.end)
	case s.hand:
		return s.put()
	case s.arriving != nil:
		w, s.arriving = s.arriving, nil
		return s.reject(w, s.end)
	case s.all.n > 0:
		w = s.all.first
		s.unqueue(w)
		return s.reject(w, s.end)
	}
	s.leaving = nil
	if !s.stopped {
		s.stopped = true
		return Effect{Kind: Stop}
	}
	return Effect{Kind: Rest}
}

// rest is the end of an event.
func (s *Sched) rest() Effect {
	if s.all.n > 0 {
		return Effect{Kind: Rest}
	}
	return Effect{Kind: Calm}
}

// reject settles w, which is in no list any more. Like the permit that put
// returns it is remembered until the next step, for an owner that fails before
// it has carried the effect out: what was carried out already is then asked for
// twice, which the owner ignores.
func (s *Sched) reject(w *Waiter, why Reason) Effect {
	s.settling = w
	return Effect{Kind: Reject, Waiter: w, Reason: why}
}

func (s *Sched) put() Effect {
	s.putting = true
	return Effect{Kind: Put}
}
