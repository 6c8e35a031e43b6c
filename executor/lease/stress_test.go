package lease_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
)

// stressFor returns how long a stress test runs.
func stressFor(t *testing.T) time.Duration {
	if d, err := time.ParseDuration(os.Getenv("CADRE_STRESS")); err == nil {
		return d
	}
	return 150 * time.Millisecond
}

// TestStress does everything at once and then looks whether all permits and
// resources are accounted for.
func TestStress(t *testing.T) {
	for _, cfg := range []config{
		{Slots: 2, MaxWaiters: 6},
		{Slots: 1, PermitsPerSlot: 2, Fairness: lease.FIFO},
	} {
		t.Run(name("LEASE-71 LEASE-79 LEASE-18 slots=%d permits=%d", cfg.Slots, cfg.PermitsPerSlot), func(t *testing.T) {
			bothPaths(t, func(t *testing.T, slow bool) {
				p, m := testPool(t, cfg, slow, nil)
				capacity := p.Stats().Capacity
				var out, over atomic.Int32
				var all sync.WaitGroup
				end := time.Now().Add(stressFor(t) / 4)
				for range 8 {
					all.Go(func() {
						h := p.Handle()
						for time.Now().Before(end) {
							from := []acquirer{p, h}[rand.IntN(2)]
							ctx, cancel := context.WithTimeout(bg, time.Duration(rand.IntN(300))*time.Microsecond)
							l, err := from.Acquire(ctx)
							if err == nil {
								if int(out.Add(1)) > capacity {
									over.Add(1)
								}
								if rand.IntN(4) == 0 {
									l.MarkDirty(errDirty)
								}
								out.Add(-1)
								_ = l.Release()
								_ = l.Release()
							}
							cancel()
							switch rand.IntN(16) {
							case 0:
								_ = h.Close()
								h = p.Handle()
							case 1:
								p.Hint()
							case 2:
								_, _ = p.Sweep(bg)
							case 3:
								p.Reset()
							}
						}
					})
				}
				testwait.Call(t, all.Wait)
				require.Zero(t, over.Load())
				atRest(t, p)
				require.Equal(t, capacity, p.Stats().Free)
				require.NoError(t, p.Shutdown(bg))
				m.requireOnce(t)
			})
		})
	}
	t.Run("LEASE-60 close against everything", func(t *testing.T) {
		for end := time.Now().Add(stressFor(t) / 4); time.Now().Before(end); {
			p, m := newPool(t, config{Slots: 2})
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for {
						l, err := p.Acquire(bg)
						if errors.Is(err, lease.ErrClosed) {
							return
						}
						if err != nil {
							panic(err)
						}
						_ = l.Release()
					}
				})
			}
			all.Go(func() {
				for range rand.IntN(200) {
					p.Hint()
				}
				_ = p.Close()
			})
			testwait.Call(t, all.Wait)
			require.NoError(t, p.Shutdown(bg))
			require.NoError(t, p.Check())
			m.requireOnce(t)
			requireConserved(t, p)
		}
	})
}

func TestMailbox(t *testing.T) {
	t.Run("LEASE-79 LEASE-10 a full mailbox, and then every lease is released", func(t *testing.T) {
		stall, stalled, free := make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
		p, _ := testPool(t, config{Slots: 3, MaxWaiters: 500}, true, func(point string) {
			select {
			case <-stall:
				select {
				case stalled <- struct{}{}:
					<-free
				default:
				}
			default:
			}
		})
		held := []leased{acquire(t, p), acquire(t, p), acquire(t, p)}
		close(stall)
		p.Hint()
		testwait.Until(t, func() bool { return len(stalled) == 1 })
		var callers []<-chan answer
		for range 200 {
			callers = append(callers, begin(bg, p.Handle()))
		}
		testwait.Until(t, func() bool { return p.Boxed() == 200 })
		for _, l := range held {
			go func() { _ = l.Release() }()
		}
		close(free)
		var all sync.WaitGroup
		for _, ch := range callers {
			all.Go(func() {
				if a := <-ch; a.err != nil || a.lease.Release() != nil {
					panic("not granted")
				}
			})
		}
		testwait.Call(t, all.Wait)
		atRest(t, p)
	})
	t.Run("LEASE-9 the demand is lowered under the lock under which it is raised", func(t *testing.T) {
		var p atomic.Pointer[pool]
		var open atomic.Bool
		var lowered atomic.Int32
		q, _ := testPool(t, config{}, true, func(point string) {
			if p := p.Load(); p != nil && point == "calm" {
				lowered.Add(1)
				if !p.BoxLocked() {
					open.Store(true)
				}
			}
		})
		p.Store(q)
		release(t, acquire(t, q))
		testwait.Until(t, func() bool { return lowered.Load() > 0 })
		require.False(t, open.Load())
	})
	t.Run("LEASE-37 waiters are kept for use again, up to a bound", func(t *testing.T) {
		for _, c := range []struct{ back, lent, kept int }{
			{3, 0, 3}, {3, 2, 1}, {3, 5, 0}, {lease.MaxSpare + 5, 0, lease.MaxSpare}, {lease.MaxSpare + 5, 1, lease.MaxSpare - 1},
		} {
			require.Equal(t, c.kept, lease.Spare(c.back, c.lent))
		}
	})
	t.Run("LEASE-37 a waiter that left is not used again while the owner has it", func(t *testing.T) {
		parked, resume := make(chan struct{}), make(chan struct{})
		first := true
		p, _ := testPool(t, config{}, true, func(point string) {
			if point == "acquire" && first {
				first = false
				close(parked)
				<-resume
			}
		})
		ctx, cancel := context.WithCancel(bg)
		gone := begin(ctx, p)
		testwait.Done(t, parked) // the owner has taken it out of the mailbox
		cancel()
		failed(t, gone, context.Canceled)
		next := begin(bg, p)
		testwait.Until(t, func() bool { return p.Boxed() == 1 })
		close(resume)
		release(t, got(t, next))
		atRest(t, p)
	})
}

