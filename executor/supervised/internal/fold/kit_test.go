package fold

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var errTest = errors.New("test")

// rig drives one state and checks it after every step.
type rig struct {
	t      testing.TB
	s      *state
	ledger *ledger
	log    []logged
	worker int // the last worker handed out
	opened []action
	brief  bool // without the twin
}

// basic is a pool of some roles that nothing ever becomes of.
func basic(roles int) Config {
	return Config{
		Pool: 1, Roles: roles, Activations: 1, Interruption: Fail, Policy: Temporary, OnLoss: RetireRole,
	}
}

// restarting is a pool that restarts at once, for ever.
func restarting(roles int) Config {
	cfg := basic(roles)
	cfg.Policy = Permanent
	cfg.Budget = Budget{Max: 1 << 20, Window: time.Second}
	cfg.Backoff = Backoff{Kind: Immediate}
	return cfg
}

// open returns a pool whose starts have not settled.
func open(t testing.TB, cfg Config) *rig {
	workers := make([]int, cfg.Roles)
	for i := range workers {
		workers[i] = 100 + i
	}
	s, out, bad := New[int, int, int](cfg, workers)
	require.Equal(t, None, bad)
	r := &rig{t: t, s: s, worker: 99 + cfg.Roles, ledger: newLedger(workers), opened: out}
	first := s.clone()
	r.ledger.record(first, s, &event{}, Applied, out)
	r.verify()
	return r
}

// ready returns a pool whose roles are all idle.
func ready(t testing.TB, cfg Config) *rig {
	r := open(t, cfg)
	for role := range cfg.Roles {
		r.apply(event{Kind: Started, Role: role, Incarnation: r.inc(role)})
	}
	return r
}

func (r *rig) inc(role int) Incarnation { return r.s.members[role].incarnation }
func (r *rig) phase(role int) Phase     { return r.s.members[role].phase }

// step applies ev, on a clone too, and checks all that must hold after a step.
func (r *rig) step(ev event) (Verdict, []action) {
	r.t.Helper()
	before := r.s.clone()
	v, out := r.s.Step(&ev, nil)
	r.log = append(r.log, logged{ev, v, out})
	if !r.brief {
		twin := before.clone()
		tv, tout := twin.Step(&ev, nil)
		if tv != v || !slices.Equal(tout, out) && !reflect.DeepEqual(tout, out) || !same(twin, r.s) {
			r.fail("SUP-3 a clone does otherwise: %s", kinds(tout))
		}
	}
	if v != Applied && v != Outrun && ev.Kind != Submit && !same(before, r.s) {
		r.fail("I-18 a refused event changed the state")
	}
	r.ledger.record(before, r.s, &ev, v, out)
	r.verify()
	return v, out
}

func (r *rig) verify() {
	r.t.Helper()
	if bad := append(r.s.broken(), r.ledger.errs...); len(bad) > 0 {
		r.fail("these do not hold: %s\nin: %+v", strings.Join(bad, ", "), *r.s)
	}
}

func (r *rig) fail(format string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("%s\nafter:\n%s", fmt.Sprintf(format, args...), r.story())
}

type logged struct {
	ev  event
	v   Verdict
	out []action
}

func (r *rig) story() string {
	var b strings.Builder
	for _, l := range r.log {
		fmt.Fprintf(&b, "%s -> verdict %d, %s\n", tell(l.ev), l.v, kinds(l.out))
	}
	return b.String()
}

// same reports whether two states are deeply equal. It compares them without
// reflection first, which costs most of a walk otherwise; causes may be equal
// and not identical.
func same(a, b *state) bool {
	return slices.Equal(a.members, b.members) && slices.Equal(a.queue.ring, b.queue.ring) &&
		slices.Equal(a.charges, b.charges) && slices.Equal(a.idle, b.idle) && a.rest() == b.rest() ||
		reflect.DeepEqual(a, b)
}

// rest is what same does not compare otherwise.
func (s *State[J, R, C, W]) rest() any {
	return struct {
		cfg                         Config
		mode                        Mode
		count                       [lastPhase + 1]int
		cursor, first, n, unsettled int
		drain                       drainTimer
		forced                      error
		loss                        blame
		jobs                        counter[JobID]
		ordinals                    counter[Ordinal]
		assignments                 counter[AssignmentID]
		incarnations                counter[Incarnation]
		preps                       counter[PrepID]
		timers                      counter[TimerID]
		stops                       counter[StopID]
		accepted, rejected, settled uint64
		sorted                      bool
	}{
		s.cfg, s.mode, s.count, s.cursor, s.queue.first, s.queue.n, s.unresolved, s.drain, s.forced, s.loss,
		s.jobs, s.ordinals, s.assignments, s.incarnations, s.preps, s.timers, s.stops,
		s.accepted, s.rejected, s.settled, s.sorted && s.base == 0 && s.out == nil,
	}
}

