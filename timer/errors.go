package timer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cadre-go/cadre/future"
)

// ConfigError reports one bad field of a [Config] or one bad argument.
type ConfigError = future.ConfigError

var (
	// ErrConfig is matched by every [ConfigError].
	ErrConfig = future.ErrConfig
	// ErrNegativeDelay is the failure of a Delay by less than nothing.
	ErrNegativeDelay = errors.New("negative delay")
	// ErrClosed is the failure of whatever a timer that was shut down, or
	// the zero Timer, is asked for, and of what was outstanding then.
	ErrClosed = errors.New("closed")
	// ErrLimit is the failure of an entry beyond [Config].Limit.
	ErrLimit = errors.New("limit of outstanding entries reached")
)

var (
	errNilContext  = errors.New("a context is required")
	errNilFunction = errors.New("a function is required")
	errNegative    = errors.New("it must not be negative")
	errInterval    = errors.New("it must be positive")
	errSyncInside  = errors.New("Sync on the timer's own goroutine would wait for itself")
)

func nilContext() error { return &ConfigError{Field: "ctx", Reason: errNilContext} }

// error says which timer it was and why.
func (c *core) error(reason error) error {
	return fmt.Errorf("timer %q: %w", c.name, reason)
}

// ended is the error of an operation under a context that has ended already.
func (c *core) ended(ctx context.Context) error {
	return fmt.Errorf("timer %q: the context has ended: %w", c.name, interrupted(ctx))
}

// interrupted returns the error of a wait that ctx, which has ended, cut short.
func interrupted(ctx context.Context) error {
	return &future.InterruptedError{Err: ctx.Err(), Cause: context.Cause(ctx)}
}

func failed(err error) *future.Future[time.Time] { return future.Failed[time.Time](err) }
