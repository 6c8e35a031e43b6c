package supervised

import (
	"context"
	"runtime/pprof"
	"time"

	"github.com/cadre-go/cadre/internal/frame"
)

// jobContext has the submitter's values, a diagnostic scope of its own, and the
// incarnation's lifetime. It hides the executor task that the submitter may
// have been, whose slot is not this worker's to lend.
type jobContext struct {
	life   context.Context // the incarnation's
	values context.Context // the submitter's
	scope  frame.Scope
}

func (c *jobContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *jobContext) Done() <-chan struct{}       { return c.life.Done() }
func (c *jobContext) Err() error                  { return c.life.Err() }

// Value asks the lifetime first, so that package context finds its cancelCtx
// there and a child costs no goroutine.
func (c *jobContext) Value(key any) any {
	if key == (frame.Key{}) {
		return c
	}
	if v := c.life.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

func (c *jobContext) Scope() *frame.Scope { return &c.scope }
func (c *jobContext) Over() *frame.Attrs  { return nil }
func (c *jobContext) Op() frame.Op        { return nil }
func (c *jobContext) Host() frame.Host    { return nil }

// wearLabels puts ctx's pprof labels on the calling goroutine, and those of none
// if ctx has none or panics when it is asked. If it calls runtime.Goexit, so does
// wearLabels.
func wearLabels(ctx, none context.Context) {
	if !frame.Labeled(ctx) {
		ctx = none
	}
	pprof.SetGoroutineLabels(ctx)
}
