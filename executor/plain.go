package executor

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/report"
)

// plainCtx is what a task runs under that no pool carries by itself: the
// caller's values, a diagnostic scope of its own, and the lifetime of life.
type plainCtx struct {
	life    context.Context
	foreign bool            // life is of an executor that is not ours, and may have values
	values  context.Context // the caller's; see valuesOf
	shield  context.Context // values without their cancelCtx, which is not this context's
	scope   frame.Scope
	host    frame.Host      // whose slot the task runs on; nil for none
	labels  context.Context // what the goroutine carries beside tasks; nil if it is not ours
	name    string          // of the executor
	log     report.Logger
	item    *item         // of a Limit, whose end is to be told early; nil for none
	state   atomic.Uint64 // how the task ended, if that was told ahead of its return
}

// newPlainCtx returns the context of a task that is posted under a context with
// these values and attributes, on the caller's stack so far.
func newPlainCtx(values context.Context, attrs *frame.Attrs, name string) *plainCtx {
	c := &plainCtx{life: context.Background(), values: values, shield: values, name: name}
	if values != context.Background() {
		c.shield = context.WithoutCancel(values)
	}
	c.scope.Start(attrs)
	return c
}

// detach captures ctx for a task that is posted under it.
func detach(ctx context.Context, name string) *plainCtx {
	values := ctx
	if p, ok := ctx.(*postedCtx); ok { // the operation is done with when the task runs
		values = p.Context
	}
	return newPlainCtx(valuesOf(values), frame.Capture(ctx), name)
}

func (c *plainCtx) Deadline() (time.Time, bool) { return c.life.Deadline() }
func (c *plainCtx) Done() <-chan struct{}       { return c.life.Done() }
func (c *plainCtx) Err() error                  { return c.life.Err() }

// Value asks the caller's context first: life may be that of a foreign executor,
// whose values are none of the caller's. Package context finds the cancelCtx of
// life, since that of the caller is shielded.
func (c *plainCtx) Value(key any) any {
	if key == (frame.Key{}) {
		return c
	}
	if v := c.shield.Value(key); v != nil {
		return v
	}
	return c.life.Value(key)
}

func (c *plainCtx) Scope() *frame.Scope { return &c.scope }
func (c *plainCtx) Over() *frame.Attrs  { return nil }
func (c *plainCtx) Op() frame.Op        { return nil }
func (c *plainCtx) Host() frame.Host    { return c.host }

// adopt makes c the context of a task that the goroutine running under ctx runs
// now.
func (c *plainCtx) adopt(ctx context.Context) {
	c.life, c.foreign = ctx, true
	switch f := frame.Of(ctx).(type) {
	case *task:
		c.host, c.labels = f, f.core.labels
		if ctx == context.Context(f) {
			c.life, c.foreign = f.core.life, false
		}
	case *plainCtx:
		c.host, c.labels = f.host, f.labels
		if ctx == context.Context(f) {
			c.life, c.foreign = f.life, f.foreign
		}
	case nil:
	default:
		c.host = f.Host()
	}
}

// run runs fn under c, with the labels of c if the goroutine is ours. A panic
// is contained and logged once; a Goexit is logged and goes on.
func (c *plainCtx) run(fn func(context.Context)) {
	if c.labels != nil {
		defer pprof.SetGoroutineLabels(c.labels)
	}
	returned := false
	defer func() {
		if !returned {
			c.net(recover())
		}
	}()
	func() {
		defer fn(c) // whatever a foreign context does when it is asked
		if c.labels != nil && frame.Labeled(c) {
			pprof.SetGoroutineLabels(c)
		}
	}()
	returned = true
}

// net reports how foreign code under c ended: with a panic of v, or with a
// Goexit if v is nil. Where a task has told of its end already, it was its
// future's callbacks.
func (c *plainCtx) net(v any) {
	state := c.state.Load()
	what := "task"
	if state != fresh {
		what = "a callback"
	}
	switch {
	case v != nil:
		c.report("executor: "+what+" panicked", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
	case state != exited:
		c.report("executor: "+what+" called runtime.Goexit", slog.Any("panic", future.ErrGoexit))
	}
}

func (c *plainCtx) report(msg string, attrs ...slog.Attr) {
	if t, ok := c.host.(*task); ok {
		t.core.log.Error(c, msg, t.core.logAttrs(attrs...)...)
		return
	}
	c.log.Error(c, msg, append([]slog.Attr{slog.String("pool", c.name)}, attrs...)...)
}

// endPlain tells of the end of a task ahead of its return, so that nobody sees
// the outcome before the end has been accounted for. With callbacks to come the
// goroutine stays busy, and so does the place in a Limit.
func endPlain(ctx context.Context, state uint64, callbacks bool) {
	c, ok := ctx.(*plainCtx)
	if !ok {
		return
	}
	c.state.Store(state)
	if c.item != nil && !callbacks {
		c.item.end()
	}
}

// refuse checks a Post to an executor that has no queue.
func refuse(ctx context.Context, name string, task func(context.Context)) error {
	if err := badPost(ctx, task == nil); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &RejectedError{Pool: name, Reason: context.Cause(ctx), ctxErr: err}
	}
	return nil
}

func init() {
	link.Refuse = refuse
	link.Detach = func(ctx context.Context, name string, task func(context.Context)) func() {
		c := detach(ctx, name)
		return func() { c.run(task) }
	}
}

type inline struct{}

// Inline returns an [Executor] that runs each task on the caller's stack,
// before Post returns. A panic is contained and logged; a runtime.Goexit is the
// caller's own. The caller's pprof labels stay as they are. Under the context
// of a pool's task a task has that pool's lifetime, elsewhere its context does
// not end.
func Inline() Executor { return inline{} }

func (inline) Post(ctx context.Context, fn func(context.Context)) error {
	if err := refuse(ctx, "inline", fn); err != nil {
		return err
	}
	c := detach(ctx, "inline")
	if f := frame.Of(ctx); f != nil {
		c.host = f.Host()
		if t, ok := c.host.(*task); ok && t.active() {
			c.life = t.core.life
		}
	}
	c.run(fn)
	return nil
}

type goroutines struct{}

// Go returns an [Executor] that starts a goroutine for each task. It has no
// bound and no end: nothing waits for its tasks, and their contexts do not end.
func Go() Executor { return goroutines{} }

func (goroutines) Post(ctx context.Context, task func(context.Context)) error {
	if err := refuse(ctx, "go", task); err != nil {
		return err
	}
	c := detach(ctx, "go")
	c.labels = context.Background()
	go func() {
		pprof.SetGoroutineLabels(c.labels) // it came with the caller's goroutine's
		c.run(task)
	}()
	return nil
}

type callerRuns struct{ ex Executor }

// CallerRuns returns an [Executor] that posts to ex and, when ex's queue is
// full, runs the task on the caller's stack as [Inline] does: producers slow
// down instead of being refused. Such a task does not wait its turn: over a
// [Serial] it runs beside the others. A nil ex panics.
func CallerRuns(ex Executor) Executor {
	if ex == nil {
		panic("executor: CallerRuns of a nil Executor")
	}
	return callerRuns{ex}
}

func (e callerRuns) Post(ctx context.Context, task func(context.Context)) error {
	err := e.ex.Post(ctx, task)
	if errors.Is(err, ErrQueueFull) {
		return inline{}.Post(ctx, task)
	}
	return err
}
