package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
)

// poolSide is the pool, its wrappers and what is known of the tasks.
type poolSide struct {
	pool    *executor.Pool
	limited executor.Executor
	bounce  executor.Executor // CallerRuns over the pool

	tasks       []*task
	byJob       []*task // by id; nil where a job is something else
	plain       bool    // every task was posted by the history itself
	poolClosing bool
	escalated   bool
	shutdowns   []*shutdown
	syncs       []*syncCall
	lending     int // awaits inside of tasks
}

const shutdownTimeout = 3 * time.Second

func (w *world) openPool() {
	w.plain = true
	pool, err := executor.New(executor.Config{
		Size: w.h.Shape.Size, QueueLimit: w.h.Shape.Queue, ShutdownTimeout: shutdownTimeout,
		Logger: slog.New(logHandler{w}), Clock: w.clockOrNil(), OnDiscard: w.onDiscard,
	})
	if err != nil {
		panic(err)
	}
	w.pool = pool
	if w.limited, err = executor.Limit(pool, w.h.Shape.Parallel, w.h.Shape.Waiting); err != nil {
		panic(err)
	}
	w.bounce = executor.CallerRuns(pool)
}

func (w *world) onDiscard(ctx context.Context, reason error) {
	w.mu.Lock()
	if id := jobOf(ctx); id >= 0 && id < len(w.byJob) && w.byJob[id] != nil {
		t := w.byJob[id]
		t.discards++
		if t.discards > 1 {
			w.badLocked("%s was discarded twice", t.what)
		}
		if t.starts > 0 {
			w.badLocked("%s was discarded, and has run", t.what)
		}
		if !errors.Is(reason, executor.ErrClosed) {
			w.badLocked("%s was discarded with %v", t.what, reason)
		}
	}
	w.mu.Unlock()
	w.hook(ctx, "OnDiscard", nil)
}

func (w *world) post(op Op) {
	t := w.newTask(op, posted)
	want := w.expectAdmission(t)
	w.at(op, "post "+t.what+w.under(t.caller), func(context.Context) {
		w.admitted(t, w.pool.Post(t.ctx, w.body(t)), want)
	})
}

func (w *world) under(c *caller) string {
	if c.cancel == nil {
		return ""
	}
	return fmt.Sprintf(" under caller %d", c.id)
}

func (w *world) submit(op Op) {
	t := w.newTask(op, submitted)
	want := w.expectAdmission(t)
	w.at(op, "submit "+t.what+w.under(t.caller), func(context.Context) {
		f := executor.Submit(t.ctx, w.pool, w.bodyOf(t), w.dispose())
		w.submitted(t, f, want)
	})
}

// submitted enters a future that Submit has returned. Whether the task was
// accepted shows in the future alone.
func (w *world) submitted(t *task, f *future.Future[*token], want admission) {
	tr := track(w, f, "future of "+t.what, t.caller)
	tr.task = t
	w.mu.Lock()
	t.fut = tr
	w.mu.Unlock()
	var rejected *executor.RejectedError
	if o, ok := f.Outcome(); ok && errors.As(o.Err, &rejected) {
		w.admitted(t, rejected, want)
		return
	}
	if o, ok := f.Outcome(); ok && o.Canceled() && want.ended {
		return
	}
	w.admitted(t, nil, want)
}

func (w *world) postWait(op Op) {
	t := w.newTask(op, waited)
	t.call = w.at(op, "post-wait "+t.what+w.under(t.caller), func(context.Context) {
		err := w.pool.PostWait(t.ctx, w.body(t))
		w.admitted(t, err, admission{unknown: true})
	})
}

