package supervised

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/internal/link"
)

// closeTimeout bounds Close if DrainWithin does not.
const closeTimeout = 30 * time.Second

// Stop begins shutdown and does not wait: no job is accepted any more, all that
// are queued or assigned are returned, also those that a worker is at, which is
// done when Stop returns, and each worker is asked to stop. Further calls do
// nothing.
func (p *Pool[J, R]) Stop() {
	if p == nil || p.core == nil {
		return
	}
	defer runtime.KeepAlive(p)
	p.cleanup.Stop()
	p.core.feed(event[J, R]{Kind: fold.Shutdown})
}

// Wait waits until the pool has stopped, or was forced to, or ctx ends. Every
// caller sees the same: nil after a [Pool.Stop], a [*StoppedError] if the pool
// began to stop by itself, a [*ForcedRetirementError] if DrainWithin has passed,
// or a [*future.InterruptedError], which matches ctx's error and its cause. The
// end of ctx ends this wait alone.
//
// On one of the pool's own goroutines, in a worker, a callback or a hook, Wait
// does not wait for that goroutine, nor for others that are inside such a call:
// nil promises that all the rest has ended. A nil ctx is a [*ConfigError].
func (p *Pool[J, R]) Wait(ctx context.Context) error {
	if ctx == nil {
		return &ConfigError{Field: "ctx", Reason: errNilContext}
	}
	if p == nil || p.core == nil {
		return ErrPoolStopping
	}
	defer runtime.KeepAlive(p)
	return p.core.wait(ctx, nil)
}

// Shutdown is [Pool.Stop], then [Pool.Wait]. On one of the pool's own goroutines
// it is Stop, and returns nil.
func (p *Pool[J, R]) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return &ConfigError{Field: "ctx", Reason: errNilContext}
	}
	if p == nil || p.core == nil {
		return ErrPoolStopping
	}
	p.Stop()
	if p.core.inPool(goid.ID()) {
		return nil
	}
	return p.Wait(ctx)
}

// Close is [Pool.Shutdown], which DrainWithin bounds. If that is 0, Close gives
// up after 30 s by the pool's clock, with a [*future.InterruptedError] that
// matches context.DeadlineExceeded.
func (p *Pool[J, R]) Close() error {
	if p == nil || p.core == nil {
		return ErrPoolStopping
	}
	p.Stop()
	c := p.core
	if c.inPool(goid.ID()) {
		return nil
	}
	if c.cfg.DrainWithin > 0 {
		return p.Wait(context.Background())
	}
	defer runtime.KeepAlive(p)
	expired, stop := c.expiry(closeTimeout)
	defer stop()
	return c.wait(context.Background(), expired)
}

// expiry returns a channel that receives when d has passed.
func (c *core[J, R]) expiry(d time.Duration) (<-chan time.Time, func() bool) {
	if c.cfg.Clock == nil {
		t := time.NewTimer(d)
		return t.C, t.Stop
	}
	t := c.cfg.Clock.NewTimer(d)
	return t.C(), t.Stop
}

// inPool reports whether goroutine id is one of the pool's.
func (c *core[J, R]) inPool(id uint64) bool { return link.Inside(c.timer, id) || c.own(id) }

// wait is Wait, within ctx and until expired receives.
func (c *core[J, R]) wait(ctx context.Context, expired <-chan time.Time) error {
	id := goid.ID()
	own := c.inPool(id)
	if own {
		defer c.inside(id)()
	}
	for {
		var changed <-chan struct{} // for ever, outside
		if own {
			n := 0
			if n, changed = c.others(); n <= 0 {
				return c.verdictOr(nil)
			}
		}
		select {
		case <-c.retired:
			return c.verdict
		default:
		}
		select {
		case <-c.retired:
		case <-changed:
		case <-expired:
			return c.verdictOr(&future.InterruptedError{Err: context.DeadlineExceeded, Cause: context.DeadlineExceeded})
		case <-ctx.Done():
			return c.verdictOr(&future.InterruptedError{Err: ctx.Err(), Cause: context.Cause(ctx)})
		}
	}
}

// verdictOr returns the verdict, which wins, or err if there is none yet.
func (c *core[J, R]) verdictOr(err error) error {
	select {
	case <-c.retired:
		return c.verdict
	default:
		return err
	}
}

// abandon ends a pool that was dropped, unless it ends by itself.
func (c *core[J, R]) abandon() {
	c.mu.Lock()
	serving := c.fold.Counts().Mode == fold.Serving
	c.mu.Unlock()
	if !serving {
		return
	}
	c.log.Warn(context.Background(), "supervised: pool became unreachable without Stop", slog.String("pool", c.cfg.Name))
	c.feed(event[J, R]{Kind: fold.Shutdown})
}
