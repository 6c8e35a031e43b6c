package executor

import (
	"context"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/lazyctx"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/report"
	"github.com/cadre-go/cadre/internal/tie"
)

// Submit posts fn to ex and returns the future of what it returns.
//
// Every failure arrives through the future: a [*RejectedError] if ex did not
// accept the task, what fn returned, a [*future.PanicError],
// [future.ErrGoexit], an error that matches [ErrClosed] if a shutdown
// discarded the task. A nil ctx, ex or fn is a [*ConfigError]. A panic or
// Goexit of fn that comes when the future has settled is logged.
//
// fn runs where ex runs tasks. Its context has the values of ctx, a diagnostic
// scope that starts as ctx's at this call, the deadline of ctx and the lifetime
// of ex; it is canceled, with the cause kept, when the future is canceled. The
// end of ctx cancels the future. Canceled while it is queued, fn never runs and
// its place in a [Pool]'s queue is free at once; an abandoned task runs on.
// Once the future has settled the context is not canceled any more on its
// account, so what fn returned may go on to use it.
//
// A value that fn returns after the future has settled is disposed of; see
// [future.WithDispose]. Callbacks of the future run on the worker, after the
// task has been accounted for. What happened before Submit happens before fn
// runs.
func Submit[T any](ctx context.Context, ex Executor, fn func(context.Context) (T, error), opts ...future.Option[T]) *future.Future[T] {
	if err := badSubmit(ctx, ex, fn == nil); err != nil {
		return future.Failed[T](err)
	}
	o := newOp(ctx, fn, opts)
	_, pool := ex.(*Pool)
	if !pool && ctx.Err() == nil { // now, since ex may run fn before its Post returns
		follow(ctx, &o.tie, nil, o)
	}
	if err := o.postTo(ctx, ex); err != nil {
		o.c.Fail(err)
	} else if pool {
		follow(ctx, &o.tie, o.task.core, o)
	}
	return o.c.Future()
}

func badSubmit(ctx context.Context, ex Executor, noFn bool) error {
	if err := badFunction(ctx, noFn); err != nil {
		return err
	}
	if ex == nil {
		return badArgument("ex", errNilExecutor)
	}
	return nil
}

// op is a submitted function: the task, if a pool runs it, its context and its
// future, in one allocation.
type op[T any] struct {
	task task // but for its values unused if another executor than a Pool was given
	c    future.Completer[T]
	link frame.Link
	ctx  runCtx
	fn   func(context.Context) (T, error)
	tie  tie.Tie // to the caller's context

	canceled atomic.Bool
	ran      atomic.Bool       // by another executor than a pool, which may run a task twice
	onCancel func(cause error) // for what stands before the post; set before it can be called

	mu      sync.Mutex   // protects carrier and, if that is set, ctx.Parent
	carrier frame.Finder // what carries the operation, if not task
}

func newOp[T any](ctx context.Context, fn func(context.Context) (T, error), opts []future.Option[T]) *op[T] {
	o := bareOp(ctx, fn, opts)
	o.ctx.deadline, o.ctx.bounded = ctx.Deadline()
	return o
}

// bareOp is newOp without ctx's deadline. It asks ctx for nothing.
func bareOp[T any](ctx context.Context, fn func(context.Context) (T, error), opts []future.Option[T]) *op[T] {
	o := &op[T]{fn: fn}
	o.link = frame.Link{Producer: o, Keep: true}
	o.task.values = valuesOf(ctx)
	link.Bind(&o.c, &o.link, opts)
	return o
}

// postTo posts o to ex under ctx.
func (o *op[T]) postTo(ctx context.Context, ex Executor) error {
	if p, ok := ex.(*Pool); ok {
		defer runtime.KeepAlive(p)
		return p.open().submit(ctx, &o.task, o)
	}
	o.mu.Lock() // ctx may be ending
	o.carrier = askers(nil)
	o.mu.Unlock()
	posted := &postedCtx{ctx, frame.Of(ctx), o}
	if l, ok := ex.(*limited); ok {
		err := l.post(posted, func(ctx context.Context) { o.exec(ctx, nil) }, true)
		if err == nil && o.canceled.Load() { // maybe before it was carried
			o.withdraw()
		}
		return err
	}
	snapshot := frame.Capture(ctx)
	return ex.Post(posted, func(ctx context.Context) { o.runDetached(ctx, snapshot) })
}

