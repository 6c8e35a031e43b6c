package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/timer"
)

// Sentinels, for errors.Is.
var (
	ErrRejected  = errors.New("executor: task rejected") // matched by every *RejectedError
	ErrQueueFull = errors.New("queue full")              // the Reason of a rejection for want of room
	ErrClosed    = timer.ErrClosed                       // the Reason of a rejection after Shutdown
	ErrConfig    = timer.ErrConfig                       // matched by every *ConfigError
)

// ConfigError reports one bad field of a Config or one bad argument.
type ConfigError = timer.ConfigError

// RejectedError reports that an executor did not accept a task, which will
// never start. It matches [ErrRejected], its Reason and, where a context had
// ended, that context's Err. Several rejections may share one RejectedError.
type RejectedError struct {
	Pool       string
	Reason     error // ErrQueueFull, ErrClosed, or the cause of a context that had ended
	Size       int
	QueueLimit int

	ctxErr error // the Err of that context
}

func (e *RejectedError) Error() string {
	bounds := ""
	if e.Size > 0 {
		bounds = fmt.Sprintf(" (size %d, queue limit %d)", e.Size, e.QueueLimit)
	}
	return fmt.Sprintf("executor %q%s: task rejected: %v", e.Pool, bounds, e.Reason)
}

// Is makes every RejectedError match [ErrRejected].
func (e *RejectedError) Is(target error) bool {
	return target == ErrRejected || e.ctxErr != nil && target == e.ctxErr
}

// Unwrap returns the reason.
func (e *RejectedError) Unwrap() error { return e.Reason }

// ShutdownError reports a shutdown that did not drain within its bound. It
// matches its Cause and, where a context had ended, that context's Err.
type ShutdownError struct {
	Pool      string
	Cause     error      // why waiting ended
	Running   []TaskInfo // tasks that still run
	Discarded []TaskInfo // tasks that this call gave up before they started

	ctxErr error
}

func (e *ShutdownError) Error() string {
	return fmt.Sprintf("executor %q: shutdown incomplete: %d running, %d discarded: %v",
		e.Pool, len(e.Running), len(e.Discarded), e.Cause)
}

// Is makes the error match the Err of the context that ended.
func (e *ShutdownError) Is(target error) bool { return e.ctxErr != nil && target == e.ctxErr }

// Unwrap returns the cause.
func (e *ShutdownError) Unwrap() error { return e.Cause }

// TaskInfo describes one task of a pool.
type TaskInfo struct {
	Worker      int                  // index of the worker whose slot it runs on; -1 if it never ran
	Diagnostics diagnostics.Snapshot // of its scope
	For         time.Duration        // how long it has been running, by the pool's clock
}

// discardedError is what the future of a discarded task fails with.
type discardedError struct{ pool string }

func (e *discardedError) Error() string {
	return fmt.Sprintf("executor %q: task discarded at shutdown: %v", e.pool, ErrClosed)
}

func (e *discardedError) Unwrap() error { return ErrClosed }

var (
	errNilContext  = errors.New("a context is required")
	errNilTask     = errors.New("a task is required")
	errNilFunction = errors.New("a function is required")
	errNilExecutor = errors.New("an executor is required")
)

func badArgument(field string, reason error) error {
	return &ConfigError{Field: field, Reason: reason}
}

// badPost checks the arguments of a Post.
func badPost(ctx context.Context, noTask bool) error {
	if ctx == nil {
		return badArgument("ctx", errNilContext)
	}
	if noTask {
		return badArgument("task", errNilTask)
	}
	return nil
}

// badFunction checks the arguments of whatever takes a function to run.
func badFunction(ctx context.Context, noFn bool) error {
	if ctx == nil {
		return badArgument("ctx", errNilContext)
	}
	if noFn {
		return badArgument("fn", errNilFunction)
	}
	return nil
}