func (w *world) submitAfter(op Op) {
	w.plain = false
	t := w.newTask(op, delayed)
	// Of two that are due at one instant, which finds the queue full is a race.
	d := time.Duration(op.C%30)*5*time.Millisecond + time.Duration(t.id)*time.Microsecond
	w.at(op, fmt.Sprintf("submit %s after %v%s", t.what, d, w.under(t.caller)), func(context.Context) {
		t.due = w.now().Add(d)
		f := executor.SubmitAfter(t.ctx, w.pool, d, w.bodyOf(t), w.dispose())
		tr := track(w, f, "future of "+t.what, t.caller)
		tr.task = t
		w.mu.Lock()
		t.fut = tr
		t.accepted = true
		w.mu.Unlock()
	})
}

func (w *world) limitPost(op Op) {
	w.plain = false
	t := w.newTask(op, limitPosted)
	w.at(op, "post to the Limit "+t.what+w.under(t.caller), func(context.Context) {
		w.admitted(t, w.limited.Post(t.ctx, w.body(t)), admission{unknown: true})
	})
}

func (w *world) limitSubmit(op Op) {
	w.plain = false
	t := w.newTask(op, limitSubmitted)
	w.at(op, "submit to the Limit "+t.what+w.under(t.caller), func(context.Context) {
		w.submitted(t, executor.Submit(t.ctx, w.limited, w.bodyOf(t), w.dispose()), admission{unknown: true, ended: t.caller.ended()})
	})
}

func (w *world) callerRuns(op Op) {
	if !w.quiet() {
		w.none()
		return
	}
	t := w.newTask(op, bounced)
	want := w.expectAdmission(t)
	if errors.Is(want.err, executor.ErrQueueFull) {
		t.inline = true
		want.err = nil
	}
	w.plain = false
	w.at(op, "post to CallerRuns "+t.what+w.under(t.caller), func(context.Context) {
		w.admitted(t, w.bounce.Post(t.ctx, w.body(t)), want)
	})
}

func (w *world) mapItems(op Op) {
	w.plain = false
	c := w.newCaller(op, op.B)
	n := 1 + int(op.A%4)
	var ts []*task
	first, _ := w.jobContext(c.ctx) // the items share its attributes
	shared := jobOf(first)
	for i := range n {
		t := &task{id: shared, kind: mapped, what: fmt.Sprintf("item %d of job %d", i, shared), caller: c, ctx: first, seq: len(w.tasks), plan: running}
		t.mark, t.marked = diagnostics.Value(first, "mark")
		if (op.A>>2+uint16(i))%3 == 0 && w.h.Shape.Size == 1 { // else workers race
			t.plan = []ending{returned, returned, failed, panicked, exited}[op.C%5]
		}
		ts = append(ts, t)
		w.mu.Lock()
		w.tasks = append(w.tasks, t)
		w.mu.Unlock()
	}
	w.at(op, fmt.Sprintf("map job %d over %d items%s", shared, n, w.under(c)), func(context.Context) {
		f := executor.Map(first, w.pool, ts, func(ctx context.Context, t *task) (*token, error) { return w.bodyOf(t)(ctx) })
		tr := track(w, f, fmt.Sprintf("future of the map %d", shared), c)
		tr.mapped = ts
		w.mu.Lock()
		for _, t := range ts {
			t.accepted = true
		}
		w.mu.Unlock()
	})
}

// endPuppet ends a task as the operation's name says.
func (w *world) endPuppet(op Op) {
	end := map[Kind]ending{kReturn: returned, kFail: failed, kPanic: panicked, kPanicNil: panickedNil, kGoexit: exited}[op.Kind]
	if op.B%4 == 0 {
		w.endPuppetOf(op, end, taskRole, connectRole, doRole)
		return
	}
	w.endPuppetOf(op, end, taskRole, doRole)
}

func (w *world) endPuppetOf(op Op, end ending, roles ...role) {
	p, ok := pick(w.idle(roles...), op.A)
	if !ok {
		w.none()
		return
	}
	w.note("%s: %v", p.what, end)
	w.mu.Lock()
	p.busy = true
	w.mu.Unlock()
	p.orders <- order{end: end}
}