// submit is a Post of a task that brings its memory along.
func (c *core) submit(ctx context.Context, t *task, j job) error {
	err := c.post(ctx, t, j)
	if err != nil {
		c.rejected.Add(1)
	}
	return err
}

// follower is what the end of the caller's context cancels.
type follower interface {
	lazyctx.Follower
	shows() bool
}

// follow has f told when ctx ends. The end of c's own context, which is all that
// can end that of a bare task, reaches the tasks of c behind f anyway. c is nil
// if another executor than a pool has them.
func follow(ctx context.Context, tie *tie.Tie, c *core, f follower) {
	if f.shows() {
		return
	}
	if c == nil {
		tie.To(ctx, f)
		return
	}
	if own, ok := ctx.(*runCtx); ok {
		if host, ok := own.Parent.(*task); ok && host.core == c {
			tie.ToCancel(&own.Ctx, f)
			return
		}
	}
	if ctx.Done() != c.life.Done() {
		tie.To(ctx, f)
	}
}

// contained calls fn on a goroutine that package context started, where no net
// is above.
func contained(fn func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			report.Logger{}.Error(context.Background(), "executor: a callback panicked",
				slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			return
		}
		report.Logger{}.Error(context.Background(), "executor: a callback called runtime.Goexit",
			slog.Any("panic", future.ErrGoexit))
	}()
	fn()
	returned = true
}

// shows reports whether the outcome of o is there.
func (o *op[T]) shows() bool {
	_, settled := o.c.Future().Outcome()
	return settled
}

// Ended is told of the end of the caller's context.
func (o *op[T]) Ended(cause error) {
	contained(func() { o.c.Future().Cancel(cause) })
}

// The job of a pool's task.

func (o *op[T]) run(t *task)                 { o.exec(t, t) }
func (o *op[T]) discard(reason error) func() { return link.Fail(&o.c, reason) }
func (o *op[T]) lost(err error)              { o.c.Fail(err) }

// runDetached is the function that another executor runs; it does so once,
// whatever that does. An executor that has made no task context, but passes on
// what it was given or something of its own, leaves it to o to start with a fresh
// scope and the caller's values.
func (o *op[T]) runDetached(ctx context.Context, snapshot *frame.Attrs) {
	if o.ran.Swap(true) {
		return
	}
	if f := frame.Of(ctx); f == nil || f.Scope() == nil || f.Op() != nil {
		c := newPlainCtx(o.task.values, snapshot, "")
		c.life, c.foreign, c.host = ctx, true, frame.HostOf(ctx)
		ctx = c
	}
	o.exec(ctx, nil)
}

// exec runs fn under ctx and settles the future with how it ended. Before that
// it accounts for t, the pool's task if there is one, so that whoever sees the
// outcome sees the task accounted for.
func (o *op[T]) exec(ctx context.Context, t *task) {
	if o.canceled.Load() {
		if t != nil {
			t.end(skipped, false)
		}
		return
	}
	if t != nil {
		o.ctx.Parent = ctx
	} else {
		o.mu.Lock()
		o.ctx.Parent = ctx
		o.mu.Unlock()
	}
	var (
		value T
		err   error
		state = exited // until fn returns
	)
	defer func() {
		if state == exited {
			if v := recover(); v != nil {
				state, err = panicked, &future.PanicError{Value: v, Stack: debug.Stack()}
			} else {
				err = future.ErrGoexit // and the Goexit goes on
			}
		}
		o.ctx.Release()
		if t != nil {
			t.seat.ending.Store(&o.link)
		}
		if t == nil {
			endPlain(ctx, state, link.Watched(&o.c))
		} else if t.end(state, link.Watched(&o.c)) {
			defer t.core.released()
		}
		switch {
		case err == nil:
			o.c.Complete(value)
		case !o.c.Fail(err) && state != finished:
			o.Report("executor: a submitted function failed after its future had settled", err)
		}
	}()
	value, err = o.fn(&o.ctx)
	state = finished
}

