package executor

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/report"
)

// plainCtx is what a task runs under that no pool carries by itself: the
// caller's values, a diagnostic scope of its own, and the lifetime of life.
type plainCtx struct {
	life   context.Context // has no values but its own cancelCtx
	values context.Context
	scope  frame.Scope
	host   frame.Host // whose slot the task runs on; nil for none
}

func newPlainCtx(ctx context.Context) *plainCtx {
	c := &plainCtx{life: context.Background(), values: valuesOf(ctx)}
	c.scope.Start(frame.Capture(ctx))
	return c
}

func (c *plainCtx) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *plainCtx) Done() <-chan struct{}       { return c.life.Done() }
func (c *plainCtx) Err() error                  { return c.life.Err() }

func (c *plainCtx) Value(key any) any {
	if key == (frame.Key{}) {
		return c
	}
	if v := c.life.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

func (c *plainCtx) Scope() *frame.Scope { return &c.scope }
func (c *plainCtx) Over() *frame.Attrs  { return nil }
func (c *plainCtx) Op() frame.Op        { return nil }
func (c *plainCtx) Host() frame.Host    { return c.host }

// run runs fn under c. A panic is contained and logged once; a Goexit is
// logged and goes on.
func (c *plainCtx) run(fn func(context.Context)) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			c.report("executor: task panicked", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			return
		}
		c.report("executor: task called runtime.Goexit", slog.Any("panic", future.ErrGoexit))
	}()
	fn(c)
	returned = true
}

func (c *plainCtx) report(msg string, attrs ...slog.Attr) {
	log := report.Logger{}
	if t, ok := c.host.(*task); ok {
		log, attrs = t.core.log, t.core.logAttrs(attrs...)
	}
	log.Error(c, msg, attrs...)
}

// refused checks a Post to an executor that has no queue.
func refused(ctx context.Context, name string, noTask bool) error {
	if err := badPost(ctx, noTask); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &RejectedError{Pool: name, Reason: context.Cause(ctx), ctxErr: err}
	}
	return nil
}

type inline struct{}

// Inline returns an [Executor] that runs each task on the caller's stack,
// before Post returns. A panic is contained and logged; a runtime.Goexit is the
// caller's own. The caller's pprof labels stay as they are.
func Inline() Executor { return inline{} }

func (inline) Post(ctx context.Context, task func(context.Context)) error {
	if err := refused(ctx, "inline", task == nil); err != nil {
		return err
	}
	runInline(ctx, task)
	return nil
}

func runInline(ctx context.Context, task func(context.Context)) {
	c := newPlainCtx(ctx)
	c.host = frame.HostOf(ctx)
	c.run(task)
}

type goroutines struct{}

// Go returns an [Executor] that starts a goroutine for each task. It has no
// bound and no end: nothing waits for its tasks.
func Go() Executor { return goroutines{} }

func (goroutines) Post(ctx context.Context, task func(context.Context)) error {
	if err := refused(ctx, "go", task == nil); err != nil {
		return err
	}
	c := newPlainCtx(ctx)
	go func() {
		pprof.SetGoroutineLabels(c) // the caller's, or none
		c.run(task)
	}()
	return nil
}

type callerRuns struct{ ex Executor }

// CallerRuns returns an [Executor] that posts to ex and, when ex's queue is
// full, runs the task on the caller's stack as [Inline] does: producers slow
// down instead of being refused. A nil ex panics.
func CallerRuns(ex Executor) Executor {
	if ex == nil {
		panic("executor: CallerRuns of a nil Executor")
	}
	return callerRuns{ex}
}

func (e callerRuns) Post(ctx context.Context, task func(context.Context)) error {
	err := e.ex.Post(ctx, task)
	if errors.Is(err, ErrQueueFull) {
		runInline(ctx, task)
		return nil
	}
	return err
}
