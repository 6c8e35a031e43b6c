package lease

import (
	"context"
	"errors"
)

// Run calls fn with the resource, and marks it dirty unless fn's return says
// that it is sound: with nil, or with an error that KeepOn accepts and that is
// not about the end of ctx. A panic or Goexit of fn makes it dirty and goes on.
// The lease is armed while fn runs, as by Arm: released meanwhile, by fn or by
// somebody else, it is dirty.
//
// It returns fn's error, a [*StaleLeaseError] if the lease is not held, or a
// [*ConfigError] for a nil ctx or fn.
func (l Lease[R]) Run(ctx context.Context, fn func(context.Context, R) error) error {
	switch {
	case ctx == nil:
		return nilContext()
	case fn == nil:
		return nilFunction()
	case !l.arm(1):
		return l.stale()
	}
	cause, sound := errUnfinished, false
	defer func() {
		if !sound {
			l.MarkDirty(cause)
		}
		l.arm(-1)
	}()
	err := fn(ctx, l.inc.value)
	if err != nil {
		cause = err
	}
	sound = err == nil || !interruption(ctx, err) && l.permit.core.keep(err)
	return err
}

// errUnfinished is the cause of a Discard event for a function that panicked or
// exited.
var errUnfinished = errors.New("the operation did not return")

// interruption reports whether err tells of the end of ctx: whatever KeepOn
// says about it, the operation was cut off.
func interruption(ctx context.Context, err error) bool {
	end := ctx.Err()
	return end != nil && (errors.Is(err, end) || errors.Is(err, context.Cause(ctx)))
}

// keep asks KeepOn.
func (c *core[R]) keep(err error) (sound bool) {
	if c.cfg.KeepOn == nil {
		return false
	}
	failed := c.hook("KeepOn", func() { sound = c.cfg.KeepOn(err) })
	return sound && failed == nil
}
