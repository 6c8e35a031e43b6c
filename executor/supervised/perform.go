package supervised

import (
	"context"
	"runtime/pprof"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/internal/link"
)

// performAllLocked performs the actions of a step in list order. What may call
// foreign code becomes an errand or a letter.
func (c *core[J, R]) performAllLocked(out []action[J, R]) {
	for i := range out {
		c.performLocked(&out[i])
	}
}

func (c *core[J, R]) performLocked(a *action[J, R]) {
	switch a.Kind {
	case fold.Start:
		c.startLocked(a)
	case fold.BeginActivation:
		close(c.roles[a.Role].slot)
	case fold.Accept:
		a.Customer.id = JobID(a.Job)
	case fold.Reject:
		a.Customer.rejection = a.Rejection
	case fold.Revoke:
		c.roles[a.Role].assigned.revoke()
		c.roles[a.Role].assigned = nil
	case fold.Complete:
		w := c.roles[a.Role]
		c.errands = append(c.errands, errand[J, R]{action: *a, authority: w.assigned})
		w.assigned = nil
	case fold.Schedule:
		c.timers[a.Timer] = &delay{}
		c.errands = append(c.errands, errand[J, R]{action: *a})
	case fold.CancelTimer:
		c.timers[a.Timer].canceled = true
		c.errands = append(c.errands, errand[J, R]{action: *a})
	case fold.ReturnQueued, fold.ReturnAssigned:
		c.returnLocked(a)
	case fold.Deliver:
		c.deliverLocked(a)
	case fold.RequestStop:
		c.learnLocked(event[J, R]{
			Kind: fold.StopSettled, Role: a.Role, Incarnation: a.Incarnation, Stop: a.Stop,
			Already: c.roles[a.Role].requestStop(),
		})
	case fold.Prepare:
		c.prepareLocked(a)
	case fold.CancelPreparation:
		c.hiring(ErrPoolStopping)
	case fold.Discard:
		c.discardLocked(a.Worker, c.published(a.Cause))
	case fold.Notice, fold.Fault:
		if a.Diagnosis == fold.Restarted {
			c.restarts[a.Role]++
		}
		c.diagnoseLocked(c.diagnostic(a))
	case fold.RetireStopped, fold.RetireForced:
		c.retireLocked(a)
	}
}

// startLocked starts a worker. A Launch of the user's may block: New's caller
// waits for those of the first workers, and nobody for those of restarts. On the
// goroutine that fed the event, which may be the timer's, it would keep the
// drain from being forced, and other roles from being restarted.
func (c *core[J, R]) startLocked(a *action[J, R]) {
	w := newIncarnation(c, a)
	c.roles[a.Role] = w
	c.enter()
	switch {
	case c.cfg.Launch == nil:
		w.launched.Store(handed)
		go w.run()
		c.learnLocked(w.event(fold.Started))
	case c.opening:
		c.errands = append(c.errands, errand[J, R]{action: *a, worker: w})
	default:
		go func() {
			pprof.SetGoroutineLabels(c.labels)
			c.launch(w)
		}()
	}
}

// returnLocked gives a job back. Nobody can see the outcome before, or have its
// callbacks run under the lock.
func (c *core[J, R]) returnLocked(a *action[J, R]) {
	e := &ReturnedError[J]{
		Pool: c.cfg.Name, ID: JobID(a.Job), Stage: Queued, Role: c.role(a.Role), Job: a.Payload,
		Reason: ReturnReason(a.Reason), Attempts: a.Attempts, Cause: c.published(a.Cause),
	}
	if a.Kind == fold.ReturnAssigned {
		e.Stage = Assigned
	}
	o := a.Customer
	if callbacks := link.Fail(o.completer, e); callbacks != nil {
		c.postLocked(letter{ctx: o.ctx, what: "a callback", run: callbacks})
		return
	}
	c.diagnoseLocked(o.unclaimed(e.Role, e.Cause, e))
}

// deliverLocked hands a job to its worker; after the outcome of the job before,
// if that is to be shown first.
func (c *core[J, R]) deliverLocked(a *action[J, R]) {
	w := c.roles[a.Role]
	w.assigned = newAuthority(w, a)
	if len(c.errands) > 0 {
		c.errands = append(c.errands, errand[J, R]{action: *a, authority: w.assigned})
		return
	}
	if !w.inbox.put(w.assigned) {
		c.learnLocked(w.assigned.event(fold.DeliveryRejected))
	}
}

// retireLocked ends the waiting for the pool.
func (c *core[J, R]) retireLocked(a *action[J, R]) {
	switch {
	case a.Kind == fold.RetireForced:
		c.verdict = &ForcedRetirementError{c.cfg.Name, c.unresolvedLocked(), c.published(a.Cause)}
	case a.Role != fold.None:
		c.verdict = &StoppedError{c.cfg.Name, c.role(a.Role), c.published(a.Cause)}
	}
	close(c.retired)
	c.errands = append(c.errands, errand[J, R]{action: *a})
	if a.Kind == fold.RetireStopped {
		clear(c.roles) // nothing of a stopped pool's workers is needed
		return
	}
	for _, w := range c.roles {
		if w != nil {
			w.requestStop() // also who could not be asked in order
		}
	}
}

// unresolvedLocked lists whom a forced shutdown gave up on.
func (c *core[J, R]) unresolvedLocked() []Unresolved {
	var list []Unresolved
	for _, u := range c.fold.Unresolved() {
		list = append(list, Unresolved{
			Role: c.role(u.Role), Incarnation: Incarnation(u.Incarnation),
			Phase: phaseNames[u.Phase], Missing: missing(u.Missing),
		})
	}
	return list
}

// prepareLocked has the factory make a worker.
func (c *core[J, R]) prepareLocked(a *action[J, R]) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c.hiring = cancel
	c.enter()
	go c.prepare(ctx, cancel, a.Role, a.Prep)
}
