package sim

import (
	"context"
	"fmt"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor/supervised"
)

// worker is one value that the factory made.
type worker struct {
	n       int
	role    supervised.Role
	w       *world
	serves  int
	throws  int // calls of Discard
	state   workerState
	stop    context.CancelFunc // ends its Next
	planned ending             // what it does then
	job     *job
	a       supervised.Assignment[*job, *token]
	puppet  *puppet
	end     ending
}

type workerState uint8

const (
	made workerState = iota
	activating
	inNext
	hasJob
	over
)

// activated is a worker that has something to do before it can serve.
type activated struct{ *worker }

func (a activated) Activate(ctx context.Context) error {
	w := a.w
	w.mu.Lock()
	a.state = activating
	end := w.planLocked()
	w.mu.Unlock()
	if end == running {
		w.counts.fault("slow Activate")
		end = w.stand(w.newPuppet(workerRole, ctx, fmt.Sprintf("Activate of worker %d", a.n)), ctx.Done())
	}
	if end != returned {
		w.counts.fault("Activate that " + end.String())
	}
	return finish(end, "Activate")
}

// planLocked is what the next Activate or restart of the factory does.
func (w *world) planLocked() ending {
	if len(w.factoryPlan) == 0 || w.epilogue.Load() {
		return returned
	}
	end := w.factoryPlan[0]
	w.factoryPlan = w.factoryPlan[1:]
	return end
}

func (w *world) factory(ctx context.Context, role supervised.Role) (supervised.Worker[*job, *token], error) {
	w.mu.Lock()
	w.inFactory++
	if w.inFactory > 1 {
		w.badLocked("the factory is called while it runs")
	}
	restart := len(w.workers) >= w.h.Shape.Roles
	end := returned
	if restart {
		end = w.planLocked()
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.inFactory--
	}()
	if end == running {
		w.counts.fault("slow factory")
		end = w.stand(w.newPuppet(connectRole, ctx, "the factory"), ctx.Done())
	}
	if end != returned {
		w.counts.fault("factory that " + end.String())
	}
	if err := finish(end, "the factory"); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	k := &worker{n: len(w.workers), role: role, w: w, planned: running}
	w.workers = append(w.workers, k)
	if w.h.Shape.Activate {
		return activated{k}, nil
	}
	return k, nil
}

// Discard is called instead of Serve.
func (k *worker) Discard(error) {
	k.w.mu.Lock()
	defer k.w.mu.Unlock()
	if k.throws++; k.throws > 1 || k.serves > 0 {
		k.w.badLocked("worker %d served %d times and was discarded %d times", k.n, k.serves, k.throws)
	}
}

// Serve takes jobs until it is told to end, or the inbox is closed.
func (k *worker) Serve(ctx context.Context, in *supervised.Inbox[*job, *token]) error {
	w := k.w
	w.mu.Lock()
	if k.serves++; k.serves > 1 || k.throws > 0 {
		w.badLocked("worker %d served %d times and was discarded %d times", k.n, k.serves, k.throws)
	}
	k.end = exited
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		k.state = over
		if k.job != nil && k.job.live == k {
			k.job.live = nil
		}
	}()
	for {
		end, goOn := k.serveOne(ctx, in)
		if goOn {
			continue
		}
		w.mu.Lock()
		k.end = end
		w.mu.Unlock()
		if end != returned {
			w.counts.fault("worker that " + end.String())
		}
		return finish(end, fmt.Sprintf("worker %d", k.n))
	}
}

func (k *worker) serveOne(ctx context.Context, in *supervised.Inbox[*job, *token]) (end ending, goOn bool) {
	w := k.w
	next, stop := context.WithCancel(context.Background())
	defer stop()
	w.mu.Lock()
	k.state, k.stop = inNext, stop
	w.mu.Unlock()
	a, err := in.Next(next)
	if err != nil {
		if k.planned != running {
			return k.planned, false
		}
		if k.n%5 == 4 {
			w.counts.fault("worker that is slow to stop")
			w.stand(w.newPuppet(workerRole, ctx, fmt.Sprintf("worker %d, asked to stop", k.n)), nil)
		}
		return returned, false
	}
	j := a.Job()
	w.assignedTo(k, a, j)
	if j.instant {
		w.completeJob(k, a, j)
		return running, true
	}
	quit := ctx.Done()
	if k.n%3 == 2 {
		quit = nil
	}
	p := w.newPuppet(workerRole, a.Context(), fmt.Sprintf("worker %d with job %d", k.n, j.id))
	p.worker = k
	w.mu.Lock()
	k.puppet = p
	w.mu.Unlock()
	end = w.stand(p, quit)
	return end, end == again
}

// assignedTo checks an assignment.
func (w *world) assignedTo(k *worker, a supervised.Assignment[*job, *token], j *job) {
	w.sound(a.Context(), j.id, fmt.Sprintf("the assignment of job %d", j.id))
	mark, marked := diagnostics.Value(a.Context(), "mark")
	w.mu.Lock()
	defer w.mu.Unlock()
	if marked != j.marked || marked && !mark.Equal(j.mark) {
		w.badLocked("job %d is assigned with the mark %v of another", j.id, mark)
	}
	j.assigned++
	k.state, k.job, k.a = hasJob, j, a
	w.assignedNow = append(w.assignedNow, j)
	switch {
	case j.live != nil:
		w.badLocked("job %d is assigned to worker %d, and worker %d has it", j.id, k.n, j.live.n)
	case j.completed != nil:
		w.badLocked("job %d is assigned to worker %d, and was completed", j.id, k.n)
	case j.refused != nil:
		w.badLocked("job %d is assigned to worker %d, and was refused with %v", j.id, k.n, j.refused)
	case !w.h.Shape.Retry && j.assigned > 1:
		w.badLocked("job %d is assigned again, and must not be tried twice", j.id)
	case w.h.Shape.Retry && w.h.Shape.MaxAttempts > 0 && j.assigned > w.h.Shape.MaxAttempts:
		w.badLocked("job %d is assigned %d times, and may be %d times", j.id, j.assigned, w.h.Shape.MaxAttempts)
	}
	if j.fut != nil && j.fut.seen && !j.fut.first.canceled {
		w.badLocked("job %d is assigned, and its future says %v, %v", j.id, j.fut.first.value, j.fut.first.err)
	}
	j.live = k
}
