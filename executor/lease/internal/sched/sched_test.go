package sched_test

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

func TestGrant(t *testing.T) {
	t.Run("LEASE-73 an uncontended acquisition is granted at once", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 1, callers: 1, handles: 1})
		d.acquire(0)
		require.Equal(t, held, d.state(0))
		require.Zero(t, d.word.Free())
		require.False(t, d.word.Demand())
	})
	t.Run("LEASE-73 a permit and nobody who waits", func(t *testing.T) {
		d := drive(t, config{capacity: 2, limit: 1, callers: 3, handles: 1})
		d.acquire(0)
		d.must(d.release(0))
		d.rest()
		require.Equal(t, 2, d.word.Free())
		d.acquire(1, 2)
		require.Equal(t, []int{0, 1, 2}, d.grants)
	})
	t.Run("LEASE-73 LEASE-27 FIFO under saturation, across handles", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 6, callers: 7, handles: 3, policy: sched.FIFO})
		d.acquire(0, 1, 4, 2, 3, 6, 5)
		d.serve(0)
		require.Equal(t, []int{0, 1, 4, 2, 3, 6, 5}, d.grants)
	})
	t.Run("LEASE-73 LEASE-28 round robin over three handles", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 9, callers: 10, handles: 3})
		// Handle 0 has callers 0, 3, 6 and 9; handle 1 has 1, 4, 7; handle 2 has 2, 5, 8.
		d.acquire(0, 3, 6, 9, 1, 4, 2, 5, 7, 8)
		d.serve(0)
		require.Equal(t, []int{0, 3, 1, 2, 6, 4, 5, 9, 7, 8}, d.grants)
	})
	t.Run("LEASE-6 a release, a hint and a sweep are one event", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 1, callers: 1, handles: 1})
		for _, event := range []func(*sched.Sched) sched.Effect{(*sched.Sched).Release, (*sched.Sched).Hint, (*sched.Sched).Sweep} {
			require.Equal(t, sched.Effect{Kind: sched.Prune}, event(&d.s))
			require.Equal(t, sched.Effect{Kind: sched.Calm}, d.s.Next())
			require.NoError(t, d.s.AtRest())
		}
	})
	t.Run("LEASE-28 a handle that comes back joins behind the others", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 9, callers: 7, handles: 2})
		d.acquire(0, 2, 1, 3)
		d.must(d.release(0)) // to 2, the last of handle 0
		d.rest()
		d.acquire(4)
		d.serve(2)
		require.Equal(t, []int{0, 2, 1, 4, 3}, d.grants)
	})
	t.Run("LEASE-73 LEASE-30 a handle registers with its first waiter", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 3, callers: 4, handles: 2})
		d.acquire(0)
		require.Zero(t, d.s.Handles(), "it did not queue")
		d.acquire(1, 3)
		require.Equal(t, 1, d.s.Handles())
		d.acquire(2)
		require.Equal(t, 2, d.s.Handles())
		d.serve(0)
		require.Zero(t, d.s.Handles())
	})
	t.Run("LEASE-32 a newcomer does not overtake", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 3, callers: 3, handles: 1, fast: true})
		d.acquire(0, 1)
		d.must(d.release(0)) // the permit is free, and the owner has not run
		d.must(d.enter(2))
		require.Equal(t, entered, d.state(2))
		d.must(d.push(2))
		d.rest()
		require.Equal(t, held, d.state(1))
		require.Equal(t, pending, d.state(2))
	})
	t.Run("LEASE-73 LEASE-47 hints change nothing", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 3, callers: 2, handles: 1, hints: 100})
		d.acquire(0, 1)
		before := d.encodeAt()
		for range 50 {
			d.must(d.hint())
			d.rest()
		}
		d.hints = 0
		require.Equal(t, before, d.encodeAt())
		for range 3 { // hints upon hints
			d.must(d.hint())
		}
		d.must(d.release(0))
		d.must(d.hint())
		d.rest()
		require.Equal(t, []int{0, 1}, d.grants)
	})
}

// encodeAt is encode without the count of hints.
func (d *driver) encodeAt() string {
	d.hints = 0
	return d.encode()
}

func TestAdmission(t *testing.T) {
	t.Run("LEASE-73 LEASE-17 saturated at exactly the limit", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 2, callers: 5, handles: 2})
		d.acquire(0, 1, 2)
		require.Equal(t, 2, d.s.Len())
		d.acquire(3)
		d.requireRefused(sched.Saturated, 3)
		d.must(d.release(0))
		d.rest()
		d.acquire(4)
		require.Equal(t, pending, d.state(4))
	})
	t.Run("LEASE-73 LEASE-36 a waiter that left does not count", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 1, callers: 3, handles: 1})
		d.acquire(0, 1)
		d.must(d.enter(2))
		d.must(d.cancel(1))
		d.must(d.push(2))
		d.rest()
		require.Equal(t, pending, d.state(2))
		require.Equal(t, 1, d.s.Len())
	})
	t.Run("LEASE-73 nobody queues with a limit of zero", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 0, callers: 3, handles: 1})
		d.acquire(0)
		require.Equal(t, held, d.state(0), "a permit was free")
		d.acquire(1)
		d.requireRefused(sched.Saturated, 1)
		require.False(t, d.word.Demand())
		d.must(d.release(0))
		d.acquire(2)
		require.Equal(t, held, d.state(2))
	})
	t.Run("LEASE-73 LEASE-39 an acquisition after its handle was closed", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 1, callers: 1, handles: 1})
		d.must(d.enter(0))
		d.must(d.bar(0))
		d.must(d.push(0)) // ahead of the deregistration
		d.must(d.leave(0))
		d.rest()
		d.requireRefused(sched.Barred, 0)
		require.Zero(t, d.s.Handles())
		require.Equal(t, 1, d.word.Free())
	})
}

