package supervised

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cadre-go/cadre/timer"
)

// Sentinels, for errors.Is.
var (
	ErrConfig = timer.ErrConfig // matched by every *ConfigError

	// Why a job was rejected.
	ErrPoolStopping           = errors.New("pool is stopping")
	ErrNoWorkers              = errors.New("no role can serve now or later")
	ErrBacklogFull            = errors.New("backlog full")
	ErrJobIDsExhausted        = errors.New("job ids exhausted")
	ErrAssignmentIDsExhausted = errors.New("assignment ids exhausted")
	ErrSubmitContext          = errors.New("the submitter's context has ended")

	// Why a completion was refused.
	ErrDuplicateCompletion = errors.New("the assignment has been completed before")
	ErrStaleAssignment     = errors.New("the assignment has ended")
	ErrForeignAssignment   = errors.New("no such assignment of this pool or worker")

	// What a worker meets.
	ErrNotCompleted  = errors.New("the assignment has not been completed")
	ErrInboxClosed   = errors.New("inbox closed")
	ErrStopRequested = errors.New("the pool asked the worker to stop") // the cause of its context

	// What a factory can run into.
	ErrNilWorker          = errors.New("the factory returned no worker and no error")
	ErrFactoryUnavailable = errors.New("the factory is unavailable") // a factory's error may wrap it
)

// endedContext is why a job is rejected whose submitter's context has ended.
type endedContext struct{ err, cause error }

func (e *endedContext) Error() string {
	standard := e.err == context.Canceled || e.err == context.DeadlineExceeded // and so can be compared
	if e.cause == nil || standard && e.cause == e.err {
		return fmt.Sprintf("%v: %v", ErrSubmitContext, e.err)
	}
	return fmt.Sprintf("%v: %v: %v", ErrSubmitContext, e.err, e.cause)
}

// Unwrap returns the sentinel, and what the context says.
func (e *endedContext) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrSubmitContext, e.err}
	}
	return []error{ErrSubmitContext, e.err, e.cause}
}

// because ends a message. Package fmt contains an Error that panics.
func because(cause error) string {
	if cause == nil {
		return ""
	}
	return fmt.Sprintf(": %v", cause)
}

// ConfigError reports one bad field of a Config or one bad argument.
type ConfigError = timer.ConfigError

// RejectedError reports that a job was not accepted: nothing of it is left in
// the pool. It matches the sentinel that its Cause is.
type RejectedError[J any] struct {
	Pool   string
	Job    J // unchanged
	Reason RejectReason
	Cause  error
}

func (e *RejectedError[J]) Error() string {
	return fmt.Sprintf("supervised %q: job rejected: %v", e.Pool, e.Cause)
}

// Unwrap returns the cause.
func (e *RejectedError[J]) Unwrap() error { return e.Cause }

// ReturnedError is the failure of an accepted job's future: the job was not
// completed, and comes back.
type ReturnedError[J any] struct {
	Pool     string
	ID       JobID
	Stage    Stage
	Role     Role // that it was assigned to last; empty if it never was
	Job      J
	Reason   ReturnReason
	Attempts int   // how often a worker may have had it
	Cause    error // why its worker ended, if that is the reason
}

func (e *ReturnedError[J]) Error() string {
	where := e.Stage.String()
	if e.Role != "" {
		where += fmt.Sprintf(", role %q", e.Role)
	}
	return fmt.Sprintf("supervised %q: job %d returned (%s, %d attempts): %v%s",
		e.Pool, e.ID, where, e.Attempts, e.Reason, because(e.Cause))
}

// Unwrap returns the cause.
func (e *ReturnedError[J]) Unwrap() error { return e.Cause }

// RosterError reports that [New] could not get a worker for each role. Nothing
// was started; the workers that were prepared belong to the caller.
type RosterError[J, R any] struct {
	Pool      string
	Role      Role
	Index     int
	Prepared  []Worker[J, R] // for the roles before, in order
	Untouched []Role         // the roles after
	Cause     error          // the factory's error, ErrNilWorker or a *future.PanicError
}

func (e *RosterError[J, R]) Error() string {
	return fmt.Sprintf("supervised %q: no worker for role %q (index %d): %v", e.Pool, e.Role, e.Index, e.Cause)
}

// Unwrap returns the cause.
func (e *RosterError[J, R]) Unwrap() error { return e.Cause }

// CompletionError reports that a completion was refused. The result is in the
// diagnostic that goes with it.
type CompletionError struct {
	Pool   string // empty for a zero Assignment
	Job    JobID
	Role   Role
	Reason error // ErrDuplicateCompletion, ErrStaleAssignment or ErrForeignAssignment
}

func (e *CompletionError) Error() string {
	if e.Job == 0 {
		return fmt.Sprintf("supervised %q: completion refused: %v", e.Pool, e.Reason)
	}
	return fmt.Sprintf("supervised %q: completion of job %d by role %q refused: %v", e.Pool, e.Job, e.Role, e.Reason)
}

// Unwrap returns the reason.
func (e *CompletionError) Unwrap() error { return e.Reason }

// StoppedError reports that the pool began to shut down by itself, and has
// stopped in order.
type StoppedError struct {
	Pool  string
	Role  Role  // that was lost
	Cause error // why; nil if its worker had ended normally
}

func (e *StoppedError) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("supervised %q: pool stopped: role %q ended", e.Pool, e.Role)
	}
	return fmt.Sprintf("supervised %q: pool stopped: role %q: %v", e.Pool, e.Role, e.Cause)
}

// Unwrap returns the cause.
func (e *StoppedError) Unwrap() error { return e.Cause }

// BudgetError is why a restart was denied.
type BudgetError struct {
	Pool   string
	Active int // restarts within the window
	Max    int
	Window time.Duration
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("supervised %q: restart budget spent: %d of %d within %v", e.Pool, e.Active, e.Max, e.Window)
}

// Unresolved is a role that a forced shutdown gave up on.
type Unresolved struct {
	Role        Role
	Incarnation Incarnation
	Phase       string   // where it stood when shutdown began
	Missing     []string // what has not arrived of it
}

// ForcedRetirementError reports that a shutdown was not waited for to its end.
// Every job has its outcome all the same. Nothing that it lists has stopped,
// as far as is known; [Pool.Done] tells when all has.
type ForcedRetirementError struct {
	Pool       string
	Unresolved []Unresolved // in declaration order
	Cause      error
}

func (e *ForcedRetirementError) Error() string {
	msg := fmt.Sprintf("supervised %q: shutdown forced with unresolved roles:", e.Pool)
	for _, u := range e.Unresolved {
		msg += fmt.Sprintf(" %s (incarnation %d, %s, missing %v)", u.Role, u.Incarnation, u.Phase, u.Missing)
	}
	return msg + because(e.Cause)
}

// Unwrap returns the cause.
func (e *ForcedRetirementError) Unwrap() error { return e.Cause }
