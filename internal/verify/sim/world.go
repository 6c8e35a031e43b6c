package sim

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/timer"
)

// world is the stage of one history: the subjects, the puppets in them, and the
// books.
type world struct {
	h      History
	run    string // names this run in labels; two runs may overlap in a process
	counts *Counts
	clock  *jumpClock // nil: the bubble's

	mu        sync.Mutex // guards all below that foreign code writes to
	violation string
	lines     []string
	puppets   []*puppet
	blocked   int         // puppets that hold up whoever called them
	epilogue  atomic.Bool // the history is over, and puppets return at once
	armed     []hookFault

	jobs    int
	callers []*caller
	calls   []*call
	jumped  bool
	// How often the clock was set back while a puppet held somebody up: what was
	// due behind that, by the reading before, fires.
	setBacks int
	step     int
	skip     bool // the operation found nothing to act on

	poolSide
	timerSide
	futureSide
	leaseSide
	supSide
}

var runs atomic.Uint64

func newWorld(h History, counts *Counts) *world {
	w := &world{h: h, counts: counts, run: strconv.FormatUint(runs.Add(1), 36)}
	if h.Shape.JumpClock {
		w.clock = newJumpClock()
	}
	w.openPool()
	w.openTimer()
	w.openLease()
	w.openSup()
	w.settle()
	return w
}

// settle returns when every other goroutine has come to rest.
func (w *world) settle() { synctest.Wait() }

// bad records the first violation of a ledger.
func (w *world) bad(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.badLocked(format, args...)
}

func (w *world) badLocked(format string, args ...any) {
	if w.violation == "" {
		w.violation = fmt.Sprintf("step %d: ", w.step) + fmt.Sprintf(format, args...)
	}
}

func (w *world) failing() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.violation != ""
}

// note adds a line to the trace. Only the main goroutine does: so the trace does
// not depend on what happens at once inside of a step.
func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf("%3d ", w.step)+fmt.Sprintf(format, args...))
}

// none is how an operation ends that has nothing to act on.
func (w *world) none() { w.skip = true }

func (w *world) now() time.Time {
	if w.clock != nil {
		return w.clock.Now()
	}
	return time.Now()
}

// clockOrNil is what the subjects are configured with.
func (w *world) clockOrNil() timer.Clock {
	if w.clock == nil {
		return nil
	}
	return w.clock
}

// pick chooses an element by an argument of an operation.
func pick[T any](list []T, arg uint16) (T, bool) {
	if len(list) == 0 {
		var zero T
		return zero, false
	}
	return list[int(arg)%len(list)], true
}

// caller is the context under which something is asked for.
type caller struct {
	id     int
	ctx    context.Context
	cancel context.CancelCauseFunc // nil: it is nobody's to end
	cause  error
	inHook bool // made in a hook of the lease pool
	nested bool // descends from the context of a puppet, of a task maybe
}

func (c *caller) ended() bool { return c.ctx.Err() != nil }

// newCaller makes the context of an operation, or finds one that is there
// already. Half of those that are asked for in a puppet descend from its own.
func (w *world) newCaller(op Op, sel uint16) *caller {
	base := context.Background()
	hooked := false
	if p := w.site(op); p != nil {
		hooked = p.role == connectRole || p.role == hookRole || p.ctx != nil && p.ctx.Value(inHook{}) != nil
		if p.ctx != nil && op.C%2 == 0 {
			base = p.ctx
		}
	}
	c := &caller{id: len(w.callers), ctx: base, inHook: hooked, nested: base != context.Background()}
	c.cause = &ownError{"caller " + strconv.Itoa(c.id)}
	switch sel % 8 {
	case 4, 5:
		c.ctx, c.cancel = context.WithCancelCause(base)
	case 6:
		d := time.Duration(1+sel/8%20) * 5 * time.Millisecond
		d += time.Duration(c.id) * time.Microsecond // no two at one instant
		var stop context.CancelFunc
		c.ctx, stop = context.WithTimeoutCause(base, d, c.cause)
		c.cancel = func(error) { stop() }
		w.counts.fault("deadline of a caller")
	case 7:
		if len(w.callers) > 0 && sel/8%4 != 0 {
			c, _ = pick(w.callers, sel/32)
			return c
		}
		c.ctx, c.cancel = context.WithCancelCause(base)
		c.cancel(c.cause)
		w.counts.fault("context that has ended before the call")
	}
	w.callers = append(w.callers, c)
	return c
}