func TestCancel(t *testing.T) {
	t.Run("LEASE-73 LEASE-35 canceled before it is granted", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 3, callers: 3, handles: 1})
		d.acquire(0, 1, 2)
		d.must(d.cancel(1))
		d.serve(0)
		require.Equal(t, []int{0, 2}, d.grants)
		require.Equal(t, canceled, d.state(1))
	})
	t.Run("LEASE-73 LEASE-35 canceled between select and commit, with another behind", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 3, callers: 3, handles: 3})
		d.acquire(0, 1, 2)
		d.must(d.release(0))
		require.Equal(t, 1, d.selected())
		d.must(d.cancel(1))
		d.step()
		require.Equal(t, 2, d.granting(), "the same permit goes to the next")
		d.rest()
		require.Equal(t, held, d.state(2))
		require.True(t, d.callers[1].free)
	})
	t.Run("LEASE-73 LEASE-35 canceled between select and commit, with nobody behind", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 3, callers: 2, handles: 1})
		d.acquire(0, 1)
		d.must(d.release(0))
		require.Equal(t, 1, d.selected())
		d.must(d.cancel(1))
		d.rest()
		require.Equal(t, 1, d.word.Free())
		require.False(t, d.word.Demand())
		require.True(t, d.callers[1].free)
	})
	t.Run("LEASE-34 canceled in the mailbox", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 3, callers: 1, handles: 1})
		d.must(d.enter(0))
		d.must(d.push(0))
		d.must(d.cancel(0))
		require.True(t, d.callers[0].free, "the owner never sees it")
		d.rest()
		require.Equal(t, 1, d.word.Free())
	})
	t.Run("LEASE-34 canceled on the way from the mailbox, whichever the owner learns first", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 3, callers: 2, handles: 1})
		d.must(d.enter(0))
		d.must(d.push(0))
		for d.taken == nil {
			d.step()
		}
		d.must(d.cancel(0))
		require.False(t, d.callers[0].free)
		x := d.box.Canceled()
		require.False(t, d.s.Cancel(x), "Acquire has not been called")
		d.step()
		require.Equal(t, sched.Drop, d.effect.Kind)
		d.rest()
		require.True(t, d.callers[0].free)

		d = drive(t, config{capacity: 1, limit: 3, callers: 2, handles: 1})
		d.must(d.enter(0))
		d.must(d.push(0))
		for d.taken == nil {
			d.step()
		}
		d.must(d.cancel(0))
		d.rest()
		require.True(t, d.callers[0].free)
		require.Equal(t, 1, d.word.Free())
	})
	t.Run("LEASE-36 those who left are taken out though no permit comes back", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 3, callers: 4, handles: 2})
		d.acquire(0, 1, 2, 3)
		d.must(d.cancel(1))
		d.must(d.cancel(3))
		d.rest()
		require.Equal(t, 1, d.s.Len())
		require.Equal(t, 1, d.s.Handles())
	})
}

func TestDeregister(t *testing.T) {
	t.Run("LEASE-73 LEASE-39 with waiters", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 5, callers: 5, handles: 2})
		d.acquire(0, 1, 2, 3, 4)
		d.must(d.bar(1))
		d.must(d.leave(1))
		d.rest()
		d.requireRefused(sched.Barred, 1, 3)
		d.serve(0)
		require.Equal(t, []int{0, 2, 4}, d.grants)
	})
	t.Run("LEASE-73 LEASE-40 twice, and of a handle that never queued", func(t *testing.T) {
		s := sched.New(sched.RoundRobin, 1)
		var h sched.Handle
		for range 2 {
			require.Equal(t, sched.Effect{Kind: sched.Calm}, s.Deregister(&h))
			require.NoError(t, s.AtRest())
		}
	})
	t.Run("LEASE-40 what was granted before stays", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 5, callers: 1, handles: 1})
		d.acquire(0)
		d.must(d.bar(0))
		d.must(d.leave(0))
		d.rest()
		require.Equal(t, held, d.state(0))
	})
}

func TestCheck(t *testing.T) {
	for how, b := range sched.Breaks {
		t.Run("LEASE-72 finds a broken "+how, func(t *testing.T) {
			d := drive(t, config{capacity: 1, limit: 5, callers: 3, handles: 2})
			d.acquire(0, 1, 2)
			require.NoError(t, d.s.AtRest())
			b.Spoil(&d.s)
			require.Error(t, d.s.AtRest())
			require.EqualError(t, cmp.Or(d.s.Check(), d.s.AtRest()), b.Says)
		})
	}
}

