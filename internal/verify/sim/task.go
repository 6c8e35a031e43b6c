package sim

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/cadre-go/cadre/diagnostics"
)

// task is one task, as its poster and its own run know it.
type task struct {
	id     int
	what   string
	kind   taskKind
	seq    int // of acceptance
	caller *caller
	ctx    context.Context // that it was posted with
	own    context.Context // that it was given
	mark   slog.Value      // what it may see of marks
	marked bool
	plan   ending // at once; running: a puppet

	call     *call
	accepted bool
	rejected error
	inline   bool
	starts   int
	end      ending
	discards int
	fut      *tracked
	token    *token
	due      time.Time

	errorRecords, warnRecords int
}

type taskKind uint8

const (
	posted taskKind = iota
	submitted
	waited
	delayed
	ticked
	limitPosted
	limitSubmitted
	bounced
	mapped
	synced
)

func (k taskKind) String() string {
	return [...]string{"post", "submit", "wait", "delayed", "tick", "limit post", "limit submit", "bounced", "mapped", "synced"}[k]
}

func (k taskKind) limited() bool { return k == limitPosted || k == limitSubmitted }

func (t *task) live() bool { return t.starts > 0 && t.end == running }

// gone reports that the task will never start.
func (t *task) gone() bool {
	if t.discards > 0 || t.rejected != nil {
		return true
	}
	return t.fut != nil && t.fut.settledNow() && !t.fut.abandonWon
}

// newTask makes the task of an operation. Its plan is a puppet's in two of three
// cases, or one that ends at once.
func (w *world) newTask(op Op, kind taskKind) *task {
	c := w.newCaller(op, op.B)
	ctx, id := w.jobContext(c.ctx)
	t := &task{
		id: id, kind: kind, what: fmt.Sprintf("task %d (%v)", id, kind), caller: c, ctx: ctx,
		seq: len(w.tasks), plan: running,
	}
	t.mark, t.marked = diagnostics.Value(ctx, "mark")
	if op.A%3 == 0 {
		t.plan = []ending{returned, failed, panicked, panickedNil, exited}[op.A/3%5]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addTaskLocked(t)
	return t
}

func (w *world) addTaskLocked(t *task) {
	w.tasks = append(w.tasks, t)
	for len(w.byJob) <= t.id {
		w.byJob = append(w.byJob, nil)
	}
	w.byJob[t.id] = t
}

// play is the body of every task.
func (w *world) play(ctx context.Context, t *task) (end ending) {
	w.begin(ctx, t)
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if t.end == running {
			t.end = exited
		}
	}()
	end = t.plan
	if end == running {
		p := w.newPuppet(taskRole, ctx, t.what)
		p.task = t
		end = w.stand(p, nil)
	}
	if end != returned {
		w.counts.fault("task that " + end.String())
	}
	w.mu.Lock()
	t.end = end
	w.mu.Unlock()
	return end
}

// begin checks what has to hold when a task starts.
func (w *world) begin(ctx context.Context, t *task) {
	w.sound(ctx, t.id, t.what)
	mark, marked := diagnostics.Value(ctx, "mark")
	w.mu.Lock()
	defer w.mu.Unlock()
	if marked != t.marked || marked && !mark.Equal(t.mark) {
		w.badLocked("%s starts with the mark %v of another task", t.what, mark)
	}
	t.starts++
	t.own = ctx
	switch {
	case t.starts > 1:
		w.badLocked("%s started twice", t.what)
	case t.rejected != nil:
		w.badLocked("%s was rejected with %v, and starts", t.what, t.rejected)
	case t.discards > 0:
		w.badLocked("%s was discarded, and starts", t.what)
	case t.fut != nil && t.fut.seen && !t.fut.abandonWon:
		w.badLocked("%s starts though its future has settled", t.what)
	}
	w.inOrderLocked(t)
}

// inOrderLocked is EXEC-3: when a task starts, fewer than Size of those that were
// accepted before it have not. A stand-in runs a task out of turn. A Limit
// starts its own in order.
func (w *world) inOrderLocked(t *task) {
	earlier := 0
	for _, o := range w.tasks {
		if o == t || o.seq > t.seq || o.starts > 0 || !o.accepted || o.gone() {
			continue
		}
		switch {
		case t.kind.limited() && o.kind.limited():
			if !o.inline && w.h.Shape.Parallel == 1 {
				w.badLocked("%s starts before %s, which its Limit accepted earlier", t.what, o.what)
			}
		case t.kind <= waited && o.kind <= waited:
			earlier++
		}
	}
	if earlier >= w.h.Shape.Size && w.lending == 0 {
		w.badLocked("%s starts, and %d that were accepted earlier have not", t.what, earlier)
	}
}

func (w *world) body(t *task) func(context.Context) {
	return func(ctx context.Context) { _ = finish(w.play(ctx, t), t.what) }
}

// bodyOf is the function of a task that is submitted.
func (w *world) bodyOf(t *task) func(context.Context) (*token, error) {
	return func(ctx context.Context) (*token, error) {
		if err := finish(w.play(ctx, t), t.what); err != nil {
			return nil, err
		}
		t.token = w.newToken(t.what)
		return t.token, nil
	}
}