// inHook marks the contexts of puppets in Connect and Validate, and what descends
// from them.
type inHook struct{}

type jobKey struct{}

// jobContext marks ctx in every way that a job's context can be told from
// another's: a value, an attribute, a label.
func (w *world) jobContext(ctx context.Context) (context.Context, int) {
	id := w.jobs
	w.jobs++
	ctx = context.WithValue(ctx, jobKey{}, id)
	ctx = diagnostics.With(ctx, slog.Int("job", id))
	return pprof.WithLabels(ctx, pprof.Labels("job", w.label(id))), id
}

func (w *world) label(job int) string { return w.run + "-" + strconv.Itoa(job) }

// jobOf is the job whose context ctx is, or -1.
func jobOf(ctx context.Context) int {
	if ctx == nil {
		return -1
	}
	if id, ok := ctx.Value(jobKey{}).(int); ok {
		return id
	}
	return -1
}

// sound checks that ctx is job's and nobody else's.
func (w *world) sound(ctx context.Context, job int, what string) {
	if got := jobOf(ctx); got != job {
		w.bad("%s: its context has the values of job %d, not of %d", what, got, job)
	}
	if v, ok := diagnostics.Value(ctx, "job"); !ok || v.Int64() != int64(job) {
		w.bad("%s: its context has the attributes of job %v, not of %d", what, v, job)
	}
	if l, _ := pprof.Label(ctx, "job"); l != w.label(job) {
		w.bad("%s: its context has the label %q, not %q", what, l, w.label(job))
	}
}

// quiet reports that nobody is held up by a puppet in a hook or a callback,
// so that whatever can go on has gone on. A Connect is bound to return when its
// context ends, and does not while it waits for something else.
func (w *world) quiet() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.puppets {
		if p.role == connectRole && p.busy && !p.gone {
			return false
		}
	}
	return w.blocked == 0
}

// advance lets time pass.
func (w *world) advance(op Op) {
	d := []time.Duration{
		time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond,
		time.Second, 10 * time.Second, time.Minute,
	}[op.A%7]
	if d > time.Second && op.B%2 == 0 {
		d = 50 * time.Millisecond
	}
	w.note("advance by %v", d)
	// In pieces, so that what happens at different times is seen one by one.
	piece := max(d/16, time.Millisecond)
	for ; d > 0 && !w.failing(); d -= piece {
		time.Sleep(min(piece, d))
		w.settle()
		w.ledgers()
	}
}

// jump sets the clock.
func (w *world) jump(op Op) {
	if w.clock == nil {
		w.none()
		return
	}
	d := time.Duration(1+op.A%50) * 4 * time.Millisecond
	if op.B%2 == 0 {
		d = -d
		w.counts.fault("clock set back")
	} else {
		w.counts.fault("clock set forth")
	}
	w.note("set the clock by %v", d)
	w.jumped = true
	if d < 0 && !w.quiet() {
		w.setBacks++
	}
	w.clock.jump(d)
}

// endContext ends the context of a caller.
func (w *world) endContext(op Op) {
	var open []*caller
	for _, c := range w.callers {
		if c.cancel != nil && !c.ended() {
			open = append(open, c)
		}
	}
	c, ok := pick(open, op.A)
	if !ok {
		w.none()
		return
	}
	w.counts.fault("context ended by its caller")
	w.at(op, fmt.Sprintf("end the context of caller %d", c.id), func(context.Context) { c.cancel(c.cause) })
}

// mark has a puppet leave traces that nobody else may see: an attribute in its
// scope, and labels on its goroutine.
func (w *world) mark(op Op) {
	p, ok := pick(w.idle(taskRole, workerRole), op.A)
	if !ok || jobOf(p.ctx) < 0 || p.task != nil && p.task.inline { // a caller's goroutine is the caller's
		w.none()
		return
	}
	w.counts.fault("attributes and labels left behind")
	w.note("%s leaves an attribute and labels behind", p.what)
	w.mu.Lock()
	p.busy = true
	w.mu.Unlock()
	p.orders <- order{run: func(ctx context.Context) {
		diagnostics.Set(ctx, slog.Int("mark", jobOf(ctx)))
		pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("stray", w.label(jobOf(ctx)))))
	}}
}
