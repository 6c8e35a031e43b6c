package fold

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExitBeforeStart(t *testing.T) {
	t.Run("SUP-52 started means born and gone", func(t *testing.T) {
		r := open(t, restarting(1))
		require.Empty(t, r.exit(0, Failed, 0))
		require.Equal(t, "prepare notice(1)", kinds(r.apply(r.about(Started, 0))))
		require.Zero(t, r.s.count[Idle])
	})
	t.Run("SUP-52 a rejected start is reported with both facts", func(t *testing.T) {
		r := open(t, restarting(1))
		r.exit(0, Failed, 0)
		ev := r.about(StartRejected, 0)
		ev.Cause = errTest
		fault := only(r.apply(ev), Fault)[0]
		require.Equal(t, Exit{Failed, errTest}, fault.Exit)
		require.ErrorIs(t, fault.Cause, errTest)
	})
}

func TestActivation(t *testing.T) {
	for _, slots := range []int{1, 2} {
		t.Run(fmt.Sprintf("SUP-53 %d slots, in declaration order", slots), func(t *testing.T) {
			cfg := restarting(4)
			cfg.Activations = slots
			r := open(t, cfg)
			var begun []int
			note := func(out []action) {
				for _, a := range only(out, BeginActivation) {
					begun = append(begun, a.Role)
				}
			}
			for _, role := range []int{3, 1, 2, 0} {
				ev := r.about(Started, role)
				ev.Activates = true
				note(r.apply(ev))
			}
			for len(begun) > 0 && r.s.count[Idle] < 4 {
				done := begun[r.s.count[Idle]]
				note(r.apply(r.about(Activated, done)))
			}
			require.Equal(t, map[int][]int{1: {3, 0, 1, 2}, 2: {3, 1, 0, 2}}[slots], begun)
		})
	}
	t.Run("SUP-53 a worker without activation uses no slot", func(t *testing.T) {
		r := ready(t, restarting(2))
		require.Equal(t, 2, r.s.count[Idle])
	})
	t.Run("SUP-54 begun is applied once and needs not come", func(t *testing.T) {
		r := inPhase(t, Dispatched, Permanent)
		wrong := r.about(ActivationBegun, 0)
		wrong.Incarnation++
		r.refused(wrong)
		r.apply(r.about(ActivationBegun, 0))
		r.refused(r.about(ActivationBegun, 0))
		r.apply(r.about(Activated, 0))
		require.Equal(t, Idle, r.phase(0))
		r.refused(r.about(Activated, 0))
		r = inPhase(t, Dispatched, Permanent)
		r.apply(r.about(Activated, 0))
		require.Equal(t, Idle, r.phase(0))
	})
	t.Run("SUP-54 an exit waits for the settlement", func(t *testing.T) {
		for _, kind := range []EventKind{Activated, ActivationFailed} {
			r := inPhase(t, Activating, Permanent)
			require.Empty(t, r.exit(0, Normal, 0))
			ev := r.about(kind, 0)
			if kind == ActivationFailed {
				ev.Cause = errTest
			}
			out := r.apply(ev)
			require.Len(t, only(out, Prepare), 1)
			require.Empty(t, only(out, RequestStop))
		}
	})
	t.Run("SUP-55 a failure is stopped and exits before it recovers, in either order", func(t *testing.T) {
		for _, first := range []EventKind{StopSettled, Exited} {
			r := inPhase(t, Activating, Permanent)
			ev := r.about(ActivationFailed, 0)
			ev.Cause = errTest
			require.Equal(t, "stop fault(10)", kinds(r.apply(ev)))
			if first == StopSettled {
				require.Empty(t, r.apply(r.about(StopSettled, 0)))
				require.Len(t, only(r.exit(0, Normal, 0), Prepare), 1)
			} else {
				require.Empty(t, r.exit(0, Normal, 0))
				ev := r.about(StopSettled, 0)
				ev.Already = true
				require.Equal(t, "prepare notice(4) notice(1)", kinds(r.apply(ev)))
			}
		}
	})
	t.Run("SUP-56 readiness after an exit is refused", func(t *testing.T) {
		r := inPhase(t, Waiting, Permanent)
		r.exit(1, Normal, 0)
		r.refused(r.about(Activated, 1))
		r.refused(r.about(Started, 1))
	})
}

