package executor

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/report"
	"github.com/cadre-go/cadre/timer"
)

// core is the pool itself. Goroutines, tasks and the timer hold the core and
// never the Pool, so that a Pool that was dropped can be noticed.
//
// Who writes what: the queue and the idle stack are shared by all and changed
// by single atomic steps (the stack under a lock of its own); all else is under
// mu. The order of locks is mu before the stack's.
type core struct {
	Config // with defaults
	log    report.Logger
	life   context.Context // of every task; ends when shutdown escalates, or with the pool
	end    context.CancelCauseFunc
	labels context.Context // of a worker that runs no task, or one without labels
	timer  *timer.Timer
	base   time.Time // what since is measured from

	errFull, errClosed *RejectedError

	queue    queue
	idle     idle
	rejected atomic.Uint64
	looking  atomic.Bool // look is not nil

	// mu protects what follows. Nothing foreign runs under it.
	mu      sync.Mutex
	workers []*worker
	guests  guests        // stand-ins and the discarder
	waiters waiters       // of PostWait and Map, in order
	look    chan struct{} // closed when an operation is queued; nil if nobody waits for that

	// What Stats cannot read off the queue. A task that simply finishes
	// changes nothing here, so that the common case costs one atomic step.
	direct   uint64 // tasks admitted straight to a stand-in
	lent     int    // tasks on stand-ins: accepted, not ended, without a place
	settling int    // places whose task has ended but whose callbacks still run
	ends     [stateMask + 1]uint64

	closing   bool
	alive     int // goroutines of the pool, and one for the timer
	inside    []*insideCall
	calling   int           // seats with calls, of goroutines that live
	escalated chan struct{} // nil until shutdown escalates; closed when every discard is settled
	announced bool
	done      chan struct{}
}

