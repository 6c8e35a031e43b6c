package fold

// Unresolved is a role that a forced drain gave up on.
type Unresolved struct {
	Role        int
	Incarnation Incarnation
	Phase       Phase
	Missing     Missing
}

// Unresolved returns the roles that miss something, in declaration order; none
// unless the pool drains or was forced.
func (s *State[J, R, C, W]) Unresolved() []Unresolved {
	var list []Unresolved
	for role := range s.members {
		if m := &s.members[role]; m.missing != 0 {
			list = append(list, Unresolved{role, m.incarnation, m.phase, m.missing})
		}
	}
	return list
}

// Counts is one reading of a state.
type Counts struct {
	Mode                        Mode
	Queued, Assigned, Charges   int
	Accepted, Rejected, Settled uint64
}

// Counts returns what the state has now. Accepted is Queued, Assigned and
// Settled together.
func (s *State[J, R, C, W]) Counts() Counts {
	assigned := 0
	if s.mode == Serving {
		assigned = s.count[Busy]
	}
	return Counts{s.mode, s.queue.n, assigned, len(s.charges), s.accepted, s.rejected, s.settled}
}

// Role returns where a role stands; zeros once the pool has stopped.
func (s *State[J, R, C, W]) Role(role int) (Phase, Incarnation) {
	if role >= len(s.members) {
		return 0, 0
	}
	m := &s.members[role]
	return m.phase, m.incarnation
}
