package executor

import (
	"context"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

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
// discarded the task. A nil ctx, ex or fn is a [*ConfigError].
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
	if err := o.postTo(ctx, ex); err != nil {
		o.c.Fail(err)
	} else {
		o.follow(ctx)
	}
	return o.c.Future()
}

func badSubmit(ctx context.Context, ex Executor, noFn bool) error {
	if err := badPost(ctx, noFn); err != nil {
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
	task task // unused if another executor than a Pool was given
	c    future.Completer[T]
	link frame.Link
	ctx  runCtx
	fn   func(context.Context) (T, error)
	tie  tie.Tie // to the caller's context

	canceled atomic.Bool
	onCancel func(cause error) // for what stands before the post; set before it can be called

	mu      sync.Mutex   // protects carrier
	carrier frame.Finder // what carries the operation, if not task
}

func newOp[T any](ctx context.Context, fn func(context.Context) (T, error), opts []future.Option[T]) *op[T] {
	o := &op[T]{fn: fn}
	o.link = frame.Link{Producer: o, Keep: true}
	o.ctx.caller, o.ctx.values = ctx, valuesOf(ctx)
	if len(opts) > 0 {
		link.Bind(&o.c, &o.link, opts)
	} else {
		link.Bind(&o.c, &o.link, nil)
	}
	return o
}

// postTo posts o to ex under ctx.
func (o *op[T]) postTo(ctx context.Context, ex Executor) error {
	if p, ok := ex.(*Pool); ok {
		defer runtime.KeepAlive(p)
		return p.open().submit(ctx, &o.task, o)
	}
	return ex.Post(&postedCtx{ctx, frame.Of(ctx), o}, o.runDetached)
}

// submit is a Post of a task that brings its memory along.
func (c *core) submit(ctx context.Context, t *task, j job) error {
	err := c.post(ctx, t, j)
	if err != nil {
		c.rejected.Add(1)
	}
	return err
}

// follow cancels o when ctx ends. The end of the pool's own context, which is
// all that can end a bare task's, reaches o anyway.
func (o *op[T]) follow(ctx context.Context) {
	if c := o.task.core; c != nil && ctx.Done() == c.life.Done() {
		return
	}
	o.tie.To(ctx, func(cause error) {
		defer containCallback()
		o.c.Future().Cancel(cause)
	})
}

// containCallback is the net of a goroutine that package context started.
func containCallback() {
	if v := recover(); v != nil {
		report.Logger{}.Error(context.Background(), "executor: a callback panicked",
			slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
	}
}

// The job of a pool's task.

func (o *op[T]) run(t *task)                 { o.exec(t, t) }
func (o *op[T]) discard(reason error) func() { return link.Fail(&o.c, reason) }
func (o *op[T]) lost(err error)              { o.c.Fail(err) }

// runDetached is the function that another executor runs.
func (o *op[T]) runDetached(ctx context.Context) { o.exec(ctx, nil) }

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
	o.ctx.Parent = ctx
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
		if t != nil && t.end(state, link.Watched(&o.c)) {
			defer t.core.released()
		}
		if err != nil {
			o.c.Fail(err)
		} else {
			o.c.Complete(value)
		}
	}()
	value, err = o.fn(&o.ctx)
	state = finished
}

// The producer of the future.

func (o *op[T]) Settled() { o.tie.Cut() }

func (o *op[T]) Canceled(cause error) {
	o.canceled.Store(true)
	if o.onCancel != nil {
		o.onCancel(cause)
	}
	if o.task.claim(skipped) {
		o.task.job = nil
		o.task.core.ended(skipped, false)
		return
	}
	o.ctx.Cancel(cause)
}

func (o *op[T]) Report(msg string, err error) {
	if host := frame.HostOf(&o.ctx); host != nil {
		host.Report(msg, err)
		return
	}
	report.Logger{}.Error(&o.ctx, msg, slog.Any("error", err))
}

func (o *op[T]) Find(pool any) any {
	if task := o.task.Find(pool); task != nil {
		return task
	}
	o.mu.Lock()
	carrier := o.carrier
	o.mu.Unlock()
	if carrier != nil {
		return carrier.Find(pool)
	}
	return nil
}

// The far end of a task that another executor carries.

func (o *op[T]) Carried(by frame.Finder) {
	o.mu.Lock()
	o.carrier = by
	o.mu.Unlock()
}

func (o *op[T]) Discard(reason error) {
	o.canceled.Store(true) // should it be run all the same
	o.c.Fail(reason)
}

// runCtx is what a submitted function runs under: the context that its
// executor gave, a cancellation of its own, and the caller's deadline.
type runCtx struct {
	lazyctx.Ctx
	caller context.Context
	values context.Context // see valuesOf
}

// Deadline is the earlier of the caller's and the executor's.
func (c *runCtx) Deadline() (time.Time, bool) {
	d, ok := c.Ctx.Deadline()
	if cd, cok := c.caller.Deadline(); cok && (!ok || cd.Before(d)) {
		return cd, true
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
		f.Op().Discard(reason)
	}
}
