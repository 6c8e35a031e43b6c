package supervised

import (
	"errors"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/future"
)

// Diagnostic is something that went wrong or is worth knowing. It changes
// nothing by itself.
type Diagnostic struct {
	Severity    Severity
	Kind        DiagnosticKind
	Role        Role        // empty if it is about none
	Incarnation Incarnation // zero if it is about none
	Job         JobID       // zero if it is about none, or it is not known
	Cause       error
	Value       any                  // the result, *ReturnedError, Completion or Worker that nobody else has; nil if there is none
	Context     diagnostics.Snapshot // captured when the job was submitted
}

// kinds maps what the fold diagnoses.
var kinds = [...]DiagnosticKind{
	fold.AbnormalExit: AbnormalExit, fold.Restarted: WorkerRestarted, fold.RoleRetired: RoleRetired,
	fold.AlreadyStopped: AlreadyStopped, fold.LateDelivery: LateDelivery,
	fold.RefusedFact: RefusedFact, fold.StaleCompletion: StaleCompletion,
	fold.DuplicateCompletion: DuplicateCompletion, fold.ForeignCompletion: ForeignCompletion,
	fold.ActivationFault: ActivationFailed, fold.RecoveryFault: RecoveryFailed,
	fold.StartFault: StartRejected, fold.ContradictoryFact: ContradictoryFact, fold.LateFact: LateFact,
}

// diagnostic makes what the sink is told of a notice or fault.
func (c *core[J, R]) diagnostic(a *action[J, R]) diagnosed {
	d := diagnosed{Diagnostic: Diagnostic{
		Severity: Notice, Kind: kinds[a.Diagnosis], Role: c.role(a.Role),
		Incarnation: Incarnation(a.Incarnation), Job: JobID(a.Job), Cause: c.cause(a),
	}}
	if a.Kind == fold.Fault {
		d.Severity = Fault
	}
	o := a.Customer
	if o == nil && c.subject != nil {
		o = c.subject.order
		d.Job = o.id
	}
	if o != nil {
		d.ctx, d.Context = o.ctx, o.snapshot()
	}
	switch a.Carries {
	case fold.CarriesResult:
		d.Value = a.Result
	case fold.CarriesJob:
		d.Value = a.Payload
	case fold.CarriesWorker:
		d.Value = a.Worker
	}
	return d
}

// cause joins what a notice or fault says about why.
func (c *core[J, R]) cause(a *action[J, R]) error {
	switch a.Diagnosis {
	case fold.StaleCompletion:
		return ErrStaleAssignment
	case fold.DuplicateCompletion:
		return ErrDuplicateCompletion
	case fold.ForeignCompletion:
		return ErrForeignAssignment
	}
	why, exit := c.published(a.Cause), a.Exit.Cause
	if why == nil && (a.Diagnosis == fold.RefusedFact || a.Diagnosis == fold.LateFact) {
		why = factError(a.Event)
	}
	switch {
	case why == nil:
		return exit
	case exit == nil || a.Diagnosis == fold.RoleRetired:
		return why
	}
	return errors.Join(why, exit)
}

// factError names a fact that the pool could not place, or that came late.
type factError fold.EventKind

var factNames = [...]string{
	fold.Started: "a start", fold.StartRejected: "a rejected start",
	fold.ActivationBegun: "the beginning of an activation", fold.Activated: "an activation",
	fold.ActivationFailed: "a failed activation", fold.DeliveryAccepted: "an accepted delivery",
	fold.DeliveryRejected: "a rejected delivery", fold.StopSettled: "the settlement of a stop request",
	fold.Exited: "an exit", fold.PreparationBegun: "the beginning of a preparation",
	fold.PreparationEnded: "the end of a preparation", fold.TimerScheduled: "an accepted schedule",
	fold.TimerRejected: "a rejected schedule", fold.TimerFired: "the end of a delay",
}

func (e factError) Error() string { return "out of place: " + factNames[e] }

// unclaimed is the notice of an outcome that nobody waits for any more.
func (o *order[J, R]) unclaimed(role Role, cause error, outcome any) diagnosed {
	return diagnosed{
		Diagnostic: Diagnostic{
			Severity: Notice, Kind: UnclaimedOutcome, Role: role, Job: o.id, Cause: cause, Value: outcome,
			Context: o.snapshot(),
		},
		ctx: o.ctx,
	}
}

// published puts an error of the fold's in this package's terms. It looks into
// nothing but the fold's own types, as it may call nothing foreign.
func (c *core[J, R]) published(err error) error {
	switch e := err.(type) {
	case *fold.BudgetError:
		return &BudgetError{Pool: c.cfg.Name, Active: e.Active, Max: e.Max, Window: e.Window}
	case *fold.Causes:
		return errors.Join(c.published(e[0]), c.published(e[1]))
	}
	switch err {
	case fold.ErrPoolShutdown:
		return ErrPoolStopping
	}
	return err
}

// stackOf returns the stack of the panic that err reports; none if err panics
// when it is asked.
func stackOf(err error) (stack string) {
	defer func() { _ = recover() }()
	var p *future.PanicError
	if errors.As(err, &p) {
		return string(p.Stack)
	}
	return ""
}
