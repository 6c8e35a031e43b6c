package executor

import (
	"context"
	"errors"
	"log/slog"
	"runtime/pprof"
	"slices"
	"sync"

	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/report"
)

// Serial returns an [Executor] that runs its tasks on ex one at a time, in the
// order in which it accepted them. It is [Limit] with an n of 1.
func Serial(ex Executor, limit int) (Executor, error) { return newLimited("serial", ex, 1, limit) }

// Limit returns an [Executor] that runs at most n of its tasks at a time on ex.
// Beside these up to limit tasks wait; one more is refused with [ErrQueueFull].
//
// It takes up at most n places of ex: whoever runs a task goes on with the next
// one that waits, offering its place back to ex now and then. If ex refuses
// while nothing runs, that refuses the Post. If ex discards, or has closed when
// the place is offered, what waits is discarded too: the futures of [Submit]
// fail, other tasks are logged as discarded.
//
// A nil ex, an n below 1 and a negative limit are reported in one joined error
// of [*ConfigError].
func Limit(ex Executor, n, limit int) (Executor, error) { return newLimited("limit", ex, n, limit) }

func newLimited(name string, ex Executor, n, limit int) (Executor, error) {
	var errs []error
	if ex == nil {
		errs = append(errs, badArgument("ex", errNilExecutor))
	}
	if n < 1 {
		errs = append(errs, &ConfigError{Field: "n", Value: n, Reason: errors.New("must be at least 1")})
	}
	if limit < 0 {
		errs = append(errs, &ConfigError{Field: "limit", Value: limit, Reason: errors.New("must not be negative")})
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &limited{ex: ex, n: n, limit: limit,
		full: &RejectedError{Pool: name, Reason: ErrQueueFull, Size: n, QueueLimit: limit}}, nil
}

// offerEvery is how many tasks a runner runs before it offers its place.
const offerEvery = 16

// limited is a bounded queue in front of another executor, served by up to n
// runners: tasks of ex, each of which serves the queue.
type limited struct {
	ex       Executor
	n, limit int
	full     *RejectedError

	mu       sync.Mutex    // protects what follows; ex is not called under it
	waiting  []*item       // in the order of acceptance
	runners  int           // accepted by ex and not ended
	idle     []*runner     // of these, those that have not begun
	starting chan struct{} // not nil while a Post asks ex for a runner; closed when decided
}

// item is one accepted task.
type item struct {
	posted context.Context // what it was posted with
	ctx    *plainCtx
	fn     func(context.Context)
}

// runner is one task of ex.
type runner struct {
	l       *limited
	decided chan struct{} // l.starting while ex is asked for it; nil for an offered place

	// Under l.mu.
	counted bool         // among l.runners
	carrier frame.Finder // what carries it
}

func (l *limited) Post(ctx context.Context, task func(context.Context)) error {
	if err := badPost(ctx, task == nil); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &RejectedError{l.full.Pool, context.Cause(ctx), l.n, l.limit, err}
	}
	it := &item{ctx, newPlainCtx(ctx), task}
	l.mu.Lock()
	for l.runners == 0 && l.starting != nil {
		// Whether anything can be accepted is being decided by another
		// Post, which ex does not block.
		decided := l.starting
		l.mu.Unlock()
		<-decided
		l.mu.Lock()
	}
	room := len(l.waiting)-len(l.idle) < l.limit
	if l.starting != nil || l.runners == l.n {
		defer l.mu.Unlock()
		if !room {
			return l.full
		}
		l.enqueueLocked(it)
		return nil
	}
	l.enqueueLocked(it)
	r := &runner{l: l, decided: make(chan struct{})}
	l.starting = r.decided
	l.mu.Unlock()

	err := l.ex.Post(r.context(), r.run)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.decidedLocked(r)
	if err == nil {
		l.countLocked(r)
		return nil
	}
	if at := slices.Index(l.waiting, it); at >= 0 && (l.runners == 0 || !room) {
		l.waiting = slices.Delete(l.waiting, at, at+1)
		if l.runners == 0 {
			return err
		}
		return l.full
	}
	return nil // another runner has it, or will
}

func (l *limited) enqueueLocked(it *item) {
	l.waiting = append(l.waiting, it)
	if f := frame.Of(it.posted); f != nil && f.Op() != nil {
		f.Op().Carried(l)
	}
}

