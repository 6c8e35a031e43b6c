package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cadre-go/cadre/executor/supervised"
)

// balanceSup is the custody of jobs: each accepted one is queued, or of one
// worker, or has its one outcome.
func (w *world) balanceSup() {
	s, quiet := w.sup.Stats(), w.quiet()
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Accepted != uint64(s.Queued+s.Assigned)+s.Settled {
		w.badLocked("accepted is not queued, assigned and settled: %+v", s)
	}
	serving := s.Mode == "serving"
	queued := map[*job]int{}
	var accepted, settled uint64
	live := 0
	for _, j := range w.supJobs {
		if !j.accepted {
			continue
		}
		accepted++
		w.balanceJobLocked(j, quiet, serving)
		switch {
		case j.settled():
			settled++
			if j.live != nil {
				j.live = nil // it was taken back
			}
		case j.live != nil:
			live++
		default:
			queued[j] = j.assigned
		}
	}
	if s.Accepted != accepted {
		w.badLocked("%d jobs were accepted: %+v", accepted, s)
	}
	if quiet {
		w.balanceWorkersLocked(s, serving, settled, live, queued)
	}
	if w.balanceAssignmentsLocked(queued); !quiet {
		queued = nil // some may be in the inbox of a worker that is held up
	}
	w.queuedThen, w.assignedNow = queued, nil
}

func (w *world) balanceWorkersLocked(s supervised.Stats, serving bool, settled uint64, live int, queued map[*job]int) {
	if s.Settled != settled || s.Assigned != live || s.Queued != len(queued) {
		w.badLocked("%d jobs are queued, %d assigned and %d settled: %+v", len(queued), live, settled, s)
	}
	restarts := -w.h.Shape.Roles // the factory is asked before the budget is
	for _, k := range w.workers {
		restarts += k.serves
	}
	if !w.jumped && time.Since(w.supOpened) <= budgetWindow && restarts > w.h.Shape.BudgetMax {
		w.badLocked("%d restarts within the window, and %d are allowed", restarts, w.h.Shape.BudgetMax)
	}
	if !serving {
		return
	}
	for _, k := range w.workers {
		if k.state == inNext && len(queued) > 0 {
			w.badLocked("worker %d waits for a job, and %d are queued: %+v", k.n, len(queued), s)
		}
	}
}

// balanceAssignmentsLocked is SUP-30: the backlog leaves from the smallest, and
// what goes back to it keeps its place.
func (w *world) balanceAssignmentsLocked(queued map[*job]int) {
	for k, assigned := range w.queuedThen {
		now, still := queued[k]
		if !still || now != assigned {
			continue
		}
		for _, j := range w.assignedNow {
			if j.number > k.number {
				w.badLocked("job %d was assigned before job %d, which was accepted earlier and is queued", j.id, k.id)
			}
		}
	}
}

// balanceJobLocked is what has to hold of one accepted job.
func (w *world) balanceJobLocked(j *job, quiet, serving bool) {
	o, ok := j.fut.outcome()
	if !ok {
		if !serving && !j.unclaimed {
			w.badLocked("job %d has no outcome, and the pool is stopping", j.id)
		}
		if j.completed != nil && quiet {
			w.badLocked("job %d was completed, and its future is pending", j.id)
		}
		return
	}
	if o.canceled {
		return // the job goes on, and its outcome becomes a notice
	}
	var re *supervised.ReturnedError[*job]
	switch {
	case o.err == nil:
		if done, _ := o.value.(supervised.Completion[*token]); j.completed != nil && done.Result != j.completed || done.Job != j.number {
			w.badLocked("job %d was completed with another result than its future has", j.id)
		}
	case !errors.As(o.err, &re):
		w.badLocked("the future of job %d failed with %v", j.id, o.err)
	case re.Job != j || re.ID != j.number:
		w.badLocked("job %d came back as another: %v", j.id, re)
	case j.completed != nil:
		w.badLocked("job %d was completed, and came back: %v", j.id, re)
	}
}

func (w *world) supLine() string {
	s := w.sup.Stats()
	return fmt.Sprintf("jobs (%s): %d queued, %d assigned, %d settled", s.Mode, s.Queued, s.Assigned, s.Settled)
}

func (w *world) closeSup() {
	w.supStopping = true
	_ = w.sup.Shutdown(context.Background())
}

// closeSupBooksLocked: every worker has served or was thrown away, once, and the
// last goroutine has ended.
func (w *world) closeSupBooksLocked() {
	for _, k := range w.workers {
		if k.serves+k.throws != 1 {
			w.badLocked("worker %d served %d times and was discarded %d times", k.n, k.serves, k.throws)
		}
	}
	select {
	case <-w.sup.Done():
	default:
		w.badLocked("the supervised pool is not done after its shutdown")
	}
}
