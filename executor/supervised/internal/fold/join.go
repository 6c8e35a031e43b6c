package fold

import "errors"

// A busy role joins three facts, in whatever order they come: the delivery
// settles, the assignment is completed, the worker exits. Until the delivery
// has settled the other two are held, and the first of them wins.

// ErrContradiction is why a pool shuts down when a worker completed a job that
// it is said never to have seen.
var ErrContradiction = errors.New("a delivery was rejected whose assignment had been used")

// ErrDeliveryRejected is why a worker that could not be given a job is stopped.
var ErrDeliveryRejected = errors.New("delivery rejected")

// busy returns the member whose live assignment ev names, or nil.
func (s *State[J, R, C, W]) busy(ev *Event[J, R, C, W]) *member[J, R, C, W] {
	m := s.member(ev)
	if m == nil || m.phase != Busy || m.assignment != ev.Assignment || s.cfg.Pool != ev.Pool {
		return nil
	}
	return m
}

func (s *State[J, R, C, W]) deliveryAccepted(ev *Event[J, R, C, W]) Verdict {
	m := s.busy(ev)
	if m == nil || m.holds&accepted != 0 {
		return Refused
	}
	m.holds |= accepted
	switch {
	case m.holds&exitFirst != 0:
		s.interrupt(ev.Role)
	case m.holds&completed != 0:
		s.complete(ev.Role)
	}
	return Applied
}

func (s *State[J, R, C, W]) deliveryRejected(ev *Event[J, R, C, W]) Verdict {
	m := s.busy(ev)
	if m == nil || m.holds&accepted != 0 {
		return Refused
	}
	if m.holds&completed != 0 {
		s.contradict(ev)
		return Applied
	}
	s.revoke(ev.Role)
	r := s.release(ev.Role)
	r.attempts-- // the worker never saw it
	s.requeue(&r, ev.Role)
	if m.holds&exited != 0 {
		s.gone(ev.Role)
		return Applied
	}
	cause := ev.Cause
	if cause == nil {
		cause = ErrDeliveryRejected
	}
	s.quarantine(ev.Role, cause)
	return Applied
}

func (s *State[J, R, C, W]) completed(ev *Event[J, R, C, W]) Verdict {
	if v := s.judge(ev); v != Applied {
		return v
	}
	m := &s.members[ev.Role]
	m.result = ev.Result
	m.holds |= completed
	switch {
	case m.holds&exitFirst != 0:
		return Outrun
	case m.holds&accepted != 0:
		s.complete(ev.Role)
	}
	return Applied
}

// judge says what a completion is, without changing anything. It needs no
// record of assignments that have ended: one that was issued and is not live is
// stale.
func (s *State[J, R, C, W]) judge(ev *Event[J, R, C, W]) Verdict {
	issued := s.cfg.Pool == ev.Pool && s.assignments.issued(ev.Assignment)
	switch {
	case !issued:
		return Foreign
	case ev.Used:
		return Duplicate
	}
	if ev.Role >= 0 && ev.Role < len(s.members) {
		m := &s.members[ev.Role]
		if m.phase == Busy && m.assignment == ev.Assignment {
			switch {
			case m.incarnation != ev.Incarnation:
				return Foreign
			case m.holds&completed != 0:
				return Duplicate
			}
			return Applied
		}
	}
	for i := range s.members {
		if m := &s.members[i]; m.phase == Busy && m.assignment == ev.Assignment {
			return Foreign // live, in another role
		}
	}
	return Stale
}

// complete ends the job of a busy role as completed.
func (s *State[J, R, C, W]) complete(role int) {
	m := &s.members[role]
	s.settled++
	a := s.about(Complete, role)
	a.Assignment, a.Job, a.Customer = m.assignment, m.record.id, m.record.customer
	a.Result, a.Attempts = m.result, m.record.attempts
	left := m.holds&exited != 0
	s.unassign(role)
	if left {
		s.gone(role)
		return
	}
	s.enter(role, Idle)
}

// interrupt resolves the job of a role whose worker has exited with it, and
// only then looks after the role.
func (s *State[J, R, C, W]) interrupt(role int) {
	m := &s.members[role]
	if m.holds&completed != 0 {
		s.staleResult(role)
	}
	s.revoke(role)
	r := s.release(role)
	switch {
	case s.cfg.Interruption == Fail:
		s.returnJob(ReturnAssigned, &r, role, WorkerStopped, m.exit.Cause)
	case s.cfg.MaxAttempts > 0 && r.attempts >= s.cfg.MaxAttempts:
		s.returnJob(ReturnAssigned, &r, role, AttemptsExhausted, m.exit.Cause)
	default:
		s.requeue(&r, role)
	}
	if a := s.noteExit(role); a != nil {
		a.Job, a.Customer = r.id, r.customer
	}
	s.succeed(role)
}

// requeue puts a job back where its ordinal belongs, however full the backlog
// is. The record does not tell a job that was interrupted from one that was
// never delivered.
func (s *State[J, R, C, W]) requeue(r *record[J, C], role int) {
	r.last = role
	s.queue.insert(r)
}

// contradict ends a job that was completed by a worker that is said never to
// have seen it. One of the two is untrue, so the pool shuts down.
func (s *State[J, R, C, W]) contradict(ev *Event[J, R, C, W]) {
	role := ev.Role
	m := &s.members[role]
	for _, kind := range [...]EventKind{Completed, DeliveryRejected} {
		a := s.about(Fault, role)
		a.Diagnosis, a.Event, a.Cause = ContradictoryFact, kind, ErrContradiction
		a.Assignment, a.Job, a.Customer = m.assignment, m.record.id, m.record.customer
		if kind == Completed {
			a.Result, a.Carries = m.result, CarriesResult
		} else if ev.Cause != nil {
			a.Cause = ev.Cause
		}
	}
	s.revoke(role)
	r := s.release(role)
	s.returnJob(ReturnAssigned, &r, role, Contradiction, ErrContradiction)
	if m.holds&exited != 0 {
		// No recovery, which the shutdown would have to cancel.
		s.noteExit(role)
		s.vacate(role)
		s.enter(role, Retired)
	} else {
		s.enter(role, Idle)
	}
	s.shutdown(blame{role, ErrContradiction})
}

// staleResult reports a completion that was held and came to nothing.
func (s *State[J, R, C, W]) staleResult(role int) {
	m := &s.members[role]
	a := s.about(Fault, role)
	a.Diagnosis, a.Event = StaleCompletion, Completed
	a.Assignment, a.Job, a.Customer = m.assignment, m.record.id, m.record.customer
	a.Result, a.Carries = m.result, CarriesResult
}
