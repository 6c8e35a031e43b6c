package supervised

import (
	"context"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
)

// Ticket is what a submitter holds of an accepted job.
type Ticket[R any] struct {
	ID JobID

	// Outcome completes with what the worker completed the job with, or fails
	// with a *ReturnedError that has the job. Cancel and Abandon end the
	// waiting alone: the job goes on, and its outcome becomes a notice.
	Outcome *future.Future[Completion[R]]
}

// Completion is the outcome of a completed job.
type Completion[R any] struct {
	Job    JobID
	Role   Role
	Result R
}

// order is a submitted job as the shell knows it: who wants it.
type order[J, R any] struct {
	ctx         context.Context // the submitter's, for its values
	diagnostics diagnostics.Snapshot
	attrs       *frame.Attrs // the same, for the job's own scope
	completer   *future.Completer[Completion[R]]

	// The verdict; written in the step that takes the order, before anybody
	// else can know of it.
	id        JobID
	rejection fold.Rejection
}

// submit takes a job from a submitter whose context is sound.
func (c *core[J, R]) submit(ctx context.Context, job J) (*Ticket[R], error) {
	o := &order[J, R]{
		ctx: ctx, diagnostics: diagnostics.Capture(ctx), attrs: frame.Capture(ctx),
		completer: future.NewCompleter[Completion[R]](),
	}
	c.feed(event[J, R]{Kind: fold.Submit, Job: job, Customer: o})
	if o.rejection != 0 {
		return nil, rejected(c.cfg.Name, job, o.rejection)
	}
	return &Ticket[R]{ID: o.id, Outcome: o.completer.Future()}, nil
}

// rejections says what the fold's reasons are to the submitter.
var rejections = [...]struct {
	reason RejectReason
	cause  error
}{
	fold.PoolStopping:       {PoolStopping, ErrPoolStopping},
	fold.Unserved:           {Unserved, ErrNoWorkers},
	fold.BacklogFull:        {BacklogFull, ErrBacklogFull},
	fold.JobIDsExhausted:    {IDsExhausted, ErrJobIDsExhausted},
	fold.AssignIDsExhausted: {IDsExhausted, ErrAssignmentIDsExhausted},
}

func rejected[J any](pool string, job J, why fold.Rejection) error {
	r := rejections[why]
	return &RejectedError[J]{Pool: pool, Job: job, Reason: r.reason, Cause: r.cause}
}
