package sim

import (
	"context"
	"errors"

	"github.com/cadre-go/cadre/executor"
)

// admission is what a post has to be answered with.
type admission struct {
	unknown bool  // nothing can be said
	err     error // nil: accepted
	ended   bool  // the context had ended
}

// expectAdmission says what the next Post has to answer: it is asked when
// everything rests, and nothing but that Post happens next. EXEC-2.
func (w *world) expectAdmission(t *task) admission {
	switch {
	case w.poolClosing:
		return admission{err: executor.ErrClosed}
	case t.caller.ended():
		return admission{err: context.Cause(t.caller.ctx), ended: true}
	case !w.quiet():
		return admission{unknown: true}
	}
	s := w.pool.Stats()
	if s.Running-s.Lent >= s.Size && s.Queued >= max(0, s.QueueLimit) {
		return admission{err: executor.ErrQueueFull}
	}
	return admission{}
}

// admitted enters the answer of a post.
func (w *world) admitted(t *task, err error, want admission) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		t.accepted = true
	} else {
		t.rejected = err
		if t.starts > 0 {
			w.badLocked("%s was rejected with %v, and has started", t.what, err)
		}
		if !errors.Is(err, executor.ErrRejected) {
			w.badLocked("%s was refused with %v, which is no rejection", t.what, err)
		}
	}
	if want.unknown {
		return
	}
	switch {
	case want.err == nil && err != nil:
		w.badLocked("%s was refused with %v, and there was room", t.what, err)
	case want.err != nil && err == nil:
		w.badLocked("%s was accepted, and not refused with %v", t.what, want.err)
	case want.err != nil && !errors.Is(err, want.err):
		w.badLocked("%s was refused with %v, and not with %v", t.what, err, want.err)
	}
}

// balancePool is the custody of tasks.
func (w *world) balancePool() {
	s, infos := w.pool.Stats(), w.pool.Running()
	quiet := w.quiet()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.syncs {
		w.balanceSyncLocked(c)
	}
	if s.Attempted != s.Accepted+s.Rejected {
		w.badLocked("attempted is not accepted and rejected: %+v", s)
	}
	if s.Accepted != uint64(s.Queued+s.Running)+s.Finished+s.Panicked+s.Exited+s.Skipped+s.Discarded {
		w.badLocked("accepted is not the sum of the rest: %+v", s)
	}
	if s.Running-s.Lent > s.Size || s.Queued > max(0, s.QueueLimit) {
		w.badLocked("more tasks than places: %+v", s)
	}
	live, queued := 0, 0
	var ends [exited + 1]uint64
	var accepted, rejected, skipped uint64
	for _, t := range w.tasks {
		if t.inline {
			continue
		}
		if t.live() {
			live++
		}
		if t.accepted {
			accepted++
		}
		if t.rejected != nil {
			rejected++
		}
		if t.starts > 0 {
			ends[t.end]++
		} else if t.accepted && !t.gone() {
			queued++
		} else if t.accepted && t.discards == 0 {
			skipped++
		}
		w.balanceTaskLocked(t, quiet)
	}
	if !quiet {
		return
	}
	if live != s.Running && !w.h.Shape.LeaseOnPool {
		w.badLocked("%d tasks run: %+v", live, s)
	}
	w.balanceRunningLocked(s, infos)
	if s.Queued > 0 && s.Running-s.Lent < s.Size {
		w.badLocked("tasks are queued and a worker is free: %+v", s)
	}
	for _, t := range w.tasks {
		if t.kind != waited || t.call == nil || t.call.done {
			continue
		}
		if t.caller.ended() || w.poolClosing {
			w.badLocked("%s still waits for room, and its context or the pool has ended", t.what)
		}
		if s.Queued < max(0, s.QueueLimit) || s.Running-s.Lent < s.Size {
			w.badLocked("%s waits for room, and there is: %+v", t.what, s)
		}
	}
	if w.escalated && s.Queued > 0 {
		w.badLocked("tasks are queued after a shutdown that gave up: %+v", s)
	}
	if w.plain {
		w.balancePlainLocked(s, accepted, rejected, queued, skipped, ends)
	}
	w.balanceLimitLocked()
}

