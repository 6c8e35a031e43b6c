package executor

import (
	"context"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/timer"
)

// Executor is what runs tasks. Users hand one to whatever needs to run
// something, which never closes it.
//
// An Executor of your own has to do what executortest.Conformance checks:
//
//   - A nil ctx or task is a [*ConfigError]. A refusal is a [*RejectedError],
//     and for a ctx that is done it matches both that context's cause and its
//     Err: give it a Reason of &future.InterruptedError{Err: ctx.Err(), Cause:
//     context.Cause(ctx)}. An error means that task never starts, nil that it
//     runs once.
//   - The task's context has ctx's values, does not end with ctx, and has a
//     scope of its own that starts as ctx's at the Post:
//     diagnostics.Capture(ctx).Install(context.WithoutCancel(ctx)).
//   - A goroutine of the executor's carries the labels of ctx while the task
//     runs and none of them afterwards: call pprof.SetGoroutineLabels with the
//     task's context before, and with context.Background() after.
//   - A panic or [runtime.Goexit] of a task ends that task alone.
//   - A task that was accepted and will never run is reported with [Discard].
type Executor interface {
	// Post hands task over, to be run once with a context made of ctx, or
	// says why not. It does not block.
	Post(ctx context.Context, task func(context.Context)) error
}

// Pool is an [Executor] of a fixed number of workers and one bounded queue.
// All methods may be called from any goroutine, a worker of the same pool
// included. The zero Pool, and a nil one, refuses everything with [ErrClosed].
//
// A Pool that becomes unreachable without having been closed runs what is
// queued and lets its goroutines end, with a WARN record; when that happens is
// up to the garbage collector. A Pool made in a testing/synctest bubble does
// not do so.
type Pool struct {
	core    *core
	cleanup runtime.Cleanup
}

// New starts a pool of cfg.Size workers. Every bad field of cfg is reported, as
// a [*ConfigError], in one joined error, and then nothing is started.
func New(cfg Config) (*Pool, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newCore(cfg)
	if err != nil {
		return nil, err
	}
	p := &Pool{core: c}
	if !goid.Bubbled() { // a cleanup runs outside of the bubble, where it may wake nobody inside
		p.cleanup = runtime.AddCleanup(p, func(c *core) { go c.abandon() }, c)
	}
	return p, nil
}

// none is the core of a zero Pool.
var none = func() *core {
	c := &core{done: make(chan struct{})}
	c.errClosed = &RejectedError{Pool: "zero Pool", Reason: ErrClosed}
	c.queue.init(0)
	c.queue.close()
	close(c.done)
	return c
}()

// open returns p's core. Whoever uses it keeps p alive meanwhile.
func (p *Pool) open() *core {
	if p == nil || p.core == nil {
		return none
	}
	return p.core
}

// Post accepts task, to be run once on a worker, or says why not; it never
// blocks and never runs task on the caller's stack.
//
// The errors are a [*RejectedError] with the reason [ErrClosed], the cause of a
// ctx that is done, or [ErrQueueFull], in this order, and a [*ConfigError] for
// a nil ctx or task. With an error, task will never start. Without one it will
// start, or be reported as discarded by a shutdown that ran out of time.
//
// Accepted tasks leave the queue in the order in which they were accepted: when
// one starts, fewer than Size earlier ones have not started. The task's context
// has the values of ctx, a diagnostic scope that starts as ctx's at this call,
// and the pool's lifetime: the end of ctx does not end it. The labels of ctx
// are on the worker while task runs. A panic or runtime.Goexit of task ends
// the task alone and is logged once.
//
// What happened before Post happens before task runs.
func (p *Pool) Post(ctx context.Context, task func(context.Context)) error {
	if err := badPost(ctx, task == nil); err != nil {
		return err
	}
	defer runtime.KeepAlive(p)
	return p.open().submit(ctx, nil, bare(task))
}

// PostWait is Post, but waits for room in the queue until ctx ends. Those who
// wait are served in order, before any later Post.
//
// Under the context of a task of the same pool it does not wait: a full queue
// is [ErrQueueFull].
func (p *Pool) PostWait(ctx context.Context, task func(context.Context)) error {
	if err := badPost(ctx, task == nil); err != nil {
		return err
	}
	defer runtime.KeepAlive(p)
	c := p.open()
	err := c.postWait(ctx, bare(task))
	if err != nil {
		c.rejected.Add(1)
	}
	return err
}

