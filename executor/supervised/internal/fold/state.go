package fold

import "time"

// Mode is where a pool stands in its life. Stopped and Forced are for good.
type Mode uint8

const (
	Serving  Mode = iota + 1
	Draining      // shutdown has begun: nothing is admitted, dispatched or restarted
	Stopped       // every role has been released
	Forced        // the waiting was given up; what was unresolved stays on record
)

// Phase is where a role's worker stands. In a drain it is where the role stood
// when that began.
type Phase uint8

const (
	Starting        Phase = iota + 1 // its start has not settled
	Waiting                          // for an activation slot
	Dispatched                       // its activation was ordered
	Activating                       // its activation has begun
	Idle                             // it can take a job
	Busy                             // it has an assignment
	Stopping                         // the pool asked it to stop, to restart it
	AwaitingFactory                  // another preparation is in progress
	Preparing                        // the factory is making its next worker
	Scheduling                       // its restart delay has not settled
	Delayed                          // its restart delay is running
	Retired                          // it has lost its worker for good

	lastPhase = Retired
)

// holding is what a member holds until it can be acted on.
type holding uint8

const (
	accepted  holding = 1 << iota // the delivery was accepted
	completed                     // a completion
	exited                        // the exit
	exitFirst                     // the exit came before the completion
	stopped                       // the stop request has settled
	begun                         // the preparation has begun, or, in a drain, the activation
)

// Missing is what has not arrived of a role when the pool drains.
type Missing uint8

const (
	MissingStart Missing = 1 << iota
	MissingActivation
	MissingStop
	MissingExit
	MissingPreparation
	MissingTimer
)

// member is one role. Only what its phase speaks of means anything; the rest is
// zero, but for what the current incarnation has been.
type member[J, R, C, W any] struct {
	phase       Phase
	holds       holding
	missing     Missing // Invariant: zero unless the pool drains or was forced
	incarnation Incarnation
	recovery    counter[uint64]

	worker W             // the incarnation's, or the one prepared to be the next
	exit   Exit          // if holds has exited, and until the role starts again
	exitAt time.Duration // when that was
	cause  error         // why the pool asked the incarnation to stop

	// Of a busy role.
	assignment AssignmentID
	record     record[J, C]
	result     R // if holds has completed

	stop  StopID
	prep  PrepID
	timer TimerID
}

// drainTimer is how far the timer that bounds the drain has come.
type drainTimer uint8

const (
	unscheduled drainTimer = iota
	unsettled
	running
	over
)

// State is a pool, as far as it decides anything. It belongs to one caller at a
// time.
type State[J, R, C, W any] struct {
	cfg  Config
	mode Mode

	// Invariant: until Stopped, one member for each role, in declaration order.
	members []member[J, R, C, W]
	count   [lastPhase + 1]int // members in each phase
	idle    roleset            // of the members in phase Idle
	cursor  int                // where the search for an idle role begins
	queue   backlog[J, C]
	charges charges

	// Of a drain.
	unresolved int // members that miss something
	drain      drainTimer
	forced     error // why the waiting is given up; nil if it is not
	loss       blame // why it began; its role is None if it was asked for

	jobs         counter[JobID]
	ordinals     counter[Ordinal]
	assignments  counter[AssignmentID]
	incarnations counter[Incarnation]
	preps        counter[PrepID]
	timers       counter[TimerID]
	stops        counter[StopID]

	accepted, rejected, settled uint64

	// Of a step in progress; nil, zero and true between steps.
	out    []Action[J, R, C, W]
	base   int  // where the step's actions begin
	sorted bool // whether out is in the order of the kinds so far
}

// blame is a role and what became of it.
type blame struct {
	role  int
	cause error
}

// New returns the state of a pool whose roles have been given workers, in
// declaration order, and the actions that start them. It returns a nil state
// and the first role that no incarnation could be issued for, if there is one.
func New[J, R, C, W any](cfg Config, workers []W) (*State[J, R, C, W], []Action[J, R, C, W], int) {
	first := cfg.First
	s := &State[J, R, C, W]{
		cfg: cfg, mode: Serving,
		members:      make([]member[J, R, C, W], cfg.Roles),
		idle:         newRoleset(cfg.Roles),
		loss:         blame{role: None},
		jobs:         from(first.Job),
		ordinals:     from(first.Ordinal),
		assignments:  from(first.Assignment),
		incarnations: from(first.Incarnation),
		preps:        from(first.Prep),
		timers:       from(first.Timer),
		stops:        from(first.Stop),
		sorted:       true,
	}
	for role := range s.members {
		m := &s.members[role]
		m.recovery = from(first.Recovery)
		id, ok := s.incarnations.issue()
		if !ok {
			return nil, nil, role
		}
		m.worker = workers[role]
		s.start(role, id)
	}
	out := s.out
	s.out = nil
	return s, out, None
}

// enter moves a role to a phase.
func (s *State[J, R, C, W]) enter(role int, to Phase) {
	m := &s.members[role]
	if m.phase == Idle {
		s.idle.remove(role)
	}
	if m.phase != 0 {
		s.count[m.phase]--
	}
	m.phase = to
	s.count[to]++
	if to == Idle {
		s.idle.add(role)
	}
}

// member returns the role that an event names and that runs, or ran last, the
// incarnation that it names.
func (s *State[J, R, C, W]) member(ev *Event[J, R, C, W]) *member[J, R, C, W] {
	if ev.Role < 0 || ev.Role >= len(s.members) {
		return nil
	}
	if m := &s.members[ev.Role]; m.incarnation == ev.Incarnation {
		return m
	}
	return nil
}