func TestRetry(t *testing.T) {
	t.Run("SUP-61 both orders of exits leave in the order of admission", func(t *testing.T) {
		for _, exits := range [][]int{{0, 1}, {1, 0}} {
			cfg := restarting(2)
			cfg.Interruption, cfg.Backlog = Retry, 1
			r := ready(t, cfg)
			for i := range 3 {
				r.submit(i)
			}
			for _, role := range exits {
				r.deliver(role)
				r.exit(role, Normal, 0)
			}
			var got []int
			for _, role := range exits {
				r.prepared(role)
				for _, a := range only(r.apply(r.about(Started, role)), Deliver) {
					got = append(got, a.Payload)
				}
			}
			require.Equal(t, []int{0, 1}, got)
		}
	})
	t.Run("SUP-64 attempts are counted at the assignment and bounded", func(t *testing.T) {
		cfg := restarting(1)
		cfg.Interruption, cfg.MaxAttempts, cfg.Backlog = Retry, 2, 1
		r := ready(t, cfg)
		require.Equal(t, 1, only(r.submit(1), Deliver)[0].Attempts)
		// A delivery that was rejected does not count.
		r.apply(r.about(DeliveryRejected, 0))
		r.apply(r.about(StopSettled, 0))
		r.exit(0, Normal, 0)
		r.prepared(0)
		require.Equal(t, 1, only(r.apply(r.about(Started, 0)), Deliver)[0].Attempts)
		r.deliver(0)
		r.exit(0, Failed, 0)
		r.prepared(0)
		require.Equal(t, 2, only(r.apply(r.about(Started, 0)), Deliver)[0].Attempts)
		r.deliver(0)
		out := only(r.exit(0, Failed, 0), ReturnAssigned)
		require.Len(t, out, 1)
		require.Equal(t, AttemptsExhausted, out[0].Reason)
		require.Equal(t, 2, out[0].Attempts)
		require.ErrorIs(t, out[0].Cause, errTest)
	})
	t.Run("SUP-63 a rejected delivery is requeued under Fail too, and its worker stopped", func(t *testing.T) {
		cfg := restarting(2)
		r := ready(t, cfg)
		r.submit(1)
		out := r.apply(r.about(DeliveryRejected, 0))
		require.Equal(t, "revoke deliver stop", kinds(out))
		require.Equal(t, 1, out[1].Role)
		require.Equal(t, AssignmentID(2), out[1].Assignment)
	})
	t.Run("SUP-42 an outcome comes before the successor's delivery, in one step", func(t *testing.T) {
		cfg := basic(1)
		cfg.Backlog = 1
		r := ready(t, cfg)
		r.submit(1)
		r.submit(2)
		r.deliver(0)
		require.Equal(t, "complete deliver", kinds(r.complete(0, 10)))
	})
	t.Run("SUP-32 readiness with a backlog goes straight to busy", func(t *testing.T) {
		cfg := basic(1)
		cfg.Backlog = 1
		r := open(t, cfg)
		r.submit(1)
		require.Equal(t, "deliver", kinds(r.apply(r.about(Started, 0))))
	})
}

func TestRoleset(t *testing.T) {
	t.Run("SUP-31 the search goes round once, over word bounds", func(t *testing.T) {
		for n, words := range map[int]int{1: 1, 63: 1, 64: 1, 65: 2, 130: 3} {
			s := newRoleset(n)
			require.Len(t, s, words)
			require.Equal(t, None, s.next(0))
			for _, member := range []int{0, n / 2, n - 1} {
				s.add(member)
				for at := range n {
					require.Equal(t, member, s.next(at))
				}
				s.remove(member)
			}
			s.add(0)
			s.add(n - 1)
			require.Equal(t, 0, s.next(0))
			require.Equal(t, n-1, s.next(min(1, n-1)))
		}
	})
}

func TestInterruption(t *testing.T) {
	for _, how := range []Interruption{Fail, Retry} {
		for _, kind := range []ExitKind{Normal, Failed, Panicked, Goexited} {
			t.Run(fmt.Sprintf("SUP-60 the job is resolved before recovery is considered, interruption %d, exit %d", how, kind), func(t *testing.T) {
				cfg := restarting(1)
				cfg.Interruption, cfg.Backlog = how, 1
				r := ready(t, cfg)
				r.submit(1)
				r.deliver(0)
				out := r.exit(0, kind, 0)
				require.Equal(t, Revoke, out[0].Kind)
				if how == Retry {
					require.Equal(t, 1, r.s.queue.n)
					require.Equal(t, Prepare, out[1].Kind)
					return
				}
				require.Equal(t, ReturnAssigned, out[1].Kind)
				require.Equal(t, WorkerStopped, out[1].Reason)
				require.Equal(t, 1, out[1].Attempts)
				if kind == Normal {
					require.NoError(t, out[1].Cause)
				} else {
					require.ErrorIs(t, out[1].Cause, errTest)
				}
				require.Equal(t, Prepare, out[2].Kind)
			})
		}
	}
	t.Run("SUP-36 the record does not tell why a job came back", func(t *testing.T) {
		records := make([]record[int, int], 2)
		for i := range records {
			cfg := restarting(1)
			cfg.Interruption, cfg.Backlog = Retry, 1
			r := ready(t, cfg)
			r.submit(1)
			if i == 0 {
				r.apply(r.about(DeliveryRejected, 0))
			} else {
				r.deliver(0)
				r.exit(0, Normal, 0)
			}
			records[i] = *r.s.queue.at(0)
		}
		require.Equal(t, 0, records[0].attempts, "an attempt that was none is given back")
		records[0].attempts = records[1].attempts
		require.Equal(t, records[0], records[1])
		require.Equal(t, 0, records[0].last)
	})
}
