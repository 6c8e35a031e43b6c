package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cadre-go/cadre/timer"
)

// Sentinels, for errors.Is. All but ErrNoCapacity and ErrShared stand for an
// error struct that says more.
var (
	ErrConfig          = timer.ErrConfig // matched by every *ConfigError
	ErrSaturated       = errors.New("lease: too many wait")
	ErrAcquireTimeout  = errors.New("lease: waited too long")
	ErrClosed          = errors.New("lease: pool closed")
	ErrSchedulerFailed = errors.New("lease: pool failed")
	ErrHandleClosed    = errors.New("lease: handle closed")
	ErrNoCapacity      = errors.New("lease: no free permit") // of TryAcquire, and of Acquire in OnEvent
	ErrConnect         = errors.New("lease: connecting failed")
	ErrReleased        = errors.New("lease: released already")
	ErrStaleLease      = errors.New("lease: not held any more")
	ErrShared          = errors.New("lease: the resource is in use by another lease")
)

// ConfigError reports one bad field of a Config or one bad argument.
type ConfigError = timer.ConfigError

// SaturatedError reports that MaxWaiters callers wait already.
type SaturatedError struct {
	Pool  string
	Limit int // of waiters
}

func (e *SaturatedError) Error() string {
	return fmt.Sprintf("lease %q: %d callers wait already", e.Pool, e.Limit)
}

// Is makes the error match [ErrSaturated].
func (e *SaturatedError) Is(target error) bool { return target == ErrSaturated }

// AcquireTimeoutError reports that no permit came within AcquireTimeout. It is
// not context.DeadlineExceeded: the caller's own deadline has not passed.
type AcquireTimeoutError struct {
	Pool   string
	Limit  time.Duration // AcquireTimeout
	Waited time.Duration
}

func (e *AcquireTimeoutError) Error() string {
	return fmt.Sprintf("lease %q: no permit after %v (limit %v)", e.Pool, e.Waited, e.Limit)
}

// Is makes the error match [ErrAcquireTimeout].
func (e *AcquireTimeoutError) Is(target error) bool { return target == ErrAcquireTimeout }

// Timeout reports true. The error is no net.Error: it has no Temporary.
func (e *AcquireTimeoutError) Timeout() bool { return true }

// Stage is how far an Acquire had come when its context ended.
type Stage uint8

const (
	StageAdmission  Stage = iota // the context had ended before the call
	StageQueued                  // waiting for a permit
	StageConnecting              // waiting for the slot's Connect
	StageValidating              // waiting for the slot's Validate
	stages
)

func (s Stage) String() string {
	names := [stages]string{"admission", "queued", "connecting", "validating"}
	if s >= stages {
		return fmt.Sprintf("Stage(%d)", uint8(s))
	}
	return names[s]
}

// CanceledError reports that the context of an Acquire, or of a Sweep, ended. It
// matches that context's Err and its cause.
type CanceledError struct {
	Pool  string
	Stage Stage // of the Acquire
	Cause error // context.Cause

	err   error // ctx.Err()
	sweep bool  // of a Sweep, which has no stages
}

func newCanceled(pool string, stage Stage, ctx context.Context) *CanceledError {
	return &CanceledError{Pool: pool, Stage: stage, Cause: context.Cause(ctx), err: ctx.Err()}
}

func newSweepCanceled(pool string, ctx context.Context) *CanceledError {
	e := newCanceled(pool, StageAdmission, ctx)
	e.sweep = true
	return e
}

func (e *CanceledError) Error() string {
	if e.sweep {
		return fmt.Sprintf("lease %q: sweep canceled: %v", e.Pool, e.Cause)
	}
	return fmt.Sprintf("lease %q: acquire canceled (%v): %v", e.Pool, e.Stage, e.Cause)
}

// Is makes the error match the Err of the context.
func (e *CanceledError) Is(target error) bool { return e.err != nil && target == e.err }

// Unwrap returns the cause.
func (e *CanceledError) Unwrap() error { return e.Cause }

// ClosedError reports that the pool was closed.
type ClosedError struct{ Pool string }