func TestBubble(t *testing.T) {
	t.Run("LEASE-37 waiters of one bubble do not come up in the next", func(t *testing.T) {
		for range 3 {
			synctest.Test(t, func(t *testing.T) {
				m := &maker{}
				p, err := lease.New(config{Slots: 1, AcquireTimeout: time.Hour, Leak: lease.LeakReport, Connect: m.connect})
				require.NoError(t, err)
				l := acquire(t, p)
				ch := begin(bg, p)
				synctest.Wait()
				require.Equal(t, 1, p.Stats().Waiters)
				release(t, l)
				release(t, got(t, ch))
				require.NoError(t, p.Shutdown(bg))
				_, ok := lease.Inspect(p.Stats().ID)
				require.False(t, ok, "nothing outlives the bubble")
			})
		}
	})
}

// TestModel makes random calls one after the other and checks the pool after
// each.
func TestModel(t *testing.T) {
	t.Run("LEASE-75 LEASE-72 the pool adds up after every call", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			slow := rapid.Bool().Draw(rt, "slow")
			cfg := config{
				Slots: rapid.IntRange(1, 3).Draw(rt, "slots"), PermitsPerSlot: rapid.IntRange(1, 3).Draw(rt, "permits"),
				SlotOrder: rapid.SampledFrom([]lease.SlotOrder{lease.Rotate, lease.PreferWarm}).Draw(rt, "order"),
				Validate:  func(context.Context, *thing) error { return nil },
			}
			p, m := testPool(t, cfg, slow, nil)
			defer func() { _ = p.Close() }()
			var held []leased
			take := func() leased {
				i := rapid.IntRange(0, len(held)-1).Draw(rt, "lease")
				l := held[i]
				held = append(held[:i:i], held[i+1:]...)
				return l
			}
			var detached int
			for range rapid.IntRange(1, 40).Draw(rt, "calls") {
				call := rapid.SampledFrom([]string{"acquire", "acquire", "release", "discard", "dirty", "detach", "reset", "sweep"}).Draw(rt, "call")
				if len(held) == 0 && call != "reset" && call != "sweep" {
					call = "acquire"
				}
				switch call {
				case "acquire":
					l, err := p.TryAcquire(bg)
					if len(held) == cfg.Slots*cfg.PermitsPerSlot {
						require.ErrorIs(rt, err, lease.ErrNoCapacity)
						break
					}
					require.NoError(rt, err)
					require.Zero(rt, l.Value().disposed.Load())
					held = append(held, l)
				case "release":
					require.NoError(rt, take().Release())
				case "discard":
					require.NoError(rt, take().Discard(errDirty))
				case "dirty":
					held[rapid.IntRange(0, len(held)-1).Draw(rt, "lease")].MarkDirty(errDirty)
				case "detach":
					l := take()
					if _, err := l.Detach(); err != nil {
						require.ErrorIs(rt, err, lease.ErrShared)
						require.NoError(rt, l.Release())
					} else {
						detached++
					}
				case "reset":
					p.Reset()
				case "sweep":
					_, err := p.Sweep(bg)
					require.NoError(rt, err)
				}
				require.NoError(rt, p.Check())
				require.Equal(rt, len(held), p.Stats().Leased)
				requireConserved(t, p)
			}
			for _, l := range held {
				require.NoError(rt, l.Release())
			}
			require.Equal(rt, cfg.Slots*cfg.PermitsPerSlot, p.Stats().Free)
			require.NoError(rt, p.Shutdown(bg))
			_, alive := m.made()
			require.Equal(rt, detached, alive)
		})
	})
}
