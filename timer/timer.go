package timer

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/timer/internal/schedule"
)

// Config configures a [Timer]. Its zero value is valid.
type Config struct {
	Name   string       // in errors and log records; "timer" if empty
	Clock  Clock        // nil: package time
	Logger *slog.Logger // nil: errors go to slog.Default(), the rest nowhere

	// Limit bounds the outstanding delays and tickers; 0 is no bound.
	Limit int
	// ShutdownTimeout bounds Close, on the timer's own Clock; 0 is 30 s.
	ShutdownTimeout time.Duration
}

const defaultShutdownTimeout = 30 * time.Second

func (cfg Config) validate() error {
	var errs []error
	if cfg.Limit < 0 {
		errs = append(errs, &ConfigError{Field: "Limit", Value: cfg.Limit, Reason: errNegative})
	}
	if cfg.ShutdownTimeout < 0 {
		errs = append(errs, &ConfigError{Field: "ShutdownTimeout", Value: cfg.ShutdownTimeout, Reason: errNegative})
	}
	return errors.Join(errs...)
}

// Timer fires delays and periodic functions from one goroutine. All methods may
// be called from any goroutine, callbacks of the timer's own delays included.
// The zero Timer is a closed one.
type Timer struct{ core *core } // nil in the zero Timer

// New returns a timer, or a [*ConfigError] for each bad field of cfg, joined.
// Whoever calls New closes the timer.
func New(cfg Config) (*Timer, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Timer{newCore(cfg)}, nil
}

// Delay returns a future that completes with the clock's time when d has
// passed, never earlier by the timer's clock. Delays fire in the order of their
// deadlines, those of one deadline in the order of the calls.
//
// A delay of zero has completed when Delay returns. All that can go wrong comes
// through the future: a [*ConfigError] for a nil ctx, [ErrNegativeDelay],
// [ErrClosed], [ErrLimit]; in a shutdown it fails with ErrClosed. The end of
// ctx cancels the future with ctx's cause. A canceled or abandoned delay is
// taken out of the timer before Cancel or Abandon returns; Cancel returns false
// if the delay has fired, is firing or was canceled before. A deadline more
// than 292 years after New never comes.
//
// Functions given to the future's OnSettle, Then and the like run on the
// timer's goroutine under the pprof labels of ctx; see the package
// documentation for what a slow one does to the others.
func (t *Timer) Delay(ctx context.Context, d time.Duration) *future.Future[time.Time] {
	if ctx == nil {
		return failed(nilContext())
	}
	if d < 0 {
		return failed(t.error(ErrNegativeDelay))
	}
	c, refusal := t.open(ctx)
	if refusal != nil {
		return refusal
	}
	if d == 0 {
		return future.Completed(c.source.time())
	}
	return c.delay(ctx, schedule.After(c.source.now(), int64(d)))
}

// At is [Timer.Delay] up to when. A time that has come has completed when At
// returns. A wall clock that is set after the call does not move the deadline.
func (t *Timer) At(ctx context.Context, when time.Time) *future.Future[time.Time] {
	if ctx == nil {
		return failed(nilContext())
	}
	c, refusal := t.open(ctx)
	if refusal != nil {
		return refusal
	}
	at, now := c.source.read()
	d := when.Sub(at)
	if d <= 0 {
		return future.Completed(at)
	}
	return c.delay(ctx, schedule.After(now, int64(d)))
}

// open returns the core, or the answer of a timer that is closed or to a
// context that has ended.
func (t *Timer) open(ctx context.Context) (*core, *future.Future[time.Time]) {
	c := t.core
	if c == nil || c.closed.Load() {
		return nil, failed(t.error(ErrClosed))
	}
	if ctx.Err() != nil {
		return nil, failed(&future.CanceledError{Cause: context.Cause(ctx)})
	}
	return c, nil
}

// error says which timer it was, if it has a name, and why.
func (t *Timer) error(reason error) error {
	if t.core == nil {
		return zeroTimer.error(reason)
	}
	return t.core.error(reason)
}

// zeroTimer stands in for the name of a zero Timer.
var zeroTimer = &core{name: "zero timer"}

// Len returns the number of outstanding entries: delays that are pending and
// tickers that are not stopped.
func (t *Timer) Len() int {
	if t.core == nil {
		return 0
	}
	t.core.mu.Lock()
	defer t.core.mu.Unlock()
	return t.core.lenLocked()
}
