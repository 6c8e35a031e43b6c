package future

import (
	"context"
	"errors"
	"fmt"
)

// ErrGoexit is the failure of an operation whose function called
// [runtime.Goexit], as a failing test's FailNow does.
var ErrGoexit = errors.New("future: function called runtime.Goexit")

// ErrNoValue is the failure of an operation that ended well without a value:
// [Any] and [Race] of no futures, and every method of a zero [Future].
var ErrNoValue = errors.New("future: no value")

// ErrConfig is matched by every [ConfigError].
var ErrConfig = errors.New("invalid configuration or argument")

// ConfigError reports one bad field of a Config or one bad argument. Packages
// above this one use it too.
type ConfigError struct {
	Field  string // the field or argument
	Value  any    // what it held
	Reason error  // what is wrong with it
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s is %v: %v", e.Field, e.Value, e.Reason)
}

// Is makes every ConfigError match [ErrConfig].
func (e *ConfigError) Is(target error) bool { return target == ErrConfig }

// Unwrap returns the reason.
func (e *ConfigError) Unwrap() error { return e.Reason }

var (
	errNilContext  = errors.New("a context is required")
	errNilFunction = errors.New("a function is required")
	errNilFuture   = errors.New("a future is required")
)

func nilContext() error  { return &ConfigError{"ctx", nil, errNilContext} }
func nilFunction() error { return &ConfigError{"fn", nil, errNilFunction} }
func nilFuture() error   { return &ConfigError{"future", nil, errNilFuture} }

// CanceledError is the outcome of a future that was canceled or abandoned.
// errors.Is(err, context.Canceled) holds.
type CanceledError struct {
	Cause error // what Cancel or Abandon was given, or the cause of the context that ended
}

func (e *CanceledError) Error() string {
	if e.Cause == nil || e.Cause == context.Canceled {
		return "future: canceled"
	}
	return fmt.Sprintf("future: canceled: %v", e.Cause)
}

// Is makes every CanceledError match [context.Canceled].
func (e *CanceledError) Is(target error) bool { return target == context.Canceled }

// Unwrap returns the cause.
func (e *CanceledError) Unwrap() error { return e.Cause }

// InterruptedError reports that a context ended before what its holder waited
// for had happened. The operation itself goes on.
type InterruptedError struct {
	Err   error // ctx.Err()
	Cause error // context.Cause(ctx)
}

// interrupted returns the error of a wait that ctx, which has ended, cut
// short.
func interrupted(ctx context.Context) error {
	return &InterruptedError{ctx.Err(), context.Cause(ctx)}
}

func (e *InterruptedError) Error() string {
	if e.Cause == nil || errors.Is(e.Err, e.Cause) { // errors of any type may be uncomparable
		return fmt.Sprintf("future: wait interrupted: %v", e.Err)
	}
	return fmt.Sprintf("future: wait interrupted: %v: %v", e.Err, e.Cause)
}

// Unwrap returns both errors that are set.
func (e *InterruptedError) Unwrap() []error {
	errs := make([]error, 0, 2)
	for _, err := range []error{e.Err, e.Cause} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// PanicError is the failure of an operation whose function panicked.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // the goroutine's stack, the panicking function's frames included
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
