package sched

import (
	"errors"
	"fmt"
)

// Check returns what is wrong with the state, or nil. It may be called after
// any step.
func (s *Sched) Check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	queued, handles := 0, make(map[*Handle]int)
	arrival, last := uint64(0), make(map[*Handle]*Waiter)
	for w := s.all.first; w != nil; w = w.links[byArrival].next {
		if w.arrival <= arrival {
			bad("arrival %d is queued behind %d", w.arrival, arrival)
		}
		arrival = w.arrival
		queued++
		handles[w.Handle]++
		if prev := last[w.Handle]; w.links[byHandle].prev != prev {
			bad("arrival %d is out of order in its handle's queue", w.arrival)
		}
		last[w.Handle] = w
	}
	if queued != s.all.n {
		bad("%d waiters are queued, and counted as %d", queued, s.all.n)
	}
	if s.all.n > max(s.limit, 0) {
		bad("%d waiters are queued, with a limit of %d", s.all.n, s.limit)
	}
	for h, n := range handles {
		if h.queue.n != n {
			bad("a handle has %d queued waiters, and counts %d", n, h.queue.n)
		}
	}

	members, h := make(map[*Handle]bool), s.ring.front
	for range s.ring.n {
		if h == nil || members[h] || handles[h] == 0 {
			bad("the ring has a handle twice, or one without waiters")
			break
		}
		members[h] = true
		if h.next.prev != h {
			bad("the ring is torn")
		}
		h = h.next
	}
	if h != s.ring.front || len(members) != len(handles) {
		bad("the ring has %d of %d handles", len(members), len(handles))
	}

	if s.chosen != nil && !s.hand && s.end == Open {
		bad("a waiter is chosen, and there is no permit")
	}
	if s.stopped && (queued > 0 || s.hand || s.chosen != nil || s.arriving != nil) {
		bad("something is left after the end")
	}
	return errors.Join(errs...)
}

// AtRest returns what is wrong with a state in which no event is in progress,
// or nil.
func (s *Sched) AtRest() error {
	if s.hand || s.chosen != nil || s.arriving != nil || s.leaving != nil || s.settling != nil || s.turn != nil {
		return errors.New("an event is in progress")
	}
	return s.Check()
}
