package fold

import "time"

// EventKind says what an [Event] reports, and with it which fields it uses.
// All but Submit and Shutdown are facts: something that became of an action.
type EventKind uint8

const (
	Submit   EventKind = iota + 1 // Job, Customer: somebody wants a job done
	Shutdown                      // somebody wants the pool to end

	Started       // Role, Incarnation, Activates: the goroutine is there
	StartRejected // Role, Incarnation, Cause: it never will be

	ActivationBegun  // Role, Incarnation
	Activated        // Role, Incarnation
	ActivationFailed // Role, Incarnation, Cause

	DeliveryAccepted // the assignment's ids: the worker took it
	DeliveryRejected // the assignment's ids, Cause: the worker never saw it
	Completed        // the assignment's ids, Result, Used

	StopSettled // Role, Incarnation, Stop, Already
	Exited      // Role, Incarnation, Exit, At: the goroutine has ended

	PreparationBegun // Role, Prep: the factory was entered
	PreparationEnded // Role, Prep, Ending; Worker or Cause

	TimerScheduled // Role unless it is the drain's, Timer
	TimerRejected  // Role unless it is the drain's, Timer, Cause
	TimerFired     // Role unless it is the drain's, Timer

	lastEvent = TimerFired
)

// ExitKind says how a worker's goroutine ended.
type ExitKind uint8

const (
	Normal   ExitKind = iota + 1 // Serve returned nil
	Failed                       // Serve returned an error
	Panicked                     // it panicked
	Goexited                     // it called runtime.Goexit
)

// Exit is how a worker's goroutine ended, and why.
type Exit struct {
	Kind  ExitKind
	Cause error // nil if Kind is Normal
}

// Ending says how a preparation ended.
type Ending uint8

const (
	Prepared        Ending = iota + 1 // the factory returned a worker
	WorkerRejected                    // it returned an error
	FactoryRejected                   // it is not available
	Lost                              // it panicked, called Goexit or returned nothing
	NotAttempted                      // it was never entered
)

// Event is one thing that happened. An assignment's ids are Pool, Role,
// Incarnation and Assignment.
//
// It is a struct and not an interface with a type for each kind, because a
// value in an interface costs an allocation.
type Event[J, R, C, W any] struct {
	Kind      EventKind
	Ending    Ending
	Activates bool // the worker has something to do before it can serve
	Used      bool // the assignment's authority had been used before
	Already   bool // the worker had stopped before it was asked to

	Role        int
	Pool        uint64
	Incarnation Incarnation
	Assignment  AssignmentID
	Prep        PrepID
	Timer       TimerID
	Stop        StopID
	At          time.Duration // since a fixed instant; never decreases

	Job      J
	Customer C
	Result   R
	Worker   W
	Exit     Exit
	Cause    error
}

// Verdict is what became of an event.
type Verdict uint8

const (
	Applied   Verdict = iota + 1 // it was recorded
	Refused                      // it does not match, and nothing changed
	Stale                        // refused: the assignment ended another way
	Duplicate                    // refused: the assignment has been used
	Foreign                      // refused: no such assignment of this pool or incarnation
	Outrun                       // a completion held behind an exit, to be reported as stale when the delivery settles
)
