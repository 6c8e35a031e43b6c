package fold

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// rejection is what a submission is rejected with, or zero.
func (r *rig) rejection(job int) Rejection {
	r.t.Helper()
	_, out := r.step(event{Kind: Submit, Job: job, Customer: job})
	if out[0].Kind != Reject {
		return 0
	}
	require.Len(r.t, out, 1)
	require.Equal(r.t, job, out[0].Payload)
	require.Equal(r.t, job, out[0].Customer)
	return out[0].Rejection
}

func TestAdmission(t *testing.T) {
	t.Run("SUP-21 check 1 comes before all others", func(t *testing.T) {
		cfg := basic(1)
		cfg.First.Job = math.MaxUint64
		r := ready(t, cfg)
		r.submit(1)
		r.apply(event{Kind: Shutdown})
		require.Equal(t, PoolStopping, r.rejection(2))
		r.exit(0, Normal, 0)
		r.apply(r.about(StopSettled, 0))
		require.Equal(t, Stopped, r.s.mode)
		require.Equal(t, PoolStopping, r.rejection(3))
		require.Empty(t, r.apply(event{Kind: Shutdown}))
	})
	t.Run("SUP-21 check 2 comes before a full backlog", func(t *testing.T) {
		r := ready(t, basic(1))
		r.exit(0, Normal, 0)
		require.Equal(t, Unserved, r.rejection(1))
	})
	t.Run("SUP-21 check 3 comes before exhausted ids", func(t *testing.T) {
		cfg := basic(1)
		cfg.First.Job = math.MaxUint64
		r := ready(t, cfg)
		r.submit(1)
		require.Equal(t, BacklogFull, r.rejection(2))
		r.deliver(0)
		r.complete(0, 0)
		require.Equal(t, JobIDsExhausted, r.rejection(3))
	})
	t.Run("SUP-21 check 4 for either half of the pair", func(t *testing.T) {
		for _, first := range []Counters{{Job: math.MaxUint64}, {Ordinal: math.MaxUint64}} {
			cfg := basic(1)
			cfg.Backlog, cfg.First = 9, first
			r := ready(t, cfg)
			r.submit(1)
			require.Equal(t, JobIDsExhausted, r.rejection(2))
			r.deliver(0)
			require.Len(t, only(r.complete(0, 0), Complete), 1, "accepted work goes on")
		}
	})
	t.Run("SUP-21 check 5 does not fall back to queueing, and spends the pair", func(t *testing.T) {
		cfg := basic(2)
		cfg.Backlog, cfg.First.Assignment = 9, math.MaxUint64
		r := ready(t, cfg)
		r.submit(1)
		require.Equal(t, AssignIDsExhausted, r.rejection(2))
		require.Equal(t, JobID(3), r.s.jobs.next)
		require.Equal(t, Ordinal(3), r.s.ordinals.next)
		require.Zero(t, r.s.queue.n)
	})
	t.Run("SUP-24 the verdict comes before the delivery", func(t *testing.T) {
		r := ready(t, basic(1))
		require.Equal(t, "accept deliver", kinds(r.submit(1)))
	})
}

func TestBacklogBound(t *testing.T) {
	for _, places := range []int{0, 1, 3} {
		t.Run(fmt.Sprintf("SUP-23 %d waiting jobs are admitted, starting or busy", places), func(t *testing.T) {
			cfg := basic(1)
			cfg.Backlog = places
			starting := open(t, cfg)
			busy := ready(t, cfg)
			busy.submit(0)
			for _, r := range []*rig{starting, busy} {
				for i := range places {
					r.submit(i)
				}
				require.Equal(t, BacklogFull, r.rejection(9))
			}
		})
	}
	t.Run("SUP-61 a requeue is allowed at a full backlog", func(t *testing.T) {
		cfg := restarting(2)
		cfg.Backlog, cfg.Interruption = 1, Retry
		r := ready(t, cfg)
		for i := range 3 {
			r.submit(i)
		}
		for role := range 2 {
			r.deliver(role)
			r.exit(role, Normal, 0)
		}
		require.Equal(t, 3, r.s.queue.n)
		require.Equal(t, BacklogFull, r.rejection(9))
	})
}

func TestServed(t *testing.T) {
	// Every phase with one role in it, under each policy.
	for phase := Starting; phase <= lastPhase; phase++ {
		for _, policy := range []Policy{Permanent, Transient, Temporary} {
			r := inPhase(t, phase, policy)
			if r == nil {
				continue
			}
			want := phase != Retired && (phase != Stopping || policy != Temporary)
			t.Run(fmt.Sprintf("SUP-22 phase %d under policy %d", phase, policy), func(t *testing.T) {
				if want {
					require.NotEqual(t, Unserved, r.rejection(1))
				} else {
					require.Equal(t, Unserved, r.rejection(1))
				}
			})
		}
	}
}

