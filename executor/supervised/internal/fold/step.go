package fold

import "slices"

// Step applies ev and appends to out what is to be done about it, in the order
// in which it is to be done.
//
// It may be refused, as the verdict says; then nothing has changed, and the one
// action is a diagnostic. The state keeps nothing of ev and out but the opaque
// values it is given.
func (s *State[J, R, C, W]) Step(ev *Event[J, R, C, W], out []Action[J, R, C, W]) (Verdict, []Action[J, R, C, W]) {
	s.out, s.base = out, len(out)
	var v Verdict
	switch s.mode {
	case Serving:
		v = s.serve(ev)
	case Draining:
		v = s.drained(ev)
	default:
		v = s.ended(ev)
	}
	if s.mode == Draining {
		s.conclude()
	}
	out = s.out
	s.out = nil
	if !s.sorted {
		slices.SortStableFunc(out[s.base:], func(a, b Action[J, R, C, W]) int {
			return int(class[a.Kind]) - int(class[b.Kind])
		})
		s.sorted = true
	}
	s.base = 0
	return v, out
}

// serve applies ev while the pool serves.
func (s *State[J, R, C, W]) serve(ev *Event[J, R, C, W]) Verdict {
	v := Refused
	switch ev.Kind {
	case Submit:
		return s.submit(ev) // makes nobody idle
	case Completed:
		v = s.completed(ev)
	case DeliveryAccepted:
		v = s.deliveryAccepted(ev)
	case DeliveryRejected:
		v = s.deliveryRejected(ev)
	case Shutdown:
		s.shutdown(blame{role: None})
		return Applied
	case Started:
		v = s.started(ev)
	case StartRejected:
		v = s.startRejected(ev)
	case ActivationBegun:
		v = s.activationBegun(ev)
	case Activated, ActivationFailed:
		v = s.activationSettled(ev)
	case StopSettled:
		v = s.stopSettled(ev)
	case Exited:
		v = s.exited(ev)
	case PreparationBegun:
		v = s.preparationBegun(ev)
	case PreparationEnded:
		v = s.preparationEnded(ev)
	case TimerScheduled, TimerRejected, TimerFired:
		v = s.restartTimer(ev)
	}
	switch v {
	case Applied:
		s.settle()
	case Outrun:
	default:
		s.refuse(ev, v)
	}
	return v
}

// settle does what a step that changed a role ends with. The factory comes
// first: a role that it cannot serve is one less that jobs can wait for.
func (s *State[J, R, C, W]) settle() {
	if s.mode == Serving {
		s.engageFactory()
	}
	if s.mode == Serving {
		s.grantSlots()
		s.fill()
		s.strand()
	}
}

// emit appends an action, to be filled in at once: the next call may move it.
func (s *State[J, R, C, W]) emit(kind ActionKind) *Action[J, R, C, W] {
	n := len(s.out)
	if n > s.base && class[s.out[n-1].Kind] > class[kind] {
		s.sorted = false
	}
	if n == cap(s.out) {
		s.out = slices.Grow(s.out, max(n, 4))
	}
	s.out = s.out[:n+1] // and no append, which would make the action twice
	a := &s.out[n]
	*a = Action[J, R, C, W]{}
	a.Kind = kind
	return a
}

// withdraw takes back an action about a role that this step has emitted, and
// reports whether there was one.
func (s *State[J, R, C, W]) withdraw(kind ActionKind, role int) bool {
	for i := s.base; i < len(s.out); i++ {
		if s.out[i].Kind == kind && s.out[i].Role == role {
			s.out = slices.Delete(s.out, i, i+1)
			return true
		}
	}
	return false
}

// about emits an action that concerns a role's incarnation.
func (s *State[J, R, C, W]) about(kind ActionKind, role int) *Action[J, R, C, W] {
	a := s.emit(kind)
	a.Role, a.Incarnation = role, s.members[role].incarnation
	return a
}

// refuse reports an event that changed nothing.
func (s *State[J, R, C, W]) refuse(ev *Event[J, R, C, W], v Verdict) {
	a := s.emit(Fault)
	a.Diagnosis, a.Event = RefusedFact, ev.Kind
	if s.mode != Serving {
		a.Diagnosis = LateFact
	}
	a.Role, a.Incarnation, a.Assignment = ev.Role, ev.Incarnation, ev.Assignment
	a.Prep, a.Timer, a.Stop = ev.Prep, ev.Timer, ev.Stop
	a.Exit, a.Cause = ev.Exit, ev.Cause
	switch ev.Kind {
	case Completed:
		a.Result, a.Carries = ev.Result, CarriesResult
		switch v {
		case Stale:
			a.Diagnosis = StaleCompletion
		case Duplicate:
			a.Diagnosis = DuplicateCompletion
		default:
			a.Diagnosis = ForeignCompletion
		}
	case PreparationEnded:
		if ev.Ending == Prepared {
			a.Worker, a.Carries = ev.Worker, CarriesWorker
		}
	}
}

// ended applies ev to a pool that has ended.
func (s *State[J, R, C, W]) ended(ev *Event[J, R, C, W]) Verdict {
	v := Refused
	switch ev.Kind {
	case Submit:
		return s.reject(ev, PoolStopping)
	case Shutdown:
		return Applied // and says no more than it did
	case Completed:
		v = s.judge(ev)
	}
	s.refuse(ev, v)
	return v
}
