package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cadre-go/cadre/timer"
)

// NoQueue as a QueueLimit makes a pool accept a task only if a worker is free
// for it.
const NoQueue = -1

// Config says how a [Pool] is made. The zero value of every field but Size is
// its default.
type Config struct {
	// Size is the number of workers: at least 1.
	Size int

	// QueueLimit is the number of accepted tasks that may wait for a worker.
	// 0 stands for 8*Size, NoQueue for none. Size and QueueLimit together
	// may come to 2,097,152.
	QueueLimit int

	// ShutdownTimeout bounds Close, by Clock. 0 stands for 30 s.
	ShutdownTimeout time.Duration

	// Name appears in errors, log records and the label of idle workers.
	// Empty stands for "executor".
	Name string

	// Logger gets the pool's records. If it is nil, errors and warnings go to
	// slog.Default() and the rest nowhere.
	Logger *slog.Logger

	// Clock is what delays, ages and ShutdownTimeout are measured by. nil
	// stands for package time. It is called on workers and on callers. With
	// a mock clock Close has no bound unless somebody moves the clock: in a
	// test whose tasks may be stuck, use Shutdown.
	Clock timer.Clock

	// OnDiscard is told of each accepted task that a shutdown discards, with
	// the task's context and a reason that matches ErrClosed, beside the WARN
	// record about it. It runs on a goroutine of the pool, one call at a time.
	OnDiscard func(ctx context.Context, reason error)
}

// withDefaults checks cfg and fills in what is zero.
func (cfg Config) withDefaults() (Config, error) {
	var errs []error
	bad := func(field string, value any, format string, args ...any) {
		errs = append(errs, &ConfigError{Field: field, Value: value, Reason: fmt.Errorf(format, args...)})
	}
	if cfg.Size < 1 {
		bad("Size", cfg.Size, "at least one worker is required")
	}
	if cfg.QueueLimit < NoQueue {
		bad("QueueLimit", cfg.QueueLimit, "must be positive, 0 for the default, or NoQueue")
	}
	if cfg.ShutdownTimeout < 0 {
		bad("ShutdownTimeout", cfg.ShutdownTimeout, "must not be negative")
	}
	switch size, limit := cfg.Size, cfg.QueueLimit; {
	case size > maxPlaces:
		bad("Size", size, "must not exceed %d", maxPlaces)
	case limit > maxPlaces-max(size, 0):
		bad("QueueLimit", limit, "must not exceed %d together with Size", maxPlaces)
	case limit == 0 && size > maxPlaces/9:
		bad("QueueLimit", limit, "the default of 8*Size exceeds %d together with Size", maxPlaces)
	}
	if len(errs) > 0 {
		return cfg, errors.Join(errs...)
	}
	switch cfg.QueueLimit {
	case 0:
		cfg.QueueLimit = 8 * cfg.Size
	case NoQueue:
		cfg.QueueLimit = 0
	}
	if cfg.ShutdownTimeout == 0 {
		cfg.ShutdownTimeout = 30 * time.Second
	}
	if cfg.Name == "" {
		cfg.Name = "executor"
	}
	return cfg, nil
}