// inPhase returns a pool of one role in that phase, or of two where one role
// cannot be in it alone: then it is role 1. It returns nil where a policy has
// no such phase.
func inPhase(t *testing.T, phase Phase, policy Policy) *rig {
	cfg := restarting(1)
	cfg.Policy, cfg.Backlog = policy, 1
	recovers := policy != Temporary
	switch phase {
	case Scheduling, Delayed:
		cfg.Backoff = Backoff{Kind: Constant, Initial: 1}
	case AwaitingFactory:
		cfg.Roles = 2
	}
	if phase > Stopping && phase < Retired && !recovers {
		return nil
	}
	r := open(t, cfg)
	start := func(role int, activates bool) {
		ev := r.about(Started, role)
		ev.Activates = activates
		r.apply(ev)
	}
	switch phase {
	case Starting:
	case Waiting: // for the slot that another has
		cfg.Roles = 2
		r = open(t, cfg)
		start(0, true)
		start(1, true)
	case Dispatched:
		start(0, true)
	case Activating:
		start(0, true)
		r.apply(r.about(ActivationBegun, 0))
	case Idle:
		start(0, false)
	case Busy:
		start(0, false)
		r.submit(1)
	case Stopping:
		start(0, true)
		ev := r.about(ActivationFailed, 0)
		ev.Cause = errTest
		r.apply(ev)
	case AwaitingFactory:
		start(0, false)
		start(1, false)
		r.exit(0, Failed, 0)
		r.exit(1, Failed, 0)
	case Retired:
		ev := r.about(StartRejected, 0)
		ev.Cause = errTest
		r.apply(ev)
	default:
		start(0, false)
		r.exit(0, Failed, 0)
		if phase == Preparing {
			break
		}
		r.prepared(0)
		if phase == Delayed {
			r.apply(r.about(TimerScheduled, 0))
		}
	}
	require.Equal(t, phase, r.phase(r.s.cfg.Roles-1))
	return r
}

// TestEveryEventInEveryPhase requires a defined result of each kind of event,
// with matching and with foreign ids, in each mode and phase.
func TestEveryEventInEveryPhase(t *testing.T) {
	for phase := Starting; phase <= lastPhase; phase++ {
		t.Run(fmt.Sprintf("SUP-5 SUP-50 phase %d", phase), func(t *testing.T) {
			for kind := Submit; kind <= lastEvent; kind++ {
				for _, mode := range []Mode{Serving, Draining, Stopped, Forced} {
					for _, foreign := range []int{0, 1, 2, 3} {
						r := inPhase(t, phase, Permanent)
						role := r.s.cfg.Roles - 1
						ev := r.about(kind, role)
						ev.Exit, ev.Ending, ev.Cause = Exit{Kind: Failed, Cause: errTest}, NotAttempted, errTest
						if mode != Serving {
							r.apply(event{Kind: Shutdown})
						}
						if mode > Draining && r.s.mode == Draining {
							r.end(mode)
						}
						switch foreign {
						case 1:
							ev.Role = r.s.cfg.Roles
						case 2:
							ev.Role = None
						case 3:
							ev.Pool++
							ev.Incarnation += 100
							ev.Assignment += 100
							ev.Prep += 100
							ev.Timer += 100
							ev.Stop += 100
						}
						v, out := r.step(ev) // and all that holds after a step
						require.NotZero(t, v)
						delivery := kind == DeliveryAccepted || kind == DeliveryRejected // the id is all that counts in a drain
						if foreign > 0 && kind > Shutdown && (!delivery || mode == Serving || foreign == 3) {
							require.NotEqual(t, Applied, v, tell(ev))
							require.Len(t, out, 1)
						}
					}
				}
			}
		})
	}
}

func TestAbsorbing(t *testing.T) {
	for _, mode := range []Mode{Stopped, Forced} {
		t.Run(fmt.Sprintf("SUP-88 mode %d refuses every fact with one diagnostic", mode), func(t *testing.T) {
			for kind := Started; kind <= lastEvent; kind++ {
				r := inPhase(t, Busy, Permanent)
				ev := r.about(kind, 0)
				ev.Ending, ev.Exit.Kind = Prepared, Normal
				r.apply(event{Kind: Shutdown})
				r.end(mode)
				require.Equal(t, mode, r.s.mode)
				a := r.refused(ev)
				require.Equal(t, Fault, a.Kind)
				if kind == Completed {
					require.Equal(t, StaleCompletion, a.Diagnosis)
				} else {
					require.Equal(t, LateFact, a.Diagnosis)
				}
				require.Equal(t, PoolStopping, r.rejection(1))
			}
		})
	}
}

// end ends a draining pool.
func (r *rig) end(mode Mode) {
	r.t.Helper()
	if mode == Forced {
		r.s.cfg.DrainWithin = 1
		r.s.drain = unsettled // as if it had been set from the start
		r.apply(event{Kind: TimerRejected, Role: None, Timer: DrainTimer})
		return
	}
	for r.s.mode == Draining {
		u := r.s.Unresolved()[0]
		var kind EventKind
		switch {
		case u.Missing&MissingStart != 0:
			kind = StartRejected
		case u.Missing&MissingActivation != 0:
			kind = Activated
		case u.Missing&MissingStop != 0:
			kind = StopSettled
		case u.Missing&MissingExit != 0:
			kind = Exited
		case u.Missing&MissingPreparation != 0:
			kind = PreparationEnded
		case u.Missing&MissingTimer != 0:
			kind = TimerRejected
		}
		ev := r.about(kind, u.Role)
		ev.Ending, ev.Exit.Kind = Lost, Normal
		r.apply(ev)
	}
}