// balanceRunningLocked is EXEC-22: Running lists the tasks that run, each with its
// own diagnostics.
func (w *world) balanceRunningLocked(s executor.Stats, infos []executor.TaskInfo) {
	if len(infos) != s.Running {
		w.badLocked("Running lists %d tasks: %+v", len(infos), s)
	}
	if w.h.Shape.LeaseOnPool {
		return // a Connect is a task too
	}
	live, limits := map[int]int{}, 0
	for _, t := range w.tasks {
		if t.live() && !t.inline {
			live[t.id]++
			if t.kind.limited() {
				limits++
			}
		}
	}
	for _, info := range infos {
		v, ok := info.Diagnostics.Get("job")
		if !ok && limits > 0 {
			limits-- // what the pool runs is the Limit's, for whichever task it serves
			continue
		}
		if !ok || live[int(v.Int64())] == 0 {
			w.badLocked("Running lists a task of job %v, which does not run", v)
			continue
		}
		live[int(v.Int64())]--
	}
}

// balancePlainLocked compares every number, which only can be done while
// nothing but the history posts.
func (w *world) balancePlainLocked(s executor.Stats, accepted, rejected uint64, queued int, skipped uint64, ends [exited + 1]uint64) {
	if s.Accepted != accepted || s.Rejected < rejected {
		w.badLocked("%d tasks were accepted and %d rejected: %+v", accepted, rejected, s)
	}
	if s.Queued != queued && !w.escalated {
		w.badLocked("%d tasks are queued: %+v", queued, s)
	}
	if s.Finished != ends[returned]+ends[failed] || s.Panicked != ends[panicked]+ends[panickedNil] || s.Exited != ends[exited] {
		w.badLocked("the tasks ended as %v: %+v", ends, s)
	}
	if s.Skipped+s.Discarded < skipped {
		w.badLocked("%d tasks were skipped or discarded: %+v", skipped, s)
	}
}

// balanceLimitLocked is the order and the bound of the Limit.
func (w *world) balanceLimitLocked() {
	live := 0
	for _, t := range w.tasks {
		if t.kind.limited() && t.live() {
			live++
		}
	}
	if live > w.h.Shape.Parallel {
		w.badLocked("%d tasks of a Limit of %d run", live, w.h.Shape.Parallel)
	}
}

// balanceTaskLocked is what has to hold of one task: whose end its context sees,
// that its failure was reported once, under its own context.
func (w *world) balanceTaskLocked(t *task, quiet bool) {
	if t.starts > 0 && !t.accepted && t.kind <= delayed && t.call == nil && t.fut == nil && quiet {
		w.badLocked("%s has started, and was not accepted", t.what)
	}
	if t.own != nil && t.live() && !t.inline && t.kind != ticked && t.kind != mapped && t.kind != synced {
		w.balanceContextLocked(t)
	}
	if (t.kind == posted || t.kind == waited || t.kind == limitPosted) && quiet && t.starts > 0 {
		want := 0
		if t.end >= panicked {
			want = 1
		}
		if t.errorRecords != want {
			w.badLocked("%s has %v, and there are %d records of that under its context", t.what, t.end, t.errorRecords)
		}
	}
}

func (w *world) balanceContextLocked(t *task) {
	err, cause := t.own.Err(), context.Cause(t.own)
	if t.fut != nil {
		if o, ok := t.fut.outcome(); ok && o.canceled && !t.fut.abandonWon {
			if err == nil {
				w.badLocked("%s was canceled, and its context has not ended", t.what)
			} else if !errors.Is(o.err, cause) && !errors.Is(cause, executor.ErrClosed) {
				w.badLocked("%s was canceled with %v, and its context has ended with %v", t.what, o.err, cause)
			}
			return
		}
	}
	if err != nil && !w.poolClosing {
		w.badLocked("the context of %s has ended with %v, and nobody canceled it", t.what, cause)
	}
	if err == nil && w.escalated {
		w.badLocked("the context of %s has not ended, and the shutdown gave up", t.what)
	}
}