// apply is step for an event that is not refused.
func (r *rig) apply(ev event) []action {
	r.t.Helper()
	v, out := r.step(ev)
	if v != Applied {
		r.fail("verdict %d", v)
	}
	return out
}

// refused is step for an event that is.
func (r *rig) refused(ev event) action {
	r.t.Helper()
	v, out := r.step(ev)
	if v == Applied || v == Outrun || len(out) != 1 {
		r.fail("verdict %d, %s", v, kinds(out))
	}
	return out[0]
}

func (r *rig) submit(job int) []action {
	r.t.Helper()
	return r.apply(event{Kind: Submit, Job: job, Customer: job})
}

// about is an event that names what role has and is now.
func (r *rig) about(kind EventKind, role int) event {
	m := &r.s.members[role]
	return event{
		Kind: kind, Role: role, Pool: r.s.cfg.Pool, Incarnation: m.incarnation, Assignment: m.assignment,
		Prep: m.prep, Timer: m.timer, Stop: m.stop,
	}
}

func (r *rig) deliver(role int) []action {
	r.t.Helper()
	return r.apply(r.about(DeliveryAccepted, role))
}

func (r *rig) complete(role, result int) []action {
	r.t.Helper()
	ev := r.about(Completed, role)
	ev.Result = result
	return r.apply(ev)
}

func (r *rig) exit(role int, kind ExitKind, at time.Duration) []action {
	r.t.Helper()
	ev := r.about(Exited, role)
	ev.Exit, ev.At = Exit{Kind: kind}, at
	if kind != Normal {
		ev.Exit.Cause = errTest
	}
	return r.apply(ev)
}

// prepared ends the preparation of role well, begun or not.
func (r *rig) prepared(role int) []action {
	r.t.Helper()
	if r.s.members[role].holds&begun == 0 {
		r.apply(r.about(PreparationBegun, role))
	}
	ev := r.about(PreparationEnded, role)
	r.worker++
	ev.Ending, ev.Worker = Prepared, r.worker
	return r.apply(ev)
}

// restart takes role from the preparation to idle, for an immediate backoff.
func (r *rig) restart(role int) {
	r.t.Helper()
	r.prepared(role)
	r.apply(r.about(Started, role))
}

// kinds lists actions as names.
func kinds(out []action) string {
	names := make([]string, len(out))
	for i, a := range out {
		names[i] = actionNames[a.Kind]
		if a.Kind == Fault || a.Kind == Notice {
			names[i] += fmt.Sprintf("(%d)", a.Diagnosis)
		}
	}
	return strings.Join(names, " ")
}

var actionNames = map[ActionKind]string{
	Start: "start", BeginActivation: "activate", Accept: "accept", Reject: "reject", Revoke: "revoke",
	Complete: "complete", ReturnQueued: "returnQueued", ReturnAssigned: "returnAssigned", Deliver: "deliver",
	RequestStop: "stop", CancelPreparation: "cancelPreparation", Prepare: "prepare", Schedule: "schedule",
	CancelTimer: "cancelTimer", Discard: "discard", Notice: "notice", Fault: "fault",
	RetireStopped: "stopped", RetireForced: "forced",
}

var eventNames = [lastEvent + 1]string{
	Submit: "submit", Shutdown: "shutdown", Started: "started", StartRejected: "startRejected",
	ActivationBegun: "activationBegun", Activated: "activated", ActivationFailed: "activationFailed",
	DeliveryAccepted: "deliveryAccepted", DeliveryRejected: "deliveryRejected", Completed: "completed",
	StopSettled: "stopSettled", Exited: "exited", PreparationBegun: "preparationBegun",
	PreparationEnded: "preparationEnded", TimerScheduled: "timerScheduled", TimerRejected: "timerRejected",
	TimerFired: "timerFired",
}

func tell(ev event) string {
	return fmt.Sprintf("%s role %d inc %d assignment %d prep %d timer %d stop %d ending %d job %d",
		eventNames[ev.Kind], ev.Role, ev.Incarnation, ev.Assignment, ev.Prep, ev.Timer, ev.Stop, ev.Ending, ev.Job)
}

// only returns the actions of one kind.
func only(out []action, kind ActionKind) []action {
	var list []action
	for _, a := range out {
		if a.Kind == kind {
			list = append(list, a)
		}
	}
	return list
}
