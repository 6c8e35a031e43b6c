package timer

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cadre-go/cadre/internal/frame"
)

// Ticker is a periodic function. All methods may be called from any goroutine,
// the function's own run included. The zero Ticker is a stopped one.
type Ticker struct{ ticks ticks } // ticks.core is nil in the zero Ticker

// Every calls fn on the timer's goroutine at a fixed rate: at the time of the
// call plus interval, plus two intervals and so on, by the timer's clock, until
// [Ticker.Stop], the end of ctx or the timer's shutdown.
//
// fn gets ctx with a diagnostic scope of its own for each run, which starts as
// ctx's at this call, and runs under ctx's pprof labels. ctx is not canceled by
// Stop or Shutdown: a run in progress goes on. There is one run at a time. A
// tick that comes while a run is in progress, or that has gone by when the
// goroutine gets to it and is not the latest, is counted in [Ticker.Missed] and
// not made up for. An error, a panic or a Goexit is reported to the timer's
// logger, and the next run happens all the same; to end it, fn calls Stop.
//
// The error is a [*ConfigError] for each bad argument, [ErrClosed], [ErrLimit],
// or says that ctx has ended.
func (t *Timer) Every(ctx context.Context, interval time.Duration, fn func(context.Context) error) (*Ticker, error) {
	err := badTicks(ctx, interval)
	if fn == nil {
		err = errors.Join(err, &ConfigError{Field: "fn", Reason: errNilFunction})
	}
	if err != nil {
		return nil, err
	}
	c, attrs := t.core, frame.Capture(ctx)
	return t.every(ctx, interval, func(done func()) bool {
		defer done()
		c.runOnce(ctx, attrs, fn)
		return true
	})
}

// runOnce makes one run of a periodic function.
func (c *core) runOnce(ctx context.Context, attrs *frame.Attrs, fn func(context.Context) error) {
	var own context.Context
	c.guarded(ctx, func() context.Context { return own }, func() {
		own = frame.WithScope(ctx, attrs)
		if err := fn(own); err != nil {
			c.log.Error(own, "timer: a periodic function failed",
				slog.String("timer", c.name), slog.Any("error", err))
		}
	})
}

func badTicks(ctx context.Context, interval time.Duration) error {
	var errs []error
	if ctx == nil {
		errs = append(errs, nilContext())
	}
	if interval <= 0 {
		errs = append(errs, &ConfigError{Field: "interval", Value: interval, Reason: errInterval})
	}
	return errors.Join(errs...)
}

// Stop ends the ticks: no run begins after Stop has returned, and the timer's
// Len does not count the ticker any more. It does not wait for a run in
// progress; [Ticker.Done] tells when that has ended.
func (t *Ticker) Stop() {
	if t.ticks.core != nil {
		t.ticks.end()
	}
}

// Done returns a channel that is closed when the ticker is stopped and its last
// run has ended. The zero Ticker's is closed.
func (t *Ticker) Done() <-chan struct{} {
	if t.ticks.core == nil {
		return closed
	}
	return t.ticks.done
}

// Runs returns how many runs have begun.
func (t *Ticker) Runs() uint64 {
	c := t.ticks.core
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return t.ticks.series.Runs()
}

// Missed returns how many ticks have become no run: those that a run, also one
// still in progress, has overlapped, those that the clock jumped over, and
// those that found no place to run. Together with Runs these are all the ticks
// that were due; one that is due now and can still become a run is in neither.
func (t *Ticker) Missed() uint64 {
	c := t.ticks.core
	if c == nil {
		return 0
	}
	now := c.source.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	t.ticks.series.Look(now)
	return t.ticks.series.Missed()
}
