//lint:file-ignore SA1012 nil contexts are part of what is tested

package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

// bothPaths runs a test with the fast path and without it.
func bothPaths(t *testing.T, test func(t *testing.T, slow bool)) {
	for _, slow := range []bool{false, true} {
		t.Run(name("slow=%v", slow), func(t *testing.T) { test(t, slow) })
	}
}

func TestAcquire(t *testing.T) {
	t.Run("LEASE-16 the order of the answers", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			p, m := testPool(t, config{}, slow, nil)
			h := p.Handle()
			dead := ended(errCause)
			for _, try := range []func(context.Context) (leased, error){h.Acquire, h.TryAcquire} {
				_, err := try(dead)
				var canceled *lease.CanceledError
				require.ErrorAs(t, err, &canceled)
				require.Equal(t, lease.StageAdmission, canceled.Stage)
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, err, errCause)
			}
			require.NoError(t, h.Close())
			for _, try := range []func(context.Context) (leased, error){h.Acquire, h.TryAcquire} {
				_, err := try(dead)
				require.ErrorIs(t, err, lease.ErrHandleClosed)
			}
			require.NoError(t, p.Close())
			for _, try := range []func(context.Context) (leased, error){h.Acquire, h.TryAcquire, p.Acquire, p.TryAcquire} {
				_, err := try(dead)
				require.ErrorIs(t, err, lease.ErrClosed)
				_, err = try(noCtx)
				require.ErrorIs(t, err, lease.ErrConfig)
			}
			require.ErrorIs(t, p.Do(noCtx, nil), lease.ErrConfig)
			require.ErrorIs(t, p.Do(bg, nil), lease.ErrConfig)
			require.ErrorIs(t, h.Do(bg, nil), lease.ErrConfig)
			made, _ := m.made()
			require.Zero(t, made)
		})
	})
	t.Run("LEASE-17 waits, in order, and is saturated at the limit", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			p, _ := testPool(t, config{MaxWaiters: 2}, slow, nil)
			l := acquire(t, p)
			first := waiting(t, p, bg, p)
			second := waiting(t, p, bg, p)
			err := failed(t, begin(bg, p), lease.ErrSaturated)
			var saturated *lease.SaturatedError
			require.ErrorAs(t, err, &saturated)
			require.Equal(t, 2, saturated.Limit)
			release(t, l)
			l = got(t, first)
			release(t, l)
			release(t, got(t, second))
			atRest(t, p)
		})
	})
	t.Run("LEASE-20 the deadline of the queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := &maker{}
			p, err := lease.New(config{Name: "p", Slots: 1, AcquireTimeout: time.Minute, Connect: m.connect})
			require.NoError(t, err)
			defer p.Close()
			l := acquire(t, p)
			_, err = p.Acquire(bg)
			var timeout *lease.AcquireTimeoutError
			require.ErrorAs(t, err, &timeout)
			require.Equal(t, lease.AcquireTimeoutError{Pool: "p", Limit: time.Minute, Waited: time.Minute}, *timeout)
			require.NotErrorIs(t, err, context.DeadlineExceeded)
			release(t, l)
			require.Equal(t, uint64(1), p.Stats().TimedOut)
		})
	})
	t.Run("LEASE-21 a ctx that has ended goes before a deadline that has passed", func(t *testing.T) {
		for range 20 { // either may be seen first
			ctx, cancel := context.WithCancelCause(bg)
			p, _ := newPool(t, config{AcquireTimeout: time.Second, Clock: &eager{func() { cancel(errCause) }}})
			l := acquire(t, p)
			failed(t, begin(ctx, p), errCause)
			release(t, l)
		}
	})
	t.Run("LEASE-20 the deadline does not count connecting", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			slow := func(context.Context) (*thing, error) { time.Sleep(time.Hour); return &thing{}, nil }
			p, err := lease.New(config{Slots: 1, AcquireTimeout: time.Minute, Connect: slow})
			require.NoError(t, err)
			defer p.Close()
			release(t, acquire(t, p))
		})
	})
	t.Run("LEASE-21 LEASE-22 canceled in the queue", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			p, _ := testPool(t, config{}, slow, nil)
			l := acquire(t, p)
			ctx, cancel := context.WithCancelCause(bg)
			ch := waiting(t, p, ctx, p)
			cancel(errCause)
			err := failed(t, ch, errCause)
			var canceled *lease.CanceledError
			require.ErrorAs(t, err, &canceled)
			require.Equal(t, lease.StageQueued, canceled.Stage)
			require.Contains(t, err.Error(), "queued")
			testwait.Until(t, func() bool { return p.Stats().Waiters == 0 })
			release(t, l)
			release(t, acquire(t, p))
			atRest(t, p)
		})
	})
	t.Run("LEASE-21 a grant to a caller whose ctx has ended goes back", func(t *testing.T) {
		for _, warm := range []int{0, 1} {
			ctx, cancel := context.WithCancelCause(bg)
			var armed atomic.Bool
			p, m := testPool(t, config{}, true, func(point string) {
				if point == "commit" && armed.Load() {
					cancel(errCause)
				}
			})
			for range warm {
				release(t, acquire(t, p))
			}
			armed.Store(true)
			failed(t, begin(ctx, p), errCause)
			testwait.Until(t, func() bool { return p.Stats().Free == 1 })
			made, _ := m.made()
			require.Equal(t, warm, made, "it did not go on to connect")
			atRest(t, p)
		}
	})
	t.Run("LEASE-24 TryAcquire never queues", func(t *testing.T) {
		p, _ := newPool(t, config{})
		l, err := p.TryAcquire(bg)
		require.NoError(t, err)
		_, err = p.TryAcquire(bg)
		require.ErrorIs(t, err, lease.ErrNoCapacity)
		ch := waiting(t, p, bg, p)
		release(t, l)
		l = got(t, ch)
		release(t, l)
		testwait.Until(t, func() bool {
			l, err := p.TryAcquire(bg)
			return err == nil && l.Release() == nil
		})
		atRest(t, p)
	})
	t.Run("LEASE-32 TryAcquire does not overtake", func(t *testing.T) {
		stall, stalled, free := make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
		p, _ := testPool(t, config{}, false, func(point string) {
			if point != "sweep" {
				return
			}
			select {
			case <-stall:
				select {
				case stalled <- struct{}{}:
				default:
				}
				<-free
			default:
			}
		})
		l := acquire(t, p)
		ch := waiting(t, p, bg, p)
		close(stall)
		p.Hint()
		testwait.Done(t, stalled) // the owner is stuck, and a permit comes back
		release(t, l)
		require.Equal(t, 1, p.Stats().Free)
		_, err := p.TryAcquire(bg)
		require.ErrorIs(t, err, lease.ErrNoCapacity)
		close(free)
		release(t, got(t, ch))
	})
	t.Run("LEASE-25 Rotate uses all slots alike", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			p, _ := testPool(t, config{Slots: 3}, slow, nil)
			var order []int
			for range 6 {
				l := acquire(t, p)
				order = append(order, l.Slot())
				release(t, l)
			}
			require.Equal(t, []int{0, 1, 2, 0, 1, 2}, order)
		})
	})
	t.Run("LEASE-25 PreferWarm uses what is connected", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			p, m := testPool(t, config{Slots: 3, SlotOrder: lease.PreferWarm}, slow, nil)
			a, b := acquire(t, p), acquire(t, p)
			require.Equal(t, []int{0, 1}, []int{a.Slot(), b.Slot()})
			require.NoError(t, a.Discard(errDirty)) // slot 0 is cold
			release(t, b)
			for range 2 {
				b = acquire(t, p)
				require.Equal(t, 1, b.Slot())
				release(t, b)
			}
			b = acquire(t, p)
			a = acquire(t, p)
			require.Equal(t, 0, a.Slot(), "the lowest, where none is warm")
			release(t, a)
			release(t, b)
			made, _ := m.made()
			require.Equal(t, 3, made)
		})
	})
	t.Run("LEASE-26 Do", func(t *testing.T) {
		p, _ := newPool(t, config{})
		require.NoError(t, p.Do(bg, func(_ context.Context, x *thing) error {
			require.Equal(t, 1, x.n)
			require.Equal(t, 1, p.Stats().Leased)
			return nil
		}))
		require.ErrorIs(t, p.Handle().Do(bg, func(context.Context, *thing) error { return errCause }), errCause)
		atRest(t, p)
	})
}

