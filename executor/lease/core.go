package lease

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/report"
)

// core is the pool itself, which its goroutine, its leases and its handles
// share. Neither it nor anything that it points to points to a Pool, a Handle
// or their anchor: those would never become unreachable.
type core[R any] struct {
	cfg   Config[R] // with defaults; never changes
	id    uint64
	log   report.Logger
	clock source

	ages    bool // the clock is read at each release
	tracing bool // leaks are looked for
	bubbled bool // made in a synctest bubble

	sweeping atomic.Bool // the Executor has a sweep

	slow  bool               // for tests: nobody takes a permit without the owner
	probe func(point string) // for tests

	anonymous party // that of the Pool's own acquisitions
	handles   atomic.Uint64

	slots      []slot[R]
	permits    []permit[R] // slot i's begin at i*PermitsPerSlot
	generation atomic.Uint64
	// alive counts the resources that are neither disposed of nor detached,
	// and the Connects in progress.
	alive atomic.Int64

	gate   gate
	box    mailbox
	owner  owner
	life   life
	counts counts
	events events
}

// ids are the numbers of pools, and are never used again.
var ids atomic.Uint64

func newCore[R any](cfg Config[R], o options) *core[R] {
	c := &core[R]{id: ids.Add(1), slow: o.slow, probe: o.probe}
	cfg = cfg.withDefaults(c.id)
	c.cfg = cfg
	c.log = report.Logger{To: cfg.Logger}
	c.clock = source{clock: cfg.Clock, fail: func(where string, v any) { c.fail(where, v) }}
	c.ages = cfg.MaxLifetime > 0 || cfg.MaxIdle > 0 || cfg.Validate != nil && cfg.ValidateAfter > 0
	c.tracing = cfg.Leak != LeakOff
	c.slots = make([]slot[R], cfg.Slots)
	c.permits = make([]permit[R], cfg.Slots*cfg.PermitsPerSlot)
	for i := range c.slots {
		c.slots[i].init(c, i, c.permits[i*cfg.PermitsPerSlot:(i+1)*cfg.PermitsPerSlot])
	}
	c.gate.word.Store(uint64(sched.Full(len(c.permits))))
	c.box.init(&c.gate, o.probe)
	c.owner.sched = sched.New(cfg.Fairness.policy(), cfg.MaxWaiters)
	c.life.init(cfg.Name)
	c.clock.start() // last: a panic of it fails the pool
	return c
}

// options are what tests set beside a Config.
type options struct {
	slow  bool
	probe func(point string)
}

// hook calls foreign code. A panic in it fails the pool and is returned as that
// failure; a Goexit goes on, and is for the caller's deferred functions.
func (c *core[R]) hook(where string, fn func()) error { return c.hookUnder(nil, where, fn) }

// hookUnder is hook for code that gets ctx. A panic that came from ctx goes on.
func (c *core[R]) hookUnder(ctx *callerContext, where string, fn func()) (failed error) {
	defer func() {
		if ctx != nil && ctx.bad.Load() {
			return
		}
		if v := recover(); v != nil {
			failed = c.fail(where, v)
		}
	}()
	fn()
	return nil
}

// fail ends the pool because of a panic, unless it has ended. It may be called
// on any goroutine, with no lock held.
func (c *core[R]) fail(where string, v any) error {
	e := &SchedulerFailedError{Pool: c.cfg.Name, Where: where, Panic: v, Stack: debug.Stack()}
	c.counts.failures.Add(1)
	first, cut := c.life.fail(e, &c.gate)
	for _, end := range cut {
		end(e)
	}
	if first {
		c.box.signal()
	} else {
		c.reportFailure(e, "lease: a hook panicked in a pool that has failed or ended")
	}
	return e
}

func (c *core[R]) reportFailure(e *SchedulerFailedError, msg string) {
	// The value is shown by fmt, which contains a panic of its methods.
	c.log.Error(context.Background(), msg, c.attrs(slog.String("where", e.Where),
		slog.String("panic", fmt.Sprint(e.Panic)), slog.String("stack", string(e.Stack)))...)
}

// attrs are the attributes of the pool's records.
func (c *core[R]) attrs(more ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{slog.String("pool", c.cfg.Name), slog.Uint64("pool_id", c.id)}, more...)
}

// terminal returns the error of a pool that has ended, or is about to.
func (c *core[R]) terminal() error { return c.life.terminal() }

// exited is what a function that called runtime.Goexit is taken to have
// panicked with.
var exited error = future.ErrGoexit

// since returns how long it is from one reading of the clock to another, which
// may have been set back.
func since(from, to int64) time.Duration { return max(time.Duration(to-from), 0) }
