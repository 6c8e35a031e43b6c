package fold

import "slices"

// broken returns the invariants of a state that do not hold, by number.
func (s *State[J, R, C, W]) broken() []string {
	var out []string
	check := func(number string, holds bool) {
		if !holds {
			out = append(out, number)
		}
	}
	c := s.Counts()
	check("I-1", c.Accepted == uint64(c.Queued)+uint64(c.Assigned)+c.Settled)
	for i := 1; i < s.queue.n; i++ {
		check("I-3", s.queue.at(i-1).ordinal < s.queue.at(i).ordinal)
	}
	check("I-4", s.queue.n <= s.cfg.Backlog+s.cfg.Roles)
	if s.mode == Stopped {
		check("I-22", s.members == nil && s.queue.ring == nil && s.idle == nil && s.charges == nil)
		check("I-22", s.loss == blame{role: None} && s.forced == nil)
		return out
	}

	var count [lastPhase + 1]int
	live, missing := map[AssignmentID]bool{}, 0
	for role := range s.members {
		m := &s.members[role]
		count[m.phase]++
		check("I-9", (m.phase == Idle) == (s.idle.next(role) == role))
		check("I-9", m.holds == 0 || m.phase <= Stopping || m.phase == Preparing)
		if m.assignment != 0 {
			check("I-10", m.phase == Busy && s.mode == Serving)
			check("I-10", !live[m.assignment] && s.assignments.issued(m.assignment))
			live[m.assignment] = true
		}
		if m.missing != 0 {
			missing++
		}
		check("I-8", m.missing == 0 || s.mode != Serving)
	}
	check("I-9", count == s.count)
	check("I-20", missing == s.unresolved)
	check("I-9", len(s.members) == s.cfg.Roles && s.cursor >= 0 && s.cursor < s.cfg.Roles)
	check("I-14", len(s.charges) <= s.cfg.Budget.Max && slices.IsSorted(s.charges))
	if n := len(s.charges); n > 0 {
		check("I-14", s.charges[n-1]-s.charges[0] <= s.cfg.Budget.Window)
	}
	if s.mode != Serving {
		check("I-8", s.queue.n == 0 && len(live) == 0)
		check("I-20", s.mode != Draining || s.unresolved > 0)
		return out
	}
	check("I-6", s.queue.n == 0 || count[Idle] == 0)
	check("I-7", s.queue.n == 0 || s.served())
	slots := count[Dispatched] + count[Activating]
	check("I-11", slots <= s.cfg.Activations)
	check("I-12", slots == s.cfg.Activations || count[Waiting] == 0)
	check("I-13", count[Preparing] <= 1 && (count[AwaitingFactory] == 0 || count[Preparing] == 1))
	return out
}

// clone returns a state that shares nothing with s but the opaque values.
func (s *State[J, R, C, W]) clone() *State[J, R, C, W] {
	c := *s
	c.members = slices.Clone(s.members)
	c.idle = slices.Clone(s.idle)
	c.charges = slices.Clone(s.charges)
	c.queue.ring = slices.Clone(s.queue.ring)
	return &c
}
