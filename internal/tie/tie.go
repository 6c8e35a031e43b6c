// Package tie registers something with a context for exactly as long as it is
// pending.
package tie

import (
	"context"
	"runtime/pprof"
	"sync"

	"github.com/cadre-go/cadre/internal/lazyctx"
)

// Tie is one registration with a context. The zero Tie is ready to use.
type Tie struct {
	watch lazyctx.Watch // of ToCancel

	mu   sync.Mutex // protects what follows
	stop func() bool
	over bool
}

// To has f told when ctx ends, on a goroutine of its own whose labels are
// cleared, unless the tie was cut before.
func (t *Tie) To(ctx context.Context, f lazyctx.Follower) {
	if ctx.Done() == nil {
		return
	}
	stop := context.AfterFunc(ctx, func() {
		// The goroutine came with the labels of whoever ended ctx.
		pprof.SetGoroutineLabels(context.Background())
		f.Ended(context.Cause(ctx))
	})
	t.mu.Lock()
	over := t.over
	if !over {
		t.stop = stop
	}
	t.mu.Unlock()
	if over { // cut while it was being tied
		stop()
	}
}

// ToCancel is To, for who learns of the end of c's parent anyway.
func (t *Tie) ToCancel(c *lazyctx.Ctx, f lazyctx.Follower) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over {
		c.Watch(&t.watch, f)
	}
}

// Cut ends the registration, now or as soon as it is made.
func (t *Tie) Cut() {
	t.mu.Lock()
	stop := t.stop
	t.stop, t.over = nil, true
	t.watch.Stop()
	t.mu.Unlock()
	if stop != nil {
		stop()
	}
}