func TestEnd(t *testing.T) {
	t.Run("LEASE-73 LEASE-58 close settles everybody", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 2, callers: 5, handles: 2})
		d.acquire(0, 1, 2)
		d.must(d.enter(3))
		d.must(d.push(3)) // in the mailbox
		d.must(d.enter(4))
		d.must(d.close())
		d.rest()
		require.True(t, d.ended)
		d.requireRefused(sched.Closed, 1, 2, 3)
		d.must(d.push(4)) // too late
		d.requireRefused(sched.Closed, 4)
		d.must(d.release(0))
		require.Equal(t, 1, d.word.Free())
	})
	t.Run("LEASE-73 an acquisition after the end", func(t *testing.T) {
		for _, end := range []func(*sched.Sched) sched.Effect{(*sched.Sched).Close, (*sched.Sched).Fail} {
			d := drive(t, config{capacity: 1, limit: 2, callers: 1, handles: 1})
			require.Equal(t, sched.Stop, end(&d.s).Kind)
			require.Equal(t, sched.Rest, d.s.Next().Kind)
			d.callers[0].state = pending
			e := d.s.Acquire(&d.callers[0].Waiter)
			require.Equal(t, sched.Reject, e.Kind)
			require.NotEqual(t, sched.Open, e.Reason)
			require.Equal(t, sched.Rest, d.s.Next().Kind)
			require.Equal(t, sched.Rest, d.s.Hint().Kind)
			require.NoError(t, d.s.AtRest())
			d.callers[0].Reset(nil)
			require.Nil(t, d.callers[0].Handle)
		}
	})
	t.Run("LEASE-64 a take that failed because of the end", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 2, callers: 1, handles: 1})
		d.callers[0].state = pending
		require.Equal(t, sched.Prune, d.s.Acquire(&d.callers[0].Waiter).Kind)
		require.Equal(t, sched.Take, d.s.Next().Kind)
		require.Equal(t, sched.Reject, d.s.Fail().Kind)
		require.Equal(t, sched.Stop, d.s.Took(false).Kind)
	})
	t.Run("LEASE-73 LEASE-65 a failure settles everybody, the one in hand too", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 3, callers: 4, handles: 2})
		d.acquire(0, 1, 2)
		d.must(d.enter(3))
		d.must(d.push(3))
		d.must(d.release(0))
		require.Equal(t, 1, d.selected())
		require.Zero(t, d.word.Free(), "the permit is in the owner's hand")
		d.must(d.crash())
		require.Equal(t, sched.Reject, d.effect.Kind)
		require.Equal(t, 1, d.index(d.effect.Waiter), "the one in hand comes first")
		d.rest()
		d.requireRefused(sched.Failed, 1, 2, 3)
		require.Equal(t, 1, d.word.Free())
	})
	t.Run("LEASE-66 a failure wins over a close", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 3, callers: 2, handles: 2})
		d.acquire(0, 1)
		d.must(d.close())
		d.must(d.fail())
		d.rest()
		d.requireRefused(sched.Failed, 1)
	})
	t.Run("LEASE-66 a failure in the middle of a close", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 3, callers: 3, handles: 1})
		d.acquire(0, 1, 2)
		require.Equal(t, sched.Closed, d.s.Close().Reason)
		e := d.s.Fail() // the first one may not have been told
		for _, i := range []int{1, 2} {
			require.Equal(t, sched.Failed, e.Reason)
			require.Equal(t, i, d.index(e.Waiter))
			e = d.s.Next()
		}
		require.Equal(t, sched.Stop, e.Kind)
		require.Equal(t, sched.Rest, d.s.Close().Kind)
		require.Equal(t, sched.Failed, d.s.Acquire(&d.callers[1].Waiter).Reason)
	})
	t.Run("LEASE-6 an event in the middle of another is a defect", func(t *testing.T) {
		d := drive(t, config{capacity: 1, limit: 0, callers: 2, handles: 1})
		middle := func() {
			t.Helper()
			require.PanicsWithValue(t, "sched: Sweep in the middle of another event", func() { d.s.Hint() })
		}
		d.callers[0].state, d.callers[1].state = pending, pending
		require.Equal(t, sched.Prune, d.s.Acquire(&d.callers[0].Waiter).Kind)
		middle()
		require.Equal(t, sched.Take, d.s.Next().Kind)
		require.Equal(t, sched.Grant, d.s.Took(true).Kind)
		middle()
		require.Equal(t, sched.Calm, d.s.Committed(true).Kind)
		require.Equal(t, sched.Prune, d.s.Acquire(&d.callers[1].Waiter).Kind)
		require.Equal(t, sched.Take, d.s.Next().Kind)
		require.Equal(t, sched.Reject, d.s.Took(false).Kind)
		middle()
		require.Equal(t, sched.Calm, d.s.Next().Kind)
	})
}
