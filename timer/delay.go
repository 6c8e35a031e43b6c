package timer

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/timer/internal/schedule"
)

// entry is one delay and its future, in one allocation.
type entry struct {
	node     schedule.Node
	follows  bool // ctx can end; never changes
	settled  bool // under core.mu: whoever holds stop has to call it
	core     *core
	snapshot             // under core.mu while in the queue, then of whoever took the entry out
	stop     func() bool // under core.mu: ends the registration with the context

	completer future.Completer[time.Time]
	link      frame.Link
}

// snapshot is a context as it was at the call that named it.
type snapshot struct {
	ctx        context.Context
	base, over *frame.Attrs
}

func snapshotOf(ctx context.Context) snapshot {
	base, over := frame.Parts(frame.Of(ctx))
	return snapshot{ctx, base, over}
}

// context returns a child of ctx with a fresh scope that starts as it was.
func (s snapshot) context() context.Context {
	return frame.WithScope(s.ctx, frame.Merge(s.base, s.over))
}

// delay makes an entry that is due at deadline.
func (c *core) delay(ctx context.Context, deadline int64) *future.Future[time.Time] {
	e := &entry{core: c, snapshot: snapshotOf(ctx), follows: ctx.Done() != nil}
	e.link = frame.Link{Producer: e, Keep: true}
	link.Bind(&e.completer, &e.link, nil)
	if err := c.add(e, deadline); err != nil {
		return failed(err)
	}
	// From here on the entry may fire or be canceled at any time.
	if e.follows {
		e.follow(ctx)
	}
	return e.completer.Future()
}

// follow has the delay canceled when ctx ends.
func (e *entry) follow(ctx context.Context) {
	f := e.completer.Future()
	stop := context.AfterFunc(ctx, func() {
		// The goroutine came with the labels of whoever ended ctx.
		pprof.SetGoroutineLabels(context.Background())
		contained(func() { f.Cancel(context.Cause(ctx)) })
	})
	e.core.mu.Lock()
	settled := e.settled
	if !settled {
		e.stop = stop
	}
	e.core.mu.Unlock()
	if settled {
		stop()
	}
}

func (e *entry) Scheduled() *schedule.Node { return &e.node }

func (*entry) popLocked(int64) bool { return true }

func (e *entry) fire(at time.Time) {
	s := e.snapshot
	e.snapshot = snapshot{} // whoever keeps the future need not keep these
	e.core.guarded(s.ctx, s.context, func() { e.completer.Complete(at) })
}

func (*entry) closeLocked(int64) {}

func (e *entry) finish() failure {
	s := e.snapshot
	e.snapshot = snapshot{}
	return failure{s, link.Fail(&e.completer, e.core.error(ErrClosed))}
}

// What the future tells its producer.

// Settled takes the entry out of the queue, if it is still in, and lets go of
// the context. It runs before Cancel or Abandon returns.
func (e *entry) Settled() {
	e.core.mu.Lock()
	if e.core.queue.Remove(e) {
		e.snapshot = snapshot{}
	}
	stop := e.stop
	e.stop, e.settled = nil, true
	e.core.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func (e *entry) Canceled(error) {}

// Find returns nothing: a delay depends on no task.
func (e *entry) Find(any) any { return nil }

// Report is for values that need disposing of, and a time does not.
func (e *entry) Report(msg string, err error) {
	e.core.log.Error(context.Background(), msg, slog.Any("error", err))
}
