package fold

import "time"

// ActionKind says what the shell has to do, and with it which fields an
// [Action] uses. Their order is the order in a step's list.
type ActionKind uint8

const (
	Start             ActionKind = iota + 1 // Role, Incarnation, Worker
	BeginActivation                         // Role, Incarnation
	Accept                                  // Job, Customer
	Reject                                  // Payload, Customer, Rejection
	Revoke                                  // Role, Incarnation, Assignment, Job, Customer
	Complete                                // an outcome: Role, Job, Customer, Result, Attempts
	ReturnQueued                            // an outcome: Role or None, Job, Customer, Payload, Reason, Attempts
	ReturnAssigned                          // an outcome: as ReturnQueued, and Cause
	Deliver                                 // Role, Incarnation, Assignment, Job, Customer, Payload
	RequestStop                             // Role, Incarnation, Stop, Cause
	CancelPreparation                       // Role, Prep
	Prepare                                 // Role, Prep
	Schedule                                // Role unless it is the drain's, Timer, Delay
	CancelTimer                             // Role unless it is the drain's, Timer
	Discard                                 // Role, Worker, Cause
	Notice                                  // Diagnosis and what it is about
	Fault                                   // Diagnosis and what it is about
	RetireStopped                           // Role or None, Cause: why it began, nil if it was asked to
	RetireForced                            // Role or None, Cause: why it was forced

	lastAction = RetireForced
)

// class gives the kinds that may stand in any order among themselves one
// place: cancelling and making preparations, and the outcomes, and so on.
var class = [lastAction + 1]uint8{
	Start: 1, BeginActivation: 2, Accept: 3, Reject: 3, Revoke: 4,
	Complete: 5, ReturnQueued: 5, ReturnAssigned: 5, Deliver: 6, RequestStop: 7,
	CancelPreparation: 8, Prepare: 8, Schedule: 9, CancelTimer: 9, Discard: 10,
	Notice: 11, Fault: 12, RetireStopped: 13, RetireForced: 13,
}

// Rejection says why a job was not accepted.
type Rejection uint8

const (
	PoolStopping Rejection = iota + 1
	Unserved
	BacklogFull
	JobIDsExhausted
	AssignIDsExhausted
)

// Reason says why an accepted job is returned.
type Reason uint8

const (
	PoolShutdown Reason = iota + 1
	NoWorkers
	WorkerStopped
	AttemptsExhausted
	AssignmentIDsExhausted
	RetryRejected
	Contradiction
)

// Diagnosis says what a notice or a fault is about.
type Diagnosis uint8

const (
	AbnormalExit   Diagnosis = iota + 1 // notice: Exit, and Cause if the pool had asked for it
	Restarted                           // notice: a restart was admitted
	RoleRetired                         // notice: Cause
	AlreadyStopped                      // notice: a worker had stopped before it was asked to
	LateDelivery                        // notice: a delivery settled in a drain
	RefusedFact                         // fault: Event
	StaleCompletion
	DuplicateCompletion
	ForeignCompletion
	ActivationFault
	RecoveryFault // fault: Exit, Cause, and the unused worker
	StartFault    // fault: Cause, and Exit if one was held
	ContradictoryFact
	LateFact // fault: Event, after shutdown began or after the end
)

// Carries says which opaque value of a diagnosis means something.
type Carries uint8

const (
	CarriesNothing Carries = iota
	CarriesResult
	CarriesJob
	CarriesWorker
)

// Action is one thing for the shell to do.
type Action[J, R, C, W any] struct {
	Kind      ActionKind
	Diagnosis Diagnosis
	Rejection Rejection
	Reason    Reason
	Event     EventKind
	Carries   Carries

	Role        int
	Incarnation Incarnation
	Assignment  AssignmentID
	Job         JobID
	Prep        PrepID
	Timer       TimerID
	Stop        StopID
	Delay       time.Duration
	Attempts    int // assignments of the job so far, less rejected deliveries

	Payload  J
	Customer C
	Result   R
	Worker   W
	Exit     Exit
	Cause    error
}

// Outcome reports whether the action ends a job.
func (k ActionKind) Outcome() bool {
	return k == Complete || k == ReturnQueued || k == ReturnAssigned
}
