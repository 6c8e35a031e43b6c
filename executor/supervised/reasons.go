package supervised

// RejectReason says why a job was not accepted. The zero value is invalid.
type RejectReason uint8

const (
	PoolStopping RejectReason = iota + 1 // shutdown has begun
	Unserved                             // no role can serve now or later
	BacklogFull                          // nobody is idle and the backlog is full
	IDsExhausted                         // no identity is left for the job or its assignment
	ContextDone                          // the submitter's context had ended
)

// ReturnReason says why an accepted job came back. The zero value is invalid.
type ReturnReason uint8

const (
	PoolShutdown           ReturnReason = iota + 1 // the pool is shutting down
	NoWorkers                                      // every role has been lost
	WorkerStopped                                  // its worker ended while it had the job
	AttemptsExhausted                              // that happened MaxAttempts times
	AssignmentIDsExhausted                         // it was never assigned and cannot be
	RetryRejected                                  // it was assigned before and cannot be again
	Contradiction                                  // it was completed by a worker that is said never to have seen it
)

// Stage says where a job was held when it came back. The zero value is invalid.
type Stage uint8

const (
	Queued   Stage = iota + 1 // in the backlog; it may have been assigned before
	Assigned                  // to a worker
)

// Severity says how bad a [Diagnostic] is. The zero value is invalid.
type Severity uint8

const (
	Notice Severity = iota + 1 // something that happens
	Fault                      // something that should not
)

// DiagnosticKind says what a [Diagnostic] is about. The zero value is invalid.
type DiagnosticKind uint8

const (
	AbnormalExit    DiagnosticKind = iota + 1 // notice: a worker ended, and not well; Cause has the panic
	WorkerRestarted                           // notice: a restart was admitted; Incarnation is the one that ended
	RoleRetired                               // notice: a role has lost its worker for good
	AlreadyStopped                            // notice: a worker had ended before it was asked to stop
	LateDelivery                              // notice: a delivery settled after shutdown began

	RefusedFact         // fault: something that the pool could not place
	StaleCompletion     // fault: Value is the result; also of a worker that completes what shutdown has returned
	DuplicateCompletion // fault: Value is the result
	ForeignCompletion   // fault: Value is the result
	ActivationFailed    // fault: Activate failed
	RecoveryFailed      // fault: Value is the worker that was prepared, if there was one
	StartRejected       // fault: Value is the worker
	ContradictoryFact   // fault: one of two facts that cannot both be true
	LateFact            // fault: something that came after shutdown began or after the end

	UnclaimedOutcome // notice: the future had been canceled; Value is the Completion or the *ReturnedError
)

var (
	rejectNames = [...]string{PoolStopping: "pool stopping", Unserved: "no workers", BacklogFull: "backlog full",
		IDsExhausted: "ids exhausted", ContextDone: "context done"}
	returnNames = [...]string{PoolShutdown: "pool shutdown", NoWorkers: "no workers", WorkerStopped: "worker stopped",
		AttemptsExhausted: "attempts exhausted", AssignmentIDsExhausted: "assignment ids exhausted",
		RetryRejected: "retry rejected", Contradiction: "contradiction"}
	stageNames    = [...]string{Queued: "queued", Assigned: "assigned"}
	severityNames = [...]string{Notice: "notice", Fault: "fault"}
	kindNames     = [...]string{AbnormalExit: "abnormal exit", WorkerRestarted: "worker restarted",
		RoleRetired: "role retired", AlreadyStopped: "already stopped", LateDelivery: "late delivery",
		RefusedFact: "refused fact", StaleCompletion: "stale completion", DuplicateCompletion: "duplicate completion",
		ForeignCompletion: "foreign completion", ActivationFailed: "activation failed",
		RecoveryFailed: "recovery failed", StartRejected: "start rejected",
		ContradictoryFact: "contradictory fact", LateFact: "late fact", UnclaimedOutcome: "unclaimed outcome"}
)

func name[T ~uint8](names []string, v T) string {
	if int(v) >= len(names) || names[v] == "" {
		return "invalid"
	}
	return names[v]
}

func (r RejectReason) String() string   { return name(rejectNames[:], r) }
func (r ReturnReason) String() string   { return name(returnNames[:], r) }
func (s Stage) String() string          { return name(stageNames[:], s) }
func (s Severity) String() string       { return name(severityNames[:], s) }
func (k DiagnosticKind) String() string { return name(kindNames[:], k) }