// newCore starts the pool that cfg, which has its defaults, describes.
func newCore(cfg Config) (*core, error) {
	tm, err := timer.New(timer.Config{Name: cfg.Name, Clock: cfg.Clock, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	c := &core{
		Config:    cfg,
		log:       report.Logger{To: cfg.Logger},
		labels:    pprof.WithLabels(context.Background(), pprof.Labels("executor", cfg.Name)),
		timer:     tm,
		errFull:   &RejectedError{Pool: cfg.Name, Reason: ErrQueueFull, Size: cfg.Size, QueueLimit: cfg.QueueLimit},
		errClosed: &RejectedError{Pool: cfg.Name, Reason: ErrClosed, Size: cfg.Size, QueueLimit: cfg.QueueLimit},
		alive:     cfg.Size + 1,
		done:      make(chan struct{}),
	}
	c.life, c.end = context.WithCancelCause(context.Background())
	c.base = c.clock()
	c.queue.init(cfg.Size + cfg.QueueLimit)
	c.workers = make([]*worker, cfg.Size)
	link.OnDone(tm, func() { c.leave(nil, nil) })
	for i := range c.workers {
		c.workers[i] = &worker{seat: seat{core: c, index: i}, wake: make(chan struct{}, 1)}
	}
	for _, w := range c.workers {
		go w.loop()
	}
	return c, nil
}

func (c *core) clock() time.Time {
	if c.Clock == nil {
		return time.Now()
	}
	return c.Clock.Now()
}

// now is the time since the pool was made. With package time it costs about
// half of a time.Now.
func (c *core) now() time.Duration {
	if c.Clock == nil {
		return time.Since(c.base)
	}
	return c.Clock.Now().Sub(c.base)
}

// post admits j, or says why not; it does not count the rejection. t is the
// task to use, or nil.
//
// The order of answers is closed, a done ctx, full.
func (c *core) post(ctx context.Context, t *task, j job) error {
	if c.queue.in().closed() {
		return c.errClosed
	}
	if err := c.badContext(ctx); err != nil {
		return err
	}
	operation := t != nil
	for made := false; ; {
		e := c.queue.in()
		switch {
		case e.closed():
			return c.errClosed
		case e.slow():
			if c.postersWait() {
				return c.errFull // what comes free is theirs
			}
			continue
		}
		switch c.queue.room(e) {
		case full:
			return c.errFull
		case cramped:
			c.compact()
			continue
		}
		if !made { // not for a task that is rejected anyway
			var carries bool
			t, carries = c.prepare(ctx, t, j)
			made, operation = true, operation || carries
		}
		if c.queue.admit(e) {
			c.queue.push(t, e.ticket())
			c.admitted(operation)
			return nil
		}
	}
}

// badContext refuses a ctx that is done.
func (c *core) badContext(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	return &RejectedError{c.Name, context.Cause(ctx), c.Size, c.QueueLimit, err}
}

// prepare makes the task of j under ctx: this is where a caller's diagnostic
// context is captured. carries tells that the task carries an operation that
// somebody may await.
func (c *core) prepare(ctx context.Context, t *task, j job) (_ *task, carries bool) {
	if t == nil {
		t = &task{}
	}
	t.values, t.core, t.job = valuesOf(ctx), c, j
	if f := frame.Of(ctx); f != nil {
		t.scope.Start(frame.Merge(frame.Parts(f)))
		if op := f.Op(); op != nil {
			op.Carried(t)
			t.job, carries = &carried{j, op}, true
		}
	}
	return t, carries
}

// admitted follows up on a push.
func (c *core) admitted(operation bool) {
	c.idle.wakeOne()
	if operation {
		c.lookAgain()
	}
}

// compact makes room in a queue full of holes.
func (c *core) compact() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue.slow() // no tickets are given out but under mu
	if c.queue.room(c.queue.in()) == cramped {
		c.queue.compact()
	}
	c.fastLocked()
}

// fastLocked lets posts by without the lock, unless others wait for places.
func (c *core) fastLocked() {
	if c.waiters.first == nil {
		c.queue.fast()
	}
}

// take takes the first task that waits to be run; nil if there is none. With
// holding, the place of the worker's last task is given back.
func (c *core) take(holding bool) (t *task, closed bool) {
	for {
		t, x, how := c.queue.take(running, holding)
		if how == frozen {
			c.mu.Lock() // until it is compacted
			//lint:ignore SA2001 there is nothing to do but wait
			c.mu.Unlock()
			continue
		}
		if holding {
			if t == nil {
				x = c.queue.leave()
			}
			c.freed(x)
		}
		return t, x.closed()
	}
}

// ended accounts for the end of a task that held a place, and gives the place
// back unless it is to be held for the task's callbacks.
func (c *core) ended(end uint64, hold bool) {
	if end == finished && !hold {
		c.freed(c.queue.leave())
		return
	}
	c.mu.Lock()
	if end != finished {
		c.ends[end]++
	}
	if hold {
		c.settling++
		c.mu.Unlock()
		return
	}
	x := c.queue.leave()
	c.mu.Unlock()
	c.freed(x)
}

// skip takes a canceled task out of the queue and accounts for it, if it is
// there. It leaves freed to the caller.
//
// In one step under the lock: else the workers could pass the task by and end
// the pool while it is still counted.
func (c *core) skip(t *task) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !t.claim(skipped) {
		return false
	}
	c.ends[skipped]++
	c.queue.leave()
	return true
}

// released gives back a place that ended held for a task's callbacks.
func (c *core) released() {
	c.mu.Lock()
	c.settling--
	x := c.queue.leave()
	c.mu.Unlock()
	c.freed(x)
}

// freed passes a place on to whoever waits for one; x is the exit as it was
// when the place came back.
func (c *core) freed(x exit) {
	if x.slow() {
		c.grant()
	}
}

func (c *core) logAttrs(attrs ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{slog.String("pool", c.Name)}, attrs...)
}

// reportEnd logs what foreign code under ctx ended with instead of returning.
func (c *core) reportEnd(ctx context.Context, msg string, value any, stack []byte) {
	attrs := c.logAttrs(slog.Any("panic", value))
	if stack != nil {
		attrs = append(attrs, slog.String("stack", string(stack)))
	}
	c.log.Error(ctx, fmt.Sprintf("executor: %s", msg), attrs...)
}
