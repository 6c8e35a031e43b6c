package fold

// drained applies ev while the pool drains. A fact can release a role; none can
// make it serve again.
func (s *State[J, R, C, W]) drained(ev *Event[J, R, C, W]) Verdict {
	v := Refused
	switch ev.Kind {
	case Submit:
		return s.reject(ev, PoolStopping)
	case Shutdown:
		return Applied // it has begun
	case Completed:
		v = s.judge(ev)
	case DeliveryAccepted, DeliveryRejected:
		v = s.deliveryInDrain(ev)
	case TimerScheduled, TimerRejected, TimerFired:
		if ev.Timer == DrainTimer {
			v = s.drainTimer(ev)
		} else {
			v = s.timerInDrain(ev)
		}
	case PreparationBegun, PreparationEnded:
		v = s.preparationInDrain(ev)
	default:
		v = s.workerInDrain(ev)
	}
	if v != Applied {
		s.refuse(ev, v)
	}
	return v
}

// workerInDrain applies a fact about an incarnation.
func (s *State[J, R, C, W]) workerInDrain(ev *Event[J, R, C, W]) Verdict {
	m := s.member(ev)
	if m == nil {
		return Refused
	}
	switch ev.Kind {
	case Started, StartRejected:
		return s.startInDrain(ev, m)
	case ActivationBegun:
		if m.missing&MissingActivation == 0 || m.phase != Dispatched || m.holds&begun != 0 {
			return Refused
		}
		m.holds |= begun // the phase stays what it was when the drain began
	case Activated, ActivationFailed:
		if m.missing&MissingActivation == 0 {
			return Refused
		}
		if ev.Kind == ActivationFailed {
			s.faultActivation(ev)
		} else {
			s.faultLate(ev)
		}
		s.arrived(ev.Role, MissingActivation)
	case StopSettled:
		if m.missing&MissingStop == 0 || m.stop != ev.Stop || m.stop == 0 {
			return Refused
		}
		s.noteStopped(ev)
		s.arrived(ev.Role, MissingStop)
	case Exited:
		starting := m.missing&MissingStart != 0 && m.holds&exited == 0
		if m.missing&MissingExit == 0 && !starting {
			return Refused
		}
		m.exit = ev.Exit
		m.holds |= exited
		s.noteExit(ev.Role)
		s.arrived(ev.Role, MissingExit)
	}
	return Applied
}

// startInDrain settles a start that shutdown overtook.
func (s *State[J, R, C, W]) startInDrain(ev *Event[J, R, C, W], m *member[J, R, C, W]) Verdict {
	if m.missing&MissingStart == 0 {
		return Refused
	}
	switch {
	case ev.Kind == StartRejected:
		s.faultStart(ev)
		s.discard(ev.Role, ev.Cause)
	case m.holds&exited == 0:
		m.missing |= MissingStop | MissingExit
		s.stopInDrain(ev.Role)
	}
	s.arrived(ev.Role, MissingStart)
	return Applied
}

// preparationInDrain lets a preparation come to its end. A late worker is
// discarded.
func (s *State[J, R, C, W]) preparationInDrain(ev *Event[J, R, C, W]) Verdict {
	m := s.preparation(ev)
	if m == nil || m.missing&MissingPreparation == 0 {
		return Refused
	}
	if ev.Kind == PreparationBegun {
		return s.preparationBegun(ev)
	}
	if !endsInOrder(ev.Ending, m.holds&begun != 0) {
		return Refused
	}
	a := s.faultLate(ev)
	if ev.Ending == Prepared {
		a.Worker, a.Carries = ev.Worker, CarriesWorker
		m.worker = ev.Worker
		s.discard(ev.Role, ErrPoolShutdown)
	}
	s.arrived(ev.Role, MissingPreparation)
	return Applied
}

// timerInDrain settles the schedule of a restart that will not take place.
func (s *State[J, R, C, W]) timerInDrain(ev *Event[J, R, C, W]) Verdict {
	m := s.delay(ev)
	if m == nil || m.missing&MissingTimer == 0 || ev.Kind == TimerFired {
		return Refused
	}
	if ev.Kind == TimerScheduled {
		s.about(CancelTimer, ev.Role).Timer = m.timer
	}
	s.arrived(ev.Role, MissingTimer)
	return Applied
}

// drainTimer applies what became of the drain's bound. A drain whose bound
// cannot be had is forced at once: it would wait for ever instead.
func (s *State[J, R, C, W]) drainTimer(ev *Event[J, R, C, W]) Verdict {
	switch {
	case ev.Kind == TimerScheduled && s.drain == unsettled:
		s.drain = running
	case ev.Kind == TimerRejected && s.drain == unsettled:
		s.drain = over
		s.force(&Causes{errDrainTimer, ev.Cause})
	case ev.Kind == TimerFired && s.drain == running:
		s.drain = over
		s.force(errDrainOver)
	default:
		return Refused
	}
	return Applied
}

// deliveryInDrain notes the settlement of a delivery whose job has been
// returned.
func (s *State[J, R, C, W]) deliveryInDrain(ev *Event[J, R, C, W]) Verdict {
	if s.cfg.Pool != ev.Pool || !s.assignments.issued(ev.Assignment) {
		return Refused
	}
	a := s.emit(Notice)
	a.Diagnosis, a.Event, a.Cause = LateDelivery, ev.Kind, ev.Cause
	a.Role, a.Incarnation, a.Assignment = ev.Role, ev.Incarnation, ev.Assignment
	return Applied
}

// faultLate reports a fact that was waited for and would have led to more than
// a release.
func (s *State[J, R, C, W]) faultLate(ev *Event[J, R, C, W]) *Action[J, R, C, W] {
	a := s.about(Fault, ev.Role)
	a.Diagnosis, a.Event, a.Cause, a.Prep = LateFact, ev.Kind, ev.Cause, ev.Prep
	return a
}

// arrived takes something off what a role waits for, and releases the role if
// that was the last.
func (s *State[J, R, C, W]) arrived(role int, what Missing) {
	m := &s.members[role]
	if m.missing == 0 {
		return
	}
	m.missing &^= what
	if m.missing == 0 {
		s.unresolved--
		s.vacate(role)
	}
}