// The producer of the future.

func (o *op[T]) Settled() {
	o.ctx.loose.Store(true)
	o.tie.Cut()
}

// Claim takes o out of a pool's queue before the cancellation shows: whoever
// sees it finds the place free, and o never starts.
func (o *op[T]) Claim() {
	o.canceled.Store(true)
	o.skip()
}

// skip takes o out of a pool's queue, if it is in one.
func (o *op[T]) skip() {
	if o.task.state() == queued && o.task.core.skip(&o.task) {
		o.task.job = nil
	}
}

func (o *op[T]) Canceled(cause error) {
	if o.onCancel != nil {
		o.onCancel(cause)
	}
	if o.task.state() == skipped {
		c := o.task.core
		c.freed(c.queue.out())
		return
	}
	o.withdraw()
	if !o.outlived() {
		o.ctx.Cancel(cause)
	}
}

// outlived reports whether the executor has ended the function's context: a
// Cancel after that must not change the cause that it shows.
func (o *op[T]) outlived() bool {
	if o.task.state() != fresh { // a pool has it
		return o.task.core.life.Err() != nil
	}
	var parent context.Context
	o.mu.Lock()
	if o.carrier != nil { // else it may be a pool's in a moment
		parent = o.ctx.Parent
	}
	o.mu.Unlock()
	return parent != nil && parent.Err() != nil
}

// withdraw frees the place of o in a Limit.
func (o *op[T]) withdraw() {
	o.mu.Lock()
	carrier := o.carrier
	o.mu.Unlock()
	if it, ok := carrier.(*item); ok {
		it.withdraw()
	}
}

func (o *op[T]) Report(msg string, err error) {
	if host := frame.HostOf(&o.ctx); host != nil {
		host.Report(msg, err)
		return
	}
	report.Logger{}.Error(&o.ctx, msg, slog.Any("error", err))
}

func (o *op[T]) owns(t *task) bool { return t == &o.task }

func (o *op[T]) Find(pool any) any {
	if task := o.task.Find(pool); task != nil {
		return task
	}
	o.mu.Lock()
	carrier := o.carrier
	if early, ok := carrier.(askers); ok {
		o.carrier = early.and(pool)
	}
	o.mu.Unlock()
	if carrier != nil {
		return carrier.Find(pool)
	}
	return nil
}

// askers stands in for the carrier of an operation that another executor than a
// Pool has accepted and nothing is known to carry: pools in which somebody
// waits for it.
type askers []*core

func (askers) Find(any) any { return nil }

func (a askers) and(pool any) askers {
	if c, ok := pool.(*core); ok && !slices.Contains(a, c) {
		return append(a, c)
	}
	return a
}

// The far end of a task that another executor carries.

func (o *op[T]) Carried(by frame.Finder) {
	o.mu.Lock()
	early, _ := o.carrier.(askers)
	o.carrier = by
	o.mu.Unlock()
	for _, c := range early { // by may be in a queue already, so that no push tells them
		c.lookAgain()
	}
}

func (o *op[T]) Discard(reason error) (callbacks func()) {
	o.canceled.Store(true) // should it be run all the same
	return link.Fail(&o.c, reason)
}

// Discard reports that a task which was posted with ctx, and accepted, will
// never run. The future of a [Submit] fails with reason, however many wrappers
// lie between; for any other task it does nothing. A nil reason stands for
// ErrClosed. An [Executor] of your own that drops an accepted task calls it; a
// [Pool] does so itself.
//
// The future's callbacks run on the calling goroutine. A nil ctx panics.
func Discard(ctx context.Context, reason error) {
	if ctx == nil {
		panic("executor: Discard with a nil context")
	}
	if reason == nil {
		reason = ErrClosed
	}
	if f := frame.Of(ctx); f != nil && f.Op() != nil {
		if callbacks := f.Op().Discard(reason); callbacks != nil {
			callbacks()
		}
	}
}
