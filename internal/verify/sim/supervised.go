package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor/supervised"
)

// supSide is the supervised pool, its workers and its jobs.
type supSide struct {
	sup         *supervised.Pool[*job, *token]
	workers     []*worker
	supJobs     []*job
	old         []supervised.Assignment[*job, *token] // that have ended
	factoryPlan []ending                              // of the next restarts and activations
	inFactory   int
	launchFails bool
	supStopping bool
	supOpened   time.Time
	queuedThen  map[*job]int // at the last balance, with how often each had been assigned
	assignedNow []*job       // since then
}

const budgetWindow = 10 * time.Second

// job is one job, as its submitter and its workers know it. It is its own
// payload.
type job struct {
	id        int
	caller    *caller
	mark      slog.Value
	marked    bool
	instant   bool // a worker completes it at once
	accepted  bool
	refused   error
	number    supervised.JobID
	fut       *tracked
	assigned  int
	live      *worker
	completed *token
	unclaimed bool // its outcome came as a notice
}

// settled reports that the job's outcome is known, whoever has got it.
func (j *job) settled() bool {
	if j.unclaimed || j.completed != nil {
		return true
	}
	o, ok := j.fut.outcome()
	return ok && !o.canceled
}

func (w *world) openSup() {
	s := w.h.Shape
	cfg := supervised.Config[*job, *token]{
		Factory: w.factory, Backlog: s.Backlog, Activations: 1, Interruption: supervised.Fail,
		Clock: w.clockOrNil(), OnDiagnostic: w.onDiagnostic,
		Launch: w.launch,
	}
	for i := range s.Roles {
		cfg.Roles = append(cfg.Roles, supervised.Role(rune('a'+i)))
	}
	if s.Retry {
		cfg.Interruption, cfg.MaxAttempts = supervised.Retry, s.MaxAttempts
	}
	if s.Drain {
		cfg.DrainWithin = 300 * time.Millisecond
	}
	onLoss := supervised.RetireRole
	if s.StopOnLoss {
		onLoss = supervised.StopPool
	}
	budget := supervised.Budget{Max: s.BudgetMax, Window: budgetWindow}
	backoff := []supervised.Backoff{
		supervised.Immediate(), supervised.Constant(5 * time.Millisecond),
		supervised.Exponential(5*time.Millisecond, 40*time.Millisecond),
	}[s.Backoff]
	cfg.Recovery = []supervised.Recovery{
		supervised.Permanent(budget, backoff, onLoss), supervised.Transient(budget, backoff, onLoss), supervised.Temporary(onLoss),
	}[s.Policy]
	w.supOpened = time.Now()
	p, err := supervised.New(context.Background(), cfg)
	if err != nil {
		panic(err)
	}
	w.sup = p
}

func (w *world) onDiagnostic(d supervised.Diagnostic) {
	w.mu.Lock()
	for _, j := range w.supJobs {
		if d.Job == 0 || j.number != d.Job {
			continue
		}
		if v, ok := d.Context.Get("job"); !ok || v.Int64() != int64(j.id) {
			w.badLocked("a diagnostic about job %d has the attributes of %v", j.id, v)
		}
		if d.Kind == supervised.UnclaimedOutcome {
			if j.unclaimed {
				w.badLocked("the outcome of job %d comes as a notice twice", j.id)
			}
			j.unclaimed = true
		}
	}
	w.mu.Unlock()
	w.hook(context.Background(), "OnDiagnostic", nil)
}

func (w *world) supSubmit(op Op) {
	c := w.newCaller(op, op.B)
	ctx, id := w.jobContext(c.ctx)
	j := &job{id: id, caller: c, instant: op.A%6 == 0}
	j.mark, j.marked = diagnostics.Value(ctx, "mark")
	want, sure := w.expectSubmit(c)
	w.mu.Lock()
	w.supJobs = append(w.supJobs, j)
	w.mu.Unlock()
	w.at(op, fmt.Sprintf("submit job %d%s", id, w.under(c)), func(context.Context) {
		t, err := w.sup.Submit(ctx, j)
		if err != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			j.refused = err
			var re *supervised.RejectedError[*job]
			if !errors.As(err, &re) || re.Job != j {
				w.badLocked("job %d was refused with %v, which has not the job", id, err)
			}
			if sure && (want == nil || !errors.Is(err, want)) {
				w.badLocked("job %d was refused with %v, and not with %v", id, err, want)
			}
			return
		}
		f := track(w, t.Outcome, fmt.Sprintf("outcome of job %d", id), nil)
		w.mu.Lock()
		defer w.mu.Unlock()
		j.accepted, j.number, j.fut = true, t.ID, f
		if sure && want != nil {
			w.badLocked("job %d was accepted, and not refused with %v", id, want)
		}
	})
}

// expectSubmit says what the next Submit answers, as far as that is known.
func (w *world) expectSubmit(c *caller) (want error, sure bool) {
	s, quiet := w.sup.Stats(), w.quiet()
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case c.ended():
		return supervised.ErrSubmitContext, true
	case w.supStopping || s.Mode != "serving":
		return supervised.ErrPoolStopping, true
	case !quiet:
		return nil, false
	}
	retired := true
	for _, r := range s.Roles {
		retired = retired && r.Phase == "retired"
	}
	for _, k := range w.workers {
		if k.state == inNext {
			return nil, true
		}
	}
	switch {
	case retired:
		return supervised.ErrNoWorkers, true
	case s.Queued >= w.h.Shape.Backlog:
		return supervised.ErrBacklogFull, true
	}
	return nil, true
}

