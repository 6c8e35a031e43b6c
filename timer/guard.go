package timer

import (
	"context"
	"log/slog"
	"runtime/debug"
	"runtime/pprof"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/report"
)

// guarded calls foreign code on a goroutine of the timer's, under the labels of
// ctx. A panic is reported and ends there; a Goexit is reported and goes on.
// The record carries the context that record returns.
func (c *core) guarded(ctx context.Context, record func() context.Context, fn func()) {
	returned := false
	defer func() {
		// Also when the report itself does not return.
		defer pprof.SetGoroutineLabels(context.Background())
		if returned {
			return
		}
		v := recover()
		if v == nil {
			c.log.Error(recorded(record), "timer: a callback called runtime.Goexit",
				slog.String("timer", c.name), slog.Any("error", future.ErrGoexit))
			return
		}
		c.log.Error(recorded(record), "timer: a callback panicked",
			slog.String("timer", c.name), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
	}()
	func() {
		defer fn() // whatever a foreign context does when it is asked
		if frame.Labeled(ctx) {
			pprof.SetGoroutineLabels(ctx)
		}
	}()
	returned = true
}

// recorded returns the context that record makes, and a bare one where that is
// nil or asking the caller's context for its values panics.
func recorded(record func() context.Context) (ctx context.Context) {
	defer func() {
		_ = recover()
		if ctx == nil {
			ctx = context.Background()
		}
	}()
	return record()
}

// contained calls fn on a goroutine that package context has started, where no
// net is above. A Goexit goes on, and harms nobody.
func contained(fn func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		attr := slog.Any("error", future.ErrGoexit)
		if v := recover(); v != nil {
			attr = slog.Any("panic", v)
		}
		report.Logger{}.Error(context.Background(), "timer: a callback of a context's end failed", attr)
	}()
	fn()
	returned = true
}