func TestFairness(t *testing.T) {
	// order lets acquisitions queue behind one lease and returns the order in
	// which they are served.
	order := func(t *testing.T, p *pool, from []acquirer) []int {
		l := acquire(t, p)
		served := make(chan int)
		for i, f := range from {
			ch := waiting(t, p, bg, f)
			go func() {
				a := <-ch
				served <- i
				_ = a.lease.Release()
			}()
		}
		release(t, l)
		var list []int
		for range from {
			list = append(list, testwait.Value(t, served))
		}
		return list
	}
	t.Run("LEASE-27 FIFO across handles", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			p, _ := testPool(t, config{Fairness: lease.FIFO}, slow, nil)
			a, b := p.Handle(), p.Handle()
			require.Equal(t, []int{0, 1, 2, 3, 4}, order(t, p, []acquirer{a, a, b, p, a}))
		})
	})
	t.Run("LEASE-28 LEASE-31 round robin, the pool itself being one party", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			p, _ := testPool(t, config{}, slow, nil)
			a, b := p.Handle(), p.Handle()
			require.Equal(t, []int{0, 4, 5, 1, 6, 2, 3}, order(t, p, []acquirer{p, p, p, p, a, b, b}))
		})
	})
	t.Run("LEASE-33 many handles, and few that queue", func(t *testing.T) {
		p, _ := newPool(t, config{})
		for range 1000 {
			release(t, acquire(t, p.Handle()))
		}
		require.Zero(t, p.Stats().WaitingHandles)
		require.Equal(t, []int{0}, order(t, p, []acquirer{p.Handle()}))
	})
}