// decidedLocked lets those go on who wait for the outcome of a start.
func (l *limited) decidedLocked(r *runner) {
	if l.starting != nil && l.starting == r.decided {
		close(l.starting)
		l.starting = nil
	}
}

// countLocked counts a runner that ex has accepted.
func (l *limited) countLocked(r *runner) {
	if !r.counted {
		r.counted = true
		l.runners++
		l.idle = append(l.idle, r)
	}
}

// Find returns a task of pool that has to run for the queue to be served.
func (l *limited) Find(pool any) any {
	l.mu.Lock()
	var carriers []frame.Finder
	for _, r := range l.idle {
		if r.carrier != nil {
			carriers = append(carriers, r.carrier)
		}
	}
	l.mu.Unlock()
	for _, c := range carriers {
		if task := c.Find(pool); task != nil {
			return task
		}
	}
	return nil
}

// context is what r is posted with.
func (r *runner) context() context.Context {
	return &postedCtx{Context: context.Background(), op: r}
}

// Carried tells what carries r.
func (r *runner) Carried(by frame.Finder) {
	r.l.mu.Lock()
	r.carrier = by
	r.l.mu.Unlock()
}

// Discard tells that ex has dropped r.
func (r *runner) Discard(reason error) {
	l := r.l
	l.mu.Lock()
	l.idle = slices.DeleteFunc(l.idle, func(o *runner) bool { return o == r })
	dropped := l.endLocked(true)
	l.mu.Unlock()
	l.discard(dropped, reason)
}

// endLocked ends a runner. The last one takes what waits along, if nobody can
// run it.
func (l *limited) endLocked(unserved bool) (dropped []*item) {
	l.runners--
	if unserved && l.runners == 0 {
		dropped, l.waiting = l.waiting, nil
	}
	return dropped
}

func (l *limited) discard(dropped []*item, reason error) {
	for _, it := range dropped {
		if f := frame.Of(it.posted); f != nil && f.Op() != nil {
			f.Op().Discard(reason)
			continue
		}
		report.Logger{}.Warn(it.ctx, "executor: task discarded",
			slog.String("pool", l.full.Pool), slog.Any("error", reason))
	}
}

// run is the task of ex.
func (r *runner) run(ctx context.Context) {
	l := r.l
	l.mu.Lock()
	l.countLocked(r) // ex may run it before its Post returns
	l.decidedLocked(r)
	l.idle = slices.DeleteFunc(l.idle, func(o *runner) bool { return o == r })
	l.mu.Unlock()
	l.serve(ctx)
}

// serve runs what waits, under ctx, the context of a runner.
func (l *limited) serve(ctx context.Context) {
	returned := false
	defer func() {
		if !returned { // a task called runtime.Goexit; the rest is served while that goes on
			l.serve(ctx)
		}
	}()
	for n := 1; ; n++ {
		l.mu.Lock()
		if len(l.waiting) == 0 {
			l.endLocked(false)
			l.mu.Unlock()
			break
		}
		if ctx.Err() != nil { // ex has given up on what runs
			dropped := l.endLocked(true)
			l.mu.Unlock()
			l.discard(dropped, l.closedReason())
			break
		}
		if n > offerEvery {
			l.mu.Unlock()
			n = 0
			if l.offer() {
				break
			}
			continue
		}
		it := l.waiting[0]
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
		l.mu.Unlock()
		it.run(ctx)
	}
	returned = true
}

// offer gives the place back to ex. It returns true if another runner serves
// the queue from here on, or nobody can.
func (l *limited) offer() bool {
	next := &runner{l: l}
	err := l.ex.Post(next.context(), func(ctx context.Context) { next.run(ctx) })
	if err != nil && !errors.Is(err, ErrClosed) {
		return false
	}
	l.mu.Lock()
	if err == nil {
		l.countLocked(next)
	}
	dropped := l.endLocked(err != nil)
	l.mu.Unlock()
	l.discard(dropped, l.closedReason())
	return true
}

func (l *limited) closedReason() error { return &discardedError{l.full.Pool} }

// run runs it under the lifetime of ctx, the context of a runner.
func (it *item) run(ctx context.Context) {
	c := it.ctx
	c.host = frame.HostOf(ctx)
	c.life = ctx
	if t, ok := c.host.(*task); ok { // a goroutine of ours
		c.life = t.core.life
		defer pprof.SetGoroutineLabels(t.core.labels)
		if labeled(c.values) {
			pprof.SetGoroutineLabels(c)
		}
	}
	c.run(it.fn)
}
