package timer

import (
	"context"
	"math"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/goid"
)

// failure is a delay that has failed and whose callbacks have not run.
type failure struct {
	snapshot
	callbacks func() // nil: none
}

// Shutdown closes the timer: new entries are refused with [ErrClosed], every
// outstanding delay fails with ErrClosed, every ticker is stopped, and when the
// callbacks have run the goroutine ends. The outcomes are there when Shutdown
// has begun to wait; the callbacks run on the timer's goroutine, each under its
// own delay's labels.
//
// Shutdown returns nil when the last goroutine has ended. If ctx ends first it
// returns a [*future.InterruptedError]: then something is stuck in a callback,
// and the callbacks that wait behind it run on one fresh goroutine; [Timer.Done]
// tells when both have ended. Every further call waits in the same way, within
// its own bound. On the timer's own goroutine Shutdown does not wait for it and
// returns nil. A nil ctx is a [*ConfigError], and nothing happens.
func (t *Timer) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return nilContext()
	}
	c := t.core
	if c == nil {
		return t.error(ErrClosed)
	}
	c.shut()
	if c.gone() || c.inside(goid.ID()) {
		return nil
	}
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
	}
	if c.gone() {
		return nil
	}
	c.abort()
	return interrupted(ctx)
}

// Close is [Timer.Shutdown] bounded by [Config].ShutdownTimeout, on the timer's
// own clock. When that has passed the error is [context.DeadlineExceeded].
func (t *Timer) Close() error {
	c := t.core
	if c == nil {
		return t.error(ErrClosed)
	}
	c.shut()
	if c.gone() || c.inside(goid.ID()) {
		return nil
	}
	if c.waitTimeout() {
		return nil
	}
	c.abort()
	return &future.InterruptedError{Err: context.DeadlineExceeded, Cause: context.DeadlineExceeded}
}

// waitTimeout waits for the last goroutine, and returns false if the time is
// up first.
func (c *core) waitTimeout() bool {
	start := c.source.now()
	limit := c.source.newTimer(c.timeout)
	defer limit.Stop()
	// A mock may have moved between the reading and the arming.
	if c.source.now()-start < int64(c.timeout) {
		select {
		case <-c.done:
		case <-limit.C():
		}
	}
	return c.gone()
}

// Done returns a channel that is closed when the timer is closed and its last
// goroutine has ended. The zero Timer's is closed.
func (t *Timer) Done() <-chan struct{} {
	if t.core == nil {
		return closed
	}
	return t.core.done
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// gone reports whether the last goroutine has ended.
func (c *core) gone() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// shut begins the shutdown. When it returns, whoever called it, every outcome
// is published and nothing foreign has been called but the clock.
//
// The outcomes do not wait for the timer's goroutine, which may be stuck.
func (c *core) shut() {
	if c.closed.Load() {
		c.begin.Do(func() {}) // wait for the one who shuts
		return
	}
	// The clock is asked outside of begin, as it is foreign; the shutdown begins
	// whatever it does.
	now := int64(math.MinInt64)
	defer func() { c.shutAt(now) }()
	now = c.source.now()
}

// shutAt is shut, at that reading of the clock.
func (c *core) shutAt(now int64) {
	unused := false
	c.begin.Do(func() {
		var failing []failure
		for _, j := range c.takeAll(now) {
			if f := j.finish(); f.callbacks != nil {
				failing = append(failing, f)
			}
		}
		c.mu.Lock()
		c.failing, c.leaving = failing, true
		unused = len(c.goroutines) == 0
		c.kickLocked()
		c.mu.Unlock()
	})
	if unused {
		c.finish()
	}
}

// takeAll closes the queue and empties it.
func (c *core) takeAll(now int64) []job {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed.Store(true)
	for _, w := range c.syncs {
		w.answer <- c.error(ErrClosed)
	}
	c.syncs = nil
	var jobs []job
	for t := range c.aside {
		jobs = append(jobs, t)
	}
	jobs = append(jobs, c.queue.Drain()...)
	for _, j := range jobs {
		j.closeLocked(now)
	}
	return jobs
}

// abort has one fresh goroutine run the callbacks that a stuck one holds up.
func (c *core) abort() {
	c.mu.Lock()
	start := !c.aborted && len(c.failing) > 0
	if start {
		c.aborted = true
		c.goroutines = append(c.goroutines, 0)
	}
	c.mu.Unlock()
	if start {
		go c.life(aborter{c}, 0)
	}
}

// aborter is the goroutine beside one that is stuck.
type aborter struct{ *core }

func (a aborter) serve() { a.callFailures() }

// callFailures runs the callbacks of what the shutdown has failed.
func (c *core) callFailures() {
	for {
		c.mu.Lock()
		if len(c.failing) == 0 {
			c.mu.Unlock()
			return
		}
		f := c.failing[0]
		c.failing[0] = failure{}
		c.failing = c.failing[1:]
		c.mu.Unlock()
		c.guarded(f.ctx, f.context, f.callbacks)
	}
}
