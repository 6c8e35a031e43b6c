package fold

import "errors"

// ErrPoolShutdown is why a worker is asked to stop, or discarded, in a drain.
var ErrPoolShutdown = errors.New("the pool is shutting down")

// errDrainTimer is why a drain is forced whose bound cannot be kept.
var errDrainTimer = errors.New("the drain timer was rejected")

// errDrainOver is why a drain is forced that took too long.
var errDrainOver = errors.New("the drain took too long")

// shutdown begins the drain, in one step: whatever it brings about is done when
// it returns, and nothing that recovers, dispatches or admits happens again.
func (s *State[J, R, C, W]) shutdown(why blame) {
	s.mode = Draining
	s.loss = why
	for role := range s.members {
		if s.members[role].phase == Busy {
			s.revoke(role)
		}
	}
	s.returnQueue(PoolShutdown)
	for role := range s.members {
		if m := &s.members[role]; m.phase == Busy {
			if m.holds&completed != 0 {
				s.staleResult(role)
			}
			r := s.release(role)
			s.returnJob(ReturnAssigned, &r, role, PoolShutdown, ErrPoolShutdown)
		}
	}
	for role := range s.members {
		s.detain(role)
	}
	if s.unresolved > 0 && s.forced == nil && s.cfg.DrainWithin > 0 {
		a := s.emit(Schedule)
		a.Role, a.Timer, a.Delay = None, DrainTimer, s.cfg.DrainWithin
		s.drain = unsettled
	}
}

// detain turns a role into a member of the drain: it says what has to arrive
// before the role is released, and asks for it.
func (s *State[J, R, C, W]) detain(role int) {
	m := &s.members[role]
	left := m.holds&exited != 0
	if left {
		s.noteExit(role)
	}
	var missing Missing
	switch m.phase {
	case Starting:
		if s.withdraw(Start, role) { // a restart that this very step had admitted
			s.discard(role, ErrPoolShutdown)
			break
		}
		missing = MissingStart // whether the exit is held or not: a rejected start leaves a worker to discard
	case Dispatched, Activating:
		missing = MissingActivation
	case Stopping:
		if m.holds&stopped == 0 {
			missing = MissingStop
		}
		if !left {
			missing |= MissingExit
		}
	case Preparing:
		missing = MissingPreparation
		s.about(CancelPreparation, role).Prep = m.prep
	case Scheduling:
		if !s.withdraw(Schedule, role) {
			missing = MissingTimer
		}
		s.discard(role, ErrPoolShutdown)
	case Delayed:
		a := s.about(CancelTimer, role)
		a.Timer = m.timer
		s.discard(role, ErrPoolShutdown)
	}
	switch m.phase {
	case Waiting, Dispatched, Activating, Idle, Busy:
		if !left {
			missing |= MissingStop | MissingExit
			s.stopInDrain(role)
		}
	}
	m.missing = missing
	if missing != 0 {
		s.unresolved++
	} else {
		s.vacate(role)
	}
}

// stopInDrain asks a live worker to stop. If it cannot be asked, the drain
// cannot be waited for.
func (s *State[J, R, C, W]) stopInDrain(role int) {
	m := &s.members[role]
	if m.cause == nil {
		m.cause = ErrPoolShutdown
	}
	if !s.requestStop(role) {
		s.force(errStopIDs)
	}
	m.cause = nil // its exit is not abnormal for having been asked for
}

// force has the step give up waiting, for the first reason that there is.
func (s *State[J, R, C, W]) force(cause error) {
	if s.forced == nil {
		s.forced = cause
	}
}

// conclude ends the drain if it is over.
func (s *State[J, R, C, W]) conclude() {
	switch {
	case s.unresolved == 0:
		if s.drain == unsettled || s.drain == running {
			a := s.emit(CancelTimer)
			a.Role, a.Timer = None, DrainTimer
		}
		a := s.emit(RetireStopped)
		a.Role, a.Cause = s.loss.role, s.loss.cause
		s.mode = Stopped
		s.forget()
	case s.forced != nil:
		a := s.emit(RetireForced)
		a.Role, a.Cause = s.loss.role, s.forced
		if s.loss.cause != nil {
			a.Cause = &Causes{s.forced, s.loss.cause}
		}
		s.mode = Forced
	}
}

// forget lets go of everything that a stopped pool does not need.
func (s *State[J, R, C, W]) forget() {
	s.members, s.idle, s.charges = nil, nil, nil
	s.queue = backlog[J, C]{}
	s.count = [lastPhase + 1]int{}
	s.cursor, s.drain, s.forced = 0, unscheduled, nil
	s.loss = blame{role: None}
}