// bare is the job of a Post. That it panicked is for the log to say.
type bare func(context.Context)

func (fn bare) run(t *task)                   { fn(t) }
func (bare) discard(error) (callbacks func()) { return nil }
func (bare) lost(error)                       {}

// carried is the job of a task that carries an operation, which has to learn if
// the task is discarded or lost.
type carried struct {
	job
	op frame.Op
}

func (j *carried) discard(reason error) (callbacks func()) {
	own, carried := j.job.discard(reason), j.op.Discard(reason)
	switch {
	case own == nil:
		return carried
	case carried == nil:
		return own
	}
	return func() {
		defer carried()
		own()
	}
}

func (j *carried) lost(err error) {
	if callbacks := j.op.Discard(err); callbacks != nil {
		defer callbacks()
	}
	j.job.lost(err)
}

// Delay returns a future that completes after d, by the pool's clock; see
// [timer.Timer.Delay]. Its callbacks run on the goroutine of the pool's timer,
// where a stuck one delays the others.
func (p *Pool) Delay(ctx context.Context, d time.Duration) *future.Future[time.Time] {
	defer runtime.KeepAlive(p)
	return p.open().delays().Delay(ctx, d)
}

// delays returns the pool's timer.
func (c *core) delays() *timer.Timer {
	if c.timer == nil {
		return &timer.Timer{}
	}
	return c.timer
}

// Shutdown ends the pool in order: it refuses new work, fails outstanding
// delays with [ErrClosed], runs what is queued and waits for the workers. nil
// means that all this is done and every goroutine of the pool has ended.
//
// If ctx ends first, Shutdown escalates, once for the pool: queued tasks are
// discarded, which means that their futures fail with an error that matches
// ErrClosed and that OnDiscard is told, and the contexts of running tasks are
// canceled with the cause ErrClosed. It returns a [*ShutdownError] that says
// what was left; no accepted task is in limbo then. The callbacks of discarded
// tasks run on a goroutine of the pool, which Done waits for. A later call
// waits again within its own bound.
//
// On one of the pool's own goroutines, in a task, a callback or a hook,
// Shutdown does not wait for that goroutine, nor for others that are inside
// such a call: nil promises that all the rest has ended. A task that ignores
// its context keeps its goroutine until it returns; Done tells when. Shutdown
// may be called any number of times from any number of goroutines. A nil ctx
// is a [*ConfigError] and does nothing.
func (p *Pool) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return badArgument("ctx", errNilContext)
	}
	c := p.open()
	if c == none {
		return ErrClosed
	}
	defer runtime.KeepAlive(p)
	p.cleanup.Stop()
	return c.shutdown(bound{ctx: ctx})
}

// Close is [Pool.Shutdown] bounded by the Config's ShutdownTimeout, measured by
// the pool's clock.
func (p *Pool) Close() error {
	c := p.open()
	if c == none {
		return ErrClosed
	}
	defer runtime.KeepAlive(p)
	p.cleanup.Stop()
	c.close() // whatever the clock does
	expired, stop := c.expiry()
	defer stop()
	return c.shutdown(bound{context.Background(), expired})
}

// expiry returns a channel that receives when ShutdownTimeout is over.
func (c *core) expiry() (<-chan time.Time, func() bool) {
	if c.Clock == nil {
		t := time.NewTimer(c.ShutdownTimeout)
		return t.C, t.Stop
	}
	t := c.Clock.NewTimer(c.ShutdownTimeout)
	return t.C(), t.Stop
}

// Done returns a channel that is closed when the last goroutine of the pool has
// ended.
func (p *Pool) Done() <-chan struct{} { return p.open().done }

// Sync returns when everything that is due has fired and the pool's timer is
// parked; see [timer.Timer.Sync]. It is for tests with a mock clock.
func (p *Pool) Sync(ctx context.Context) error {
	defer runtime.KeepAlive(p)
	return p.open().delays().Sync(ctx)
}

// Stats returns one consistent reading.
func (p *Pool) Stats() Stats {
	defer runtime.KeepAlive(p)
	return p.open().stats()
}

// Running lists the tasks that run now, with their diagnostics and age.
func (p *Pool) Running() []TaskInfo {
	defer runtime.KeepAlive(p)
	return p.open().running()
}

// abandon ends a pool that was dropped.
func (c *core) abandon() {
	pprof.SetGoroutineLabels(c.labels)
	c.close()
	c.log.Warn(context.Background(), "executor: pool became unreachable without Close", c.logAttrs()...)
}
