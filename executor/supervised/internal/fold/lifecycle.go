package fold

// start has the worker of a role started as a new incarnation.
func (s *State[J, R, C, W]) start(role int, id Incarnation) {
	m := &s.members[role]
	m.incarnation = id
	m.holds, m.exit, m.cause = 0, Exit{}, nil
	m.stop, m.prep, m.timer = 0, 0, 0
	s.enter(role, Starting)
	a := s.about(Start, role)
	a.Worker = m.worker
}

func (s *State[J, R, C, W]) started(ev *Event[J, R, C, W]) Verdict {
	m := s.member(ev)
	if m == nil || m.phase != Starting {
		return Refused
	}
	switch {
	case m.holds&exited != 0:
		s.gone(ev.Role) // born, and gone already
	case ev.Activates:
		s.enter(ev.Role, Waiting)
	default:
		s.enter(ev.Role, Idle)
	}
	return Applied
}

// startRejected loses the role: there is no recovery from a goroutine that
// cannot be started, and nothing is charged.
func (s *State[J, R, C, W]) startRejected(ev *Event[J, R, C, W]) Verdict {
	m := s.member(ev)
	if m == nil || m.phase != Starting {
		return Refused
	}
	s.faultStart(ev)
	s.discard(ev.Role, ev.Cause)
	s.lose(ev.Role, ev.Cause)
	return Applied
}

func (s *State[J, R, C, W]) faultStart(ev *Event[J, R, C, W]) {
	m := &s.members[ev.Role]
	a := s.about(Fault, ev.Role)
	a.Diagnosis, a.Event, a.Cause = StartFault, StartRejected, ev.Cause
	a.Worker, a.Carries = m.worker, CarriesWorker
	if m.holds&exited != 0 {
		a.Exit = m.exit
	}
}

// grantSlots gives free activation slots to the members that wait for one.
func (s *State[J, R, C, W]) grantSlots() {
	for role := 0; s.count[Waiting] > 0 && s.count[Dispatched]+s.count[Activating] < s.cfg.Activations; role++ {
		if s.members[role].phase == Waiting {
			s.enter(role, Dispatched)
			s.about(BeginActivation, role)
		}
	}
}

func (s *State[J, R, C, W]) activationBegun(ev *Event[J, R, C, W]) Verdict {
	m := s.member(ev)
	if m == nil || m.phase != Dispatched {
		return Refused
	}
	s.enter(ev.Role, Activating)
	return Applied
}

// activationSettled frees the slot, whether or not the activation was seen to
// begin.
func (s *State[J, R, C, W]) activationSettled(ev *Event[J, R, C, W]) Verdict {
	m := s.member(ev)
	if m == nil || m.phase != Dispatched && m.phase != Activating {
		return Refused
	}
	left := m.holds&exited != 0
	if ev.Kind == ActivationFailed {
		s.faultActivation(ev)
		if left {
			m.cause = ev.Cause // its exit was abnormal, whatever it looked like
		} else {
			s.quarantine(ev.Role, ev.Cause)
			return Applied
		}
	}
	if left {
		s.gone(ev.Role)
	} else {
		s.enter(ev.Role, Idle)
	}
	return Applied
}

func (s *State[J, R, C, W]) faultActivation(ev *Event[J, R, C, W]) {
	a := s.about(Fault, ev.Role)
	a.Diagnosis, a.Event, a.Cause = ActivationFault, ActivationFailed, ev.Cause
}

// quarantine asks a live worker to stop. Its role is looked after when both the
// request has settled and the exit has come.
func (s *State[J, R, C, W]) quarantine(role int, cause error) {
	m := &s.members[role]
	m.cause = cause
	if !s.stops.left() {
		s.enter(role, Idle) // live, and without a request, for the drain to find
		s.shutdown(blame{role, errStopIDs})
		return
	}
	s.enter(role, Stopping)
	s.requestStop(role)
}

// requestStop asks an incarnation to stop, which is done once at most.
func (s *State[J, R, C, W]) requestStop(role int) bool {
	m := &s.members[role]
	id, ok := s.stops.issue()
	if !ok {
		return false
	}
	m.stop = id
	a := s.about(RequestStop, role)
	a.Stop, a.Cause = id, m.cause
	return true
}

func (s *State[J, R, C, W]) stopSettled(ev *Event[J, R, C, W]) Verdict {
	m := s.member(ev)
	if m == nil || m.phase != Stopping || m.stop != ev.Stop || m.holds&stopped != 0 {
		return Refused
	}
	m.holds |= stopped
	s.noteStopped(ev)
	if m.holds&exited != 0 {
		s.gone(ev.Role)
	}
	return Applied
}

func (s *State[J, R, C, W]) noteStopped(ev *Event[J, R, C, W]) {
	if ev.Already {
		a := s.about(Notice, ev.Role)
		a.Diagnosis, a.Stop = AlreadyStopped, ev.Stop
	}
}

// exited records the one exit of an incarnation, and acts on it unless
// something has to settle first.
func (s *State[J, R, C, W]) exited(ev *Event[J, R, C, W]) Verdict {
	m := s.member(ev)
	if m == nil || m.holds&exited != 0 || m.phase > Stopping {
		return Refused
	}
	m.exit, m.exitAt = ev.Exit, ev.At
	m.holds |= exited
	switch m.phase {
	case Waiting, Idle:
		s.gone(ev.Role)
	case Stopping:
		if m.holds&stopped != 0 {
			s.gone(ev.Role)
		}
	case Busy:
		switch {
		case m.holds&accepted != 0: // and not completed, or it would be idle
			s.interrupt(ev.Role)
		case m.holds&completed == 0:
			m.holds |= exitFirst
		}
	}
	return Applied
}

// noteExit gives notice of an abnormal exit. An exit that the serving pool
// asked for is one. It returns nil if there is nothing to tell.
func (s *State[J, R, C, W]) noteExit(role int) *Action[J, R, C, W] {
	m := &s.members[role]
	if m.exit.Kind == Normal && m.cause == nil {
		return nil
	}
	a := s.about(Notice, role)
	a.Diagnosis, a.Event, a.Exit, a.Cause = AbnormalExit, Exited, m.exit, m.cause
	return a
}

// gone resolves the exit of a role's incarnation.
func (s *State[J, R, C, W]) gone(role int) {
	s.noteExit(role)
	s.succeed(role)
}

// succeed looks for a successor of a role's incarnation, whose exit has been
// told of: the role recovers, or is lost.
func (s *State[J, R, C, W]) succeed(role int) {
	m := &s.members[role]
	abnormal := m.exit.Kind != Normal || m.cause != nil
	cause := m.exit.Cause
	if m.cause != nil {
		cause = m.cause
	}
	s.vacate(role)
	if s.cfg.Policy == Permanent || s.cfg.Policy == Transient && abnormal {
		s.enter(role, AwaitingFactory)
		return
	}
	s.lose(role, cause)
}

// vacate lets go of a role's worker.
func (s *State[J, R, C, W]) vacate(role int) {
	m := &s.members[role]
	var nobody W
	m.worker, m.holds = nobody, 0
}

// discard has the prepared worker of a role discarded, which never ran.
func (s *State[J, R, C, W]) discard(role int, cause error) {
	m := &s.members[role]
	a := s.about(Discard, role)
	a.Worker, a.Cause = m.worker, cause
	var nobody W
	m.worker = nobody
}
