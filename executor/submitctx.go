package executor

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/lazyctx"
)

// runCtx is what a submitted function runs under: the context that its
// executor gave, a cancellation of its own, and the caller's deadline.
type runCtx struct {
	lazyctx.Ctx
	deadline time.Time // the caller's, if bounded
	bounded  bool
	loose    atomic.Bool // the caller's context does not end this one any more
}

// Deadline is the earlier of the caller's and the executor's. Once the caller's
// context cannot end this one, its deadline does not show: package context makes
// no timer for a child whose parent promises to end before it.
func (c *runCtx) Deadline() (time.Time, bool) {
	d, ok := c.Ctx.Deadline()
	if c.bounded && !c.loose.Load() && (!ok || c.deadline.Before(d)) {
		return c.deadline, true
	}
	return d, ok
}

// postedCtx is what an operation is posted under: the caller's context, and
// the operation itself for whoever carries or drops it.
type postedCtx struct {
	context.Context
	parent frame.Frame // may be nil
	op     frame.Op
}

func (c *postedCtx) Value(key any) any {
	if key == (frame.Key{}) {
		return c
	}
	return c.Context.Value(key)
}

func (c *postedCtx) Op() frame.Op { return c.op }

func (c *postedCtx) Scope() *frame.Scope {
	if c.parent == nil {
		return nil
	}
	return c.parent.Scope()
}

func (c *postedCtx) Over() *frame.Attrs {
	if c.parent == nil {
		return nil
	}
	return c.parent.Over()
}

func (c *postedCtx) Host() frame.Host {
	if c.parent == nil {
		return nil
	}
	return c.parent.Host()
}
