package fold

import "errors"

// Causes of a recovery that failed for want of an identity.
var (
	errPrepIDs        = errors.New("preparation ids exhausted")
	errIncarnationIDs = errors.New("incarnation ids exhausted")
	errTimerIDs       = errors.New("restart timer ids exhausted")
	errRecoveryIDs    = errors.New("recovery ordinals of the role exhausted")
	errStopIDs        = errors.New("stop request ids exhausted")
)

// engageFactory has the factory make a worker for the first role that waits for
// one, in declaration order, unless it is at work.
func (s *State[J, R, C, W]) engageFactory() {
	for role := 0; s.count[AwaitingFactory] > 0 && s.count[Preparing] == 0; role++ {
		m := &s.members[role]
		if m.phase != AwaitingFactory {
			continue
		}
		id, ok := s.preps.issue()
		if !ok {
			s.failRecovery(role, errPrepIDs, false)
			if s.mode != Serving {
				return
			}
			continue
		}
		m.prep = id
		s.enter(role, Preparing)
		s.about(Prepare, role).Prep = id
	}
}

// preparation returns the member whose preparation ev names, or nil.
func (s *State[J, R, C, W]) preparation(ev *Event[J, R, C, W]) *member[J, R, C, W] {
	if ev.Role < 0 || ev.Role >= len(s.members) {
		return nil
	}
	m := &s.members[ev.Role]
	if m.phase != Preparing || m.prep != ev.Prep {
		return nil
	}
	return m
}

func (s *State[J, R, C, W]) preparationBegun(ev *Event[J, R, C, W]) Verdict {
	m := s.preparation(ev)
	if m == nil || m.holds&begun != 0 {
		return Refused
	}
	m.holds |= begun
	return Applied
}

// endsInOrder reports whether a preparation that has begun, or has not, can end
// like that.
func endsInOrder(e Ending, hasBegun bool) bool {
	switch e {
	case Prepared, WorkerRejected, FactoryRejected:
		return hasBegun
	case NotAttempted:
		return !hasBegun
	case Lost:
		return true
	}
	return false
}

func (s *State[J, R, C, W]) preparationEnded(ev *Event[J, R, C, W]) Verdict {
	m := s.preparation(ev)
	if m == nil || !endsInOrder(ev.Ending, m.holds&begun != 0) {
		return Refused
	}
	m.holds &^= begun
	if ev.Ending != Prepared {
		s.failRecovery(ev.Role, ev.Cause, false)
		return Applied
	}
	m.worker = ev.Worker
	if err := s.admit(ev.Role); err != nil {
		s.failRecovery(ev.Role, err, true)
	}
	return Applied
}

// admit charges for a restart of a role whose next worker is prepared, and
// starts it, or has its delay scheduled. It takes all that the restart needs or
// nothing.
func (s *State[J, R, C, W]) admit(role int) error {
	m := &s.members[role]
	at := s.charges.instant(m.exitAt)
	if active := s.charges.active(at, s.cfg.Budget.Window); active >= s.cfg.Budget.Max {
		return &BudgetError{active, s.cfg.Budget.Max, s.cfg.Budget.Window}
	}
	immediate := s.cfg.Backoff.Kind == Immediate
	switch {
	case !m.recovery.left():
		return errRecoveryIDs
	case immediate && !s.incarnations.left():
		return errIncarnationIDs
	case !immediate && !s.timers.left():
		return errTimerIDs
	}
	s.charges.charge(at, s.cfg.Budget.Window)
	ordinal, _ := m.recovery.issue()
	a := s.about(Notice, role)
	a.Diagnosis, a.Exit = Restarted, m.exit
	if immediate {
		id, _ := s.incarnations.issue()
		s.start(role, id)
		return nil
	}
	m.timer, _ = s.timers.issue()
	s.enter(role, Scheduling)
	a = s.about(Schedule, role)
	a.Timer, a.Delay = m.timer, s.cfg.Backoff.Delay(ordinal)
	return nil
}

// restartTimer applies what became of a restart delay. One that goes off before
// it was accepted is refused.
func (s *State[J, R, C, W]) restartTimer(ev *Event[J, R, C, W]) Verdict {
	m := s.delay(ev)
	switch {
	case m == nil:
		return Refused
	case ev.Kind == TimerScheduled && m.phase == Scheduling:
		s.enter(ev.Role, Delayed)
	case ev.Kind == TimerRejected && m.phase == Scheduling:
		s.failRecovery(ev.Role, ev.Cause, true)
	case ev.Kind == TimerFired && m.phase == Delayed:
		id, ok := s.incarnations.issue()
		if !ok {
			s.failRecovery(ev.Role, errIncarnationIDs, true)
			break
		}
		s.start(ev.Role, id)
	default:
		return Refused
	}
	return Applied
}

// delay returns the member whose restart timer ev names, or nil.
func (s *State[J, R, C, W]) delay(ev *Event[J, R, C, W]) *member[J, R, C, W] {
	if ev.Timer == DrainTimer || ev.Role < 0 || ev.Role >= len(s.members) {
		return nil
	}
	m := &s.members[ev.Role]
	if m.timer != ev.Timer || m.phase != Scheduling && m.phase != Delayed {
		return nil
	}
	return m
}

// failRecovery reports a recovery that came to nothing, once, and loses the
// role. A worker that was prepared for it is discarded.
func (s *State[J, R, C, W]) failRecovery(role int, cause error, prepared bool) {
	m := &s.members[role]
	a := s.about(Fault, role)
	a.Diagnosis, a.Exit, a.Cause = RecoveryFault, m.exit, cause
	a.Prep, a.Timer = m.prep, m.timer
	if prepared {
		a.Worker, a.Carries = m.worker, CarriesWorker
		s.discard(role, cause)
	}
	s.lose(role, cause)
}

// lose retires a role that has lost its worker for good, and begins shutdown if
// that is what such a loss means.
func (s *State[J, R, C, W]) lose(role int, cause error) {
	m := &s.members[role]
	s.vacate(role)
	m.exit, m.prep, m.timer = Exit{}, 0, 0
	s.enter(role, Retired)
	if s.cfg.OnLoss == StopPool {
		s.shutdown(blame{role, cause})
		return
	}
	a := s.about(Notice, role)
	a.Diagnosis, a.Cause = RoleRetired, cause
}
