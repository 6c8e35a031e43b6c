package fold

// submit decides whether a job is accepted. The order of the checks is part of
// the contract: no identity is spent before a job could be taken on.
func (s *State[J, R, C, W]) submit(ev *Event[J, R, C, W]) Verdict {
	idle := s.count[Idle] > 0
	switch {
	case !s.served():
		return s.reject(ev, Unserved)
	case !idle && s.queue.n >= s.cfg.Backlog:
		return s.reject(ev, BacklogFull)
	case !s.jobs.left() || !s.ordinals.left():
		return s.reject(ev, JobIDsExhausted)
	}
	id, _ := s.jobs.issue()
	ordinal, _ := s.ordinals.issue()
	if idle && !s.assignments.left() {
		return s.reject(ev, AssignIDsExhausted) // the pair above is spent
	}
	s.accepted++
	a := s.emit(Accept)
	a.Job, a.Customer, a.Role = id, ev.Customer, None
	r := record[J, C]{id: id, ordinal: ordinal, payload: ev.Job, customer: ev.Customer, last: None}
	if idle {
		assignment, _ := s.assignments.issue()
		s.assign(&r, assignment)
	} else {
		s.queue.push(&r)
	}
	return Applied
}

func (s *State[J, R, C, W]) reject(ev *Event[J, R, C, W], why Rejection) Verdict {
	s.rejected++
	a := s.emit(Reject)
	a.Rejection, a.Role = why, None
	a.Payload, a.Customer = ev.Job, ev.Customer
	return Refused
}

// served reports whether some role can take a job now or later: each one but
// those that are retired, and under Temporary those that are about to be.
func (s *State[J, R, C, W]) served() bool {
	n := len(s.members) - s.count[Retired]
	if s.cfg.Policy == Temporary {
		n -= s.count[Stopping]
	}
	return n > 0
}