func (e *ClosedError) Error() string { return fmt.Sprintf("lease %q: pool closed", e.Pool) }

// Is makes the error match [ErrClosed].
func (e *ClosedError) Is(target error) bool { return target == ErrClosed }

// SchedulerFailedError reports that the pool has failed for good: something
// panicked on its goroutine, or in a hook. It does not match [ErrClosed].
type SchedulerFailedError struct {
	Pool  string
	Where string // the hook, or the part of the scheduler
	Panic any    // what it panicked with; future.ErrGoexit if it called runtime.Goexit
	Stack []byte
}

func (e *SchedulerFailedError) Error() string {
	return fmt.Sprintf("lease %q: pool failed: panic in %s: %v", e.Pool, e.Where, e.Panic)
}

// Is makes the error match [ErrSchedulerFailed].
func (e *SchedulerFailedError) Is(target error) bool { return target == ErrSchedulerFailed }

// Unwrap returns the panic's value if that is an error.
func (e *SchedulerFailedError) Unwrap() error {
	err, _ := e.Panic.(error)
	if errors.Is(err, ErrClosed) { // never matched, whatever a hook panicked with
		return nil
	}
	return err
}

// HandleClosedError reports that the handle was closed.
type HandleClosedError struct {
	Pool   string
	Handle uint64
}

func (e *HandleClosedError) Error() string {
	return fmt.Sprintf("lease %q: handle %d is closed", e.Pool, e.Handle)
}

// Is makes the error match [ErrHandleClosed].
func (e *HandleClosedError) Is(target error) bool { return target == ErrHandleClosed }

// ConnectError reports that Connect failed. The slot stays empty, and the next
// Acquire of it connects again.
type ConnectError struct {
	Pool string
	Slot int
	Err  error
}

func (e *ConnectError) Error() string {
	return fmt.Sprintf("lease %q: slot %d: connect: %v", e.Pool, e.Slot, e.Err)
}

// Is makes the error match [ErrConnect].
func (e *ConnectError) Is(target error) bool { return target == ErrConnect }

// Unwrap returns Connect's error.
func (e *ConnectError) Unwrap() error { return e.Err }

// ReleasedError reports a release of a lease that was released before, by this
// copy or another, or of a zero Lease. Nothing was changed.
type ReleasedError struct {
	Pool string // empty: a zero Lease
	Slot int
}

func (e *ReleasedError) Error() string {
	return fmt.Sprintf("lease %q: the lease of slot %d was released already", e.Pool, e.Slot)
}

// Is makes the error match [ErrReleased].
func (e *ReleasedError) Is(target error) bool { return target == ErrReleased }

// StaleLeaseError reports the use of a lease that is not held any more. Value
// panics with it, Run and Detach return it.
type StaleLeaseError struct {
	Pool string // empty: a zero Lease
	Slot int
}

func (e *StaleLeaseError) Error() string {
	return fmt.Sprintf("lease %q: the lease of slot %d is not held any more", e.Pool, e.Slot)
}

// Is makes the error match [ErrStaleLease].
func (e *StaleLeaseError) Is(target error) bool { return target == ErrStaleLease }

// ShutdownError reports that a Shutdown's context ended while leases were out
// or resources not disposed of. It matches the context's Err and its cause.
type ShutdownError struct {
	Pool        string
	Cause       error
	Outstanding []LeaseInfo

	err error
}

func (e *ShutdownError) Error() string {
	return fmt.Sprintf("lease %q: shutdown incomplete: %d leases are out: %v", e.Pool, len(e.Outstanding), e.Cause)
}

// Is makes the error match the Err of the context.
func (e *ShutdownError) Is(target error) bool { return e.err != nil && target == e.err }

// Unwrap returns the cause.
func (e *ShutdownError) Unwrap() error { return e.Cause }

var (
	errNilContext  = errors.New("a context is required")
	errNilFunction = errors.New("a function is required")
)

func nilContext() error  { return &ConfigError{Field: "ctx", Reason: errNilContext} }
func nilFunction() error { return &ConfigError{Field: "fn", Reason: errNilFunction} }