// completeJob completes an assignment, the one that is live or one that was.
func (w *world) completeJob(k *worker, a supervised.Assignment[*job, *token], j *job) {
	tok := w.newToken(fmt.Sprintf("job %d", j.id))
	err := a.Complete(tok)
	w.mu.Lock()
	defer w.mu.Unlock()
	o, settled := outcome{}, false
	if j.fut != nil {
		o, settled = j.fut.outcome()
	}
	if err == nil {
		if j.completed != nil {
			w.badLocked("job %d is completed twice", j.id)
		}
		j.completed = tok
		if j.live == k {
			j.live = nil
		}
		w.old = append(w.old, a)
		if settled && !o.canceled && (o.err != nil || o.value.(supervised.Completion[*token]).Result != tok) {
			w.badLocked("job %d was completed, and its future says %v, %v", j.id, o.value, o.err)
		}
		return
	}
	var ce *supervised.CompletionError
	if !errors.As(err, &ce) {
		w.badLocked("a completion of job %d was refused with %v", j.id, err)
	}
}

func (w *world) supComplete(op Op) {
	p, ok := pick(w.withJob(), op.A)
	if !ok {
		w.none()
		return
	}
	k := p.worker
	a, j := k.a, k.job
	if w.site(op) == p {
		p.then = again
	}
	w.at(op, fmt.Sprintf("complete job %d of worker %d", j.id, k.n), func(context.Context) { w.completeJob(k, a, j) })
	w.mu.Lock()
	free := !p.busy && !p.gone
	p.busy = p.busy || free
	w.mu.Unlock()
	if free {
		p.orders <- order{end: again}
	}
}

// withJob lists the workers that stand with a job.
func (w *world) withJob() (out []*puppet) {
	for _, p := range w.idle(workerRole) {
		if p.worker != nil {
			out = append(out, p)
		}
	}
	return out
}

// supCompleteOld completes an assignment that has ended.
func (w *world) supCompleteOld(op Op) {
	a, ok := pick(w.old, op.A)
	if !ok {
		w.none()
		return
	}
	w.counts.fault("completion of an assignment that has ended")
	w.at(op, fmt.Sprintf("complete job %d again", a.Job().id), func(context.Context) {
		if err := a.Complete(w.newToken("a second completion")); !errors.Is(err, supervised.ErrDuplicateCompletion) && !errors.Is(err, supervised.ErrStaleAssignment) {
			w.bad("the second completion of job %d answers %v", a.Job().id, err)
		}
	})
}

// supExit has a worker end: one that stands with a job, or one that waits for
// one.
func (w *world) supExit(op Op) {
	end := map[Kind]ending{kSupReturn: returned, kSupFail: failed, kSupPanic: panicked, kSupGoexit: exited}[op.Kind]
	if ps := w.idle(workerRole); len(ps) > 0 && op.B%4 != 0 {
		p, _ := pick(ps, op.A)
		if p.worker != nil {
			w.old = append(w.old, p.worker.a)
		}
		w.endPuppetOf(op, end, workerRole)
		return
	}
	var waiting []*worker
	w.mu.Lock()
	for _, k := range w.workers {
		if k.state == inNext {
			waiting = append(waiting, k)
		}
	}
	w.mu.Unlock()
	k, ok := pick(waiting, op.A)
	if !ok {
		w.none()
		return
	}
	w.note("worker %d, which waits for a job: %v", k.n, end)
	k.planned = end
	k.stop()
}

// supStorm has all workers that have a job fail, one after the other.
func (w *world) supStorm(op Op) {
	ps := w.withJob()
	if len(ps) == 0 {
		w.none()
		return
	}
	if op.A%2 == 0 {
		slices.Reverse(ps)
	}
	for _, p := range ps {
		w.note("%s: failed", p.what)
		w.old = append(w.old, p.worker.a)
		w.mu.Lock()
		p.busy = true
		w.mu.Unlock()
		p.orders <- order{end: failed}
		w.settle()
		if op.A%4 > 1 { // so that they do not restart at one instant
			time.Sleep(time.Millisecond)
			w.settle()
		}
	}
	for range op.A % 4 * 4 { // and those restarts are seen one by one
		w.ledgers()
		time.Sleep(time.Millisecond)
		w.settle()
	}
}

// armFactory prepares a fault of the next restart or activation.
func (w *world) armFactory(op Op) {
	end := []ending{running, running, failed, panicked, exited}[op.A%5]
	w.note("the next restart or activation: %v", end)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.factoryPlan = append(w.factoryPlan, end)
}

// armLaunch has the next worker, or another goroutine of the pool's, not start.
func (w *world) armLaunch(Op) {
	w.note("the next launch fails")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.launchFails = true
}

func (w *world) launch(fn func()) error {
	w.mu.Lock()
	fails := w.launchFails && !w.epilogue.Load()
	w.launchFails = false
	w.mu.Unlock()
	if fails {
		w.counts.fault("launch that fails")
		return &ownError{"a launch"}
	}
	go fn()
	return nil
}

func (w *world) supStop(op Op) {
	w.supStopping = true
	w.counts.fault("end of the supervised pool")
	w.at(op, "stop the supervised pool", func(context.Context) { w.sup.Stop() })
}

func (w *world) supShutdown(op Op) {
	c := w.newCaller(op, 4+op.B%4)
	w.supStopping = true
	w.counts.fault("end of the supervised pool")
	w.at(op, fmt.Sprintf("shut down the supervised pool under caller %d", c.id), func(context.Context) { _ = w.sup.Shutdown(c.ctx) })
}