func TestHandleClose(t *testing.T) {
	t.Run("LEASE-38 LEASE-39 LEASE-40 waiters are settled and leases stay", func(t *testing.T) {
		bothPaths(t, func(t *testing.T, slow bool) {
			p, _ := testPool(t, config{}, slow, nil)
			h := p.Handle()
			l := acquire(t, h)
			first, second := waiting(t, p, bg, h), waiting(t, p, bg, h)
			other := waiting(t, p, bg, p)
			require.NoError(t, h.Close())
			require.NoError(t, h.Close())
			for _, ch := range []<-chan answer{first, second} {
				var closed *lease.HandleClosedError
				require.True(t, errors.As(failed(t, ch, lease.ErrHandleClosed), &closed))
				require.Equal(t, h.ID(), closed.Handle)
			}
			require.True(t, l.Held())
			release(t, l)
			release(t, got(t, other))
			require.NoError(t, p.Close())
			require.NoError(t, h.Close())
		})
	})
	t.Run("LEASE-39 refused by the owner, though it was in the mailbox first", func(t *testing.T) {
		parked, resume := make(chan struct{}), make(chan struct{})
		first := true
		p, _ := testPool(t, config{}, true, func(point string) {
			if point == "acquire" && first {
				first = false
				close(parked)
				<-resume
			}
		})
		h := p.Handle()
		ch := begin(bg, h)
		testwait.Done(t, parked) // the owner has the command, and has not looked at it
		require.NoError(t, h.Close())
		close(resume)
		failed(t, ch, lease.ErrHandleClosed)
		atRest(t, p)
	})
}

// eager is a clock whose timers go off at once, after telling so.
type eager struct{ tell func() }

func (c *eager) Now() time.Time { return time.Time{} }

func (c *eager) NewTimer(time.Duration) timer.ClockTimer {
	c.tell()
	ch := make(chan time.Time, 1)
	ch <- time.Time{}
	return eagerTimer(ch)
}

type eagerTimer chan time.Time

func (t eagerTimer) C() <-chan time.Time      { return t }
func (t eagerTimer) Reset(time.Duration) bool { return true }
func (t eagerTimer) Stop() bool               { return true }
