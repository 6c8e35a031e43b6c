package fold

// assign gives r to the first idle role from the cursor on, of which there is
// one, and moves the cursor behind that role. Becoming idle never moves it.
func (s *State[J, R, C, W]) assign(r *record[J, C], id AssignmentID) {
	role := s.idle.next(s.cursor)
	s.cursor = role + 1
	if s.cursor == len(s.members) {
		s.cursor = 0
	}
	s.enter(role, Busy)
	m := &s.members[role]
	m.record = *r
	m.record.attempts++ // before the worker can act, so that every end of it counts
	m.assignment = id
	a := s.emit(Deliver)
	a.Role, a.Incarnation, a.Assignment = role, m.incarnation, id
	a.Job, a.Customer, a.Payload, a.Attempts = r.id, r.customer, r.payload, m.record.attempts
}

// fill dispatches the oldest jobs as long as somebody is idle. It ends every
// step that can make a role idle or put a job back, so a later submission can
// never overtake.
func (s *State[J, R, C, W]) fill() {
	var r record[J, C]
	for s.queue.n > 0 && s.count[Idle] > 0 {
		s.queue.pop(&r)
		if id, ok := s.assignments.issue(); ok {
			s.assign(&r, id)
			continue
		}
		if r.last == None {
			s.returnJob(ReturnQueued, &r, None, AssignmentIDsExhausted, nil)
		} else {
			s.returnJob(ReturnAssigned, &r, r.last, RetryRejected, nil)
		}
	}
}

// strand returns what is queued when nobody is left to wait for.
func (s *State[J, R, C, W]) strand() {
	if s.queue.n > 0 && !s.served() {
		s.returnQueue(NoWorkers)
	}
}

// returnQueue returns every queued job, in order.
func (s *State[J, R, C, W]) returnQueue(why Reason) {
	var r record[J, C]
	for s.queue.n > 0 {
		s.queue.pop(&r)
		s.returnJob(ReturnQueued, &r, r.last, why, nil)
	}
}

// returnJob ends a job that was not completed.
func (s *State[J, R, C, W]) returnJob(kind ActionKind, r *record[J, C], role int, why Reason, cause error) {
	s.settled++
	a := s.emit(kind)
	a.Role, a.Reason, a.Cause = role, why, cause
	a.Job, a.Customer, a.Payload, a.Attempts = r.id, r.customer, r.payload, r.attempts
}

// release takes the assignment, if any, away from a role, and returns its job.
func (s *State[J, R, C, W]) release(role int) record[J, C] {
	r := s.members[role].record
	s.unassign(role)
	return r
}

func (s *State[J, R, C, W]) unassign(role int) {
	m := &s.members[role]
	var result R
	m.record, m.assignment, m.result = record[J, C]{}, 0, result
	m.holds &^= accepted | completed | exitFirst
}

// revoke takes a live assignment's authority away, before what becomes of its
// job can be seen.
func (s *State[J, R, C, W]) revoke(role int) {
	m := &s.members[role]
	a := s.about(Revoke, role)
	a.Assignment, a.Job, a.Customer = m.assignment, m.record.id, m.record.customer
}
