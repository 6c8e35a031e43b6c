//lint:file-ignore SA1012 nil contexts are part of what is tested

package executor_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
)

// upTo returns 0 to n-1.
func upTo(n int) []int {
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}
	return items
}

func square(_ context.Context, n int) (int, error) { return n * n, nil }

func squares(n int) []int {
	s := upTo(n)
	for i := range s {
		s[i] *= i
	}
	return s
}

// resource is a result that has to be closed if nobody receives it.
type resource struct {
	n      int
	closed *closings
}

// closings notes how often each resource was closed.
type closings struct {
	mu    sync.Mutex
	times map[int]int
	close func(n int) error // what closing does, if not nil
}

func (c *closings) list() (ns []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, times := range c.times {
		for range times {
			ns = append(ns, n)
		}
	}
	slices.Sort(ns)
	return ns
}

func (r *resource) Close() error {
	r.closed.mu.Lock()
	if r.closed.times == nil {
		r.closed.times = map[int]int{}
	}
	r.closed.times[r.n]++
	r.closed.mu.Unlock()
	if r.closed.close != nil {
		return r.closed.close(r.n)
	}
	return nil
}

// holdingCtx is a context that holds up whoever asks it for its end, when told
// to.
type holdingCtx struct {
	context.Context
	hold    atomic.Bool
	release chan struct{}
}

func (c *holdingCtx) Err() error {
	if c.hold.Load() {
		<-c.release
	}
	return nil
}

func TestMap(t *testing.T) {
	t.Run("EXEC-23_results_in_the_order_of_the_items", func(t *testing.T) {
		for _, cfg := range []executor.Config{
			{Size: 1}, {Size: 1, QueueLimit: 1}, {Size: 1, QueueLimit: executor.NoQueue},
			{Size: 4}, {Size: 4, QueueLimit: 1}, {Size: 4, QueueLimit: executor.NoQueue},
		} {
			p := newPool(t, cfg)
			watchCustody(t, p)
			require.Equal(t, squares(100), futuretest.Await(t, executor.Map(bg, p, upTo(100), square)))
			closeAll(t, p)
			s := p.Stats()
			require.EqualValues(t, []uint64{100, 100, 0}, []uint64{s.Accepted, s.Finished, s.Rejected})
		}
	})

	t.Run("EXEC-23_in_the_order_of_the_items_whichever_ends_first", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 3})
		next := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
		close(next[2])
		require.Equal(t, []int{0, 1, 4}, futuretest.Await(t, executor.Map(bg, p, upTo(3), func(_ context.Context, n int) (int, error) {
			<-next[n]
			if n > 0 {
				defer close(next[n-1])
			}
			return n * n, nil
		})))
	})

	t.Run("EXEC-23_no_items", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		results := futuretest.RequireSettled(t, executor.Map(bg, p, nil, square))
		require.NoError(t, results.Err)
		require.NotNil(t, results.Value)
		require.Empty(t, results.Value)
	})

	t.Run("EXEC-9_what_is_wrong_at_the_call_arrives_through_the_future", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		one := []int{1}
		futuretest.RequireError(t, executor.Map[int, int](bg, p, one, nil), executor.ErrConfig)
		futuretest.RequireError(t, executor.Map(nil, p, one, square), executor.ErrConfig)
		futuretest.RequireError(t, executor.Map(bg, nil, one, square), executor.ErrClosed)
		futuretest.RequireError(t, executor.Map(bg, &executor.Pool{}, one, square), executor.ErrClosed)
		require.Zero(t, p.Stats().Attempted)
		err := futuretest.RequireError(t, executor.Map(ended(errCause), p, one, square), executor.ErrRejected)
		require.ErrorIs(t, err, errCause)
		require.EqualValues(t, 1, p.Stats().Rejected)
		closeAll(t, p)
		futuretest.RequireError(t, executor.Map(bg, p, one, square), executor.ErrClosed)
	})

	t.Run("EXEC-23_at_most_Size_at_a_time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 3, QueueLimit: 20})
			step := make(chan struct{})
			f := executor.Map(bg, p, upTo(10), func(context.Context, int) (int, error) { <-step; return 1, nil })
			for left := 10; left > 0; left-- {
				synctest.Wait()
				s := p.Stats()
				require.EqualValues(t, min(left, 3), s.Running+s.Queued)
				require.EqualValues(t, min(13-left, 10), s.Accepted)
				step <- struct{}{}
			}
			require.Len(t, futuretest.Await(t, f), 10)
		})
	})

	t.Run("EXEC-23_waits_for_room_in_turn", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
			g := occupy(t, p, 1)
			queued := answer(bg, p, 1)
			var order []int
			note := func(_ context.Context, n int) (int, error) { order = append(order, n); return n, nil }
			f := executor.Map(bg, p, []int{1, 3}, note)
			waits := postWait(bg, p, func(ctx context.Context) { _, _ = note(ctx, 2) })
			require.ErrorIs(t, p.Post(bg, nothing), executor.ErrQueueFull)
			require.EqualValues(t, 2, p.Stats().Accepted)
			require.True(t, queued.Cancel(nil))
			g.Open()
			require.Equal(t, []int{1, 3}, futuretest.Await(t, f))
			require.NoError(t, testwait.Value(t, waits))
			require.Equal(t, []int{1, 2, 3}, order)
		})
	})

	t.Run("EXEC-23_in_a_task_of_a_full_pool", func(t *testing.T) {
		for _, cfg := range []executor.Config{{Size: 1, QueueLimit: 2}, {Size: 1, QueueLimit: executor.NoQueue}, {Size: 2, QueueLimit: 2}} {
			p := newPool(t, cfg)
			watchCustody(t, p)
			if cfg.Size == 2 {
				occupy(t, p, 1)
			}
			var others atomic.Int32
			require.Equal(t, squares(20), inside(t, p, func(ctx context.Context) ([]int, error) {
				for p.Post(ctx, func(context.Context) { others.Add(1) }) == nil {
				}
				results, err := executor.Map(ctx, p, upTo(20), func(ctx context.Context, n int) (int, error) {
					sum := 0
					squares, err := executor.Map(ctx, p, []int{n}, square).Await(ctx) // and within that
					for _, n := range squares {
						sum += n
					}
					return sum, err
				}).Await(ctx)
				require.Zero(t, others.Load(), "what was queued has not been overtaken by anything but what is awaited")
				return results, err
			}))
		}
	})

	t.Run("EXEC-13_an_item_that_comes_to_wait_for_room_while_it_is_awaited", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 2, QueueLimit: 1})
			ctx := &holdingCtx{Context: bg, release: make(chan struct{})}
			last, began := make(chan struct{}), make(chan struct{})
			f := executor.Submit(bg, p, func(own context.Context) (int, error) {
				results := executor.Map(ctx, p, upTo(3), func(_ context.Context, n int) (int, error) {
					switch n {
					case 0: // has the other worker until the last item has run
						close(began)
						<-last
					case 1: // is lent this task's slot
						for p.Post(bg, nothing) != nil {
							runtime.Gosched()
						}
						ctx.hold.Store(true)
					case 2:
						close(last)
					}
					return n, nil
				})
				<-began
				list, err := results.Await(own)
				return len(list), err
			})
			synctest.Wait() // item 2 is about to be posted, and nothing else left to wait for
			futuretest.RequirePending(t, f)
			close(ctx.release)
			require.Equal(t, 3, futuretest.Await(t, f))
		})
	})

	t.Run("EXEC-23_the_first_failure_stops_the_rest", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 3, QueueLimit: 8})
			fail := make(chan struct{})
			var started atomic.Int32
			causes := make(chan error, 2)
			f := executor.Map(bg, p, upTo(20), func(ctx context.Context, n int) (int, error) {
				started.Add(1)
				if n == 1 {
					<-fail
					return 0, errCause
				}
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return 0, errors.New("too late to be the first")
			})
			synctest.Wait()
			close(fail)
			require.Equal(t, errCause, futuretest.RequireError(t, f, errCause))
			require.Equal(t, errCause, testwait.Value(t, causes))
			require.Equal(t, errCause, testwait.Value(t, causes))
			require.NoError(t, p.Close())
			require.EqualValues(t, 3, started.Load())
			require.EqualValues(t, 3, p.Stats().Accepted)
		})
	})

	t.Run("EXEC-23_a_failure_takes_back_what_is_queued_or_waits_for_room", func(t *testing.T) {
		for _, cfg := range []executor.Config{{Size: 3, QueueLimit: 2}, {Size: 3, QueueLimit: 1}} {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, cfg)
				occupy(t, p, 2)
				fail := make(chan struct{})
				f := executor.Map(bg, p, upTo(20), func(_ context.Context, n int) (int, error) {
					if n == 0 {
						<-fail
						return 0, errCause
					}
					t.Error("it was taken back")
					return 0, nil
				})
				synctest.Wait()
				require.Equal(t, cfg.QueueLimit, p.Stats().Queued)
				close(fail)
				futuretest.RequireError(t, f, errCause)
				synctest.Wait()
				s := p.Stats()
				custody(t, s)
				require.EqualValues(t, []uint64{2, 0}, []uint64{uint64(s.Running), uint64(s.Queued)})
				require.EqualValues(t, []uint64{3 + uint64(cfg.QueueLimit), uint64(cfg.QueueLimit), uint64(2 - cfg.QueueLimit)},
					[]uint64{s.Accepted, s.Skipped, s.Rejected})
				for range 1 + cfg.QueueLimit { // nobody stands in line any more
					require.NoError(t, p.Post(bg, nothing))
					synctest.Wait()
				}
			})
		}
	})

	t.Run("EXEC-23_canceled_while_an_item_is_posted", func(t *testing.T) {
		for _, full := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
				ctx := &holdingCtx{Context: bg, release: make(chan struct{})}
				first := make(chan struct{})
				f := executor.Map(ctx, p, upTo(9), func(_ context.Context, n int) (int, error) {
					<-first
					ctx.hold.Store(true)
					return n, nil
				})
				synctest.Wait()
				want := []uint64{2, 0, 1} // it is queued, and skipped
				if full {
					require.NoError(t, p.Post(bg, nothing))
					want = []uint64{2, 1, 0} // it gets in line, and out of it again
				}
				close(first)
				synctest.Wait()
				require.True(t, f.Cancel(errCause))
				close(ctx.release)
				synctest.Wait()
				s := p.Stats()
				require.EqualValues(t, want, []uint64{s.Accepted, s.Rejected, s.Skipped})
			})
		}
	})

	t.Run("EXEC-7_a_panic_and_a_Goexit_are_failures", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, Logger: newLogs().Logger()})
		f := executor.Map(bg, p, upTo(9), func(_ context.Context, n int) (int, error) {
			if n == 2 {
				panic(errCause)
			}
			return n, nil
		})
		var pe *future.PanicError
		require.ErrorAs(t, futuretest.RequireError(t, f, errCause), &pe)
		f = executor.Map(bg, p, upTo(9), func(_ context.Context, n int) (int, error) {
			if n == 2 {
				runtime.Goexit()
			}
			return n, nil
		})
		futuretest.RequireError(t, f, future.ErrGoexit)
		require.Equal(t, squares(5), futuretest.Await(t, executor.Map(bg, p, upTo(5), square)))
	})

	t.Run("EXEC-11_canceled_it_cancels_the_items", func(t *testing.T) {
		for name, cancel := range map[string]func(f *future.Future[[]int], cancel context.CancelCauseFunc){
			"by Cancel":         func(f *future.Future[[]int], _ context.CancelCauseFunc) { f.Cancel(errCause) },
			"by the end of ctx": func(_ *future.Future[[]int], cancel context.CancelCauseFunc) { cancel(errCause) },
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPool(t, executor.Config{Size: 2, QueueLimit: 1})
					occupy(t, p, 1)
					ctx, end := context.WithCancelCause(bg)
					defer end(nil)
					causes := make(chan error, 1)
					f := executor.Map(ctx, p, upTo(9), func(ctx context.Context, n int) (int, error) {
						<-ctx.Done()
						causes <- context.Cause(ctx)
						return n, nil
					})
					synctest.Wait()
					cancel(f, end)
					require.Equal(t, errCause, testwait.Value(t, causes))
					err := futuretest.RequireError(t, f, errCause)
					require.ErrorIs(t, err, context.Canceled)
					require.True(t, futuretest.RequireSettled(t, f).Canceled())
					synctest.Wait()
					s := p.Stats()
					custody(t, s)
					require.EqualValues(t, []uint64{1, 0, 1}, []uint64{uint64(s.Running), uint64(s.Queued), s.Skipped})
				})
			})
		}
	})

	t.Run("EXEC-23_the_end_of_ctx_wins_over_what_the_items_make_of_it", func(t *testing.T) {
		for range 100 {
			p := newPool(t, executor.Config{Size: 2, QueueLimit: 1})
			ctx, cancel := context.WithCancelCause(bg)
			f := executor.Map(ctx, p, upTo(9), func(_ context.Context, n int) (int, error) {
				if n == 3 {
					cancel(errCause)
				}
				return n, ctx.Err()
			})
			require.True(t, futuretest.RequireSettled(t, waitFor(t, f)).Canceled())
			cancel(nil)
		}
	})

	t.Run("EXEC-23_abandoned_it_runs_on", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 2})
			g := newGate(t)
			closed := &closings{}
			var ran atomic.Int32
			f := executor.Map(bg, p, upTo(9), func(ctx context.Context, n int) (*resource, error) {
				<-g.C
				ran.Add(1)
				return &resource{n, closed}, ctx.Err()
			})
			synctest.Wait()
			require.True(t, f.Abandon(errCause))
			g.Open()
			synctest.Wait()
			require.EqualValues(t, 9, ran.Load())
			require.Equal(t, upTo(9), closed.list())
		})
	})

	t.Run("EXEC-23_the_pool_closes_in_the_middle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 2, QueueLimit: 1})
			g := occupy(t, p, 1)
			closed := &closings{}
			f := executor.Map(bg, p, upTo(9), func(_ context.Context, n int) (*resource, error) {
				<-g.C
				return &resource{n, closed}, nil
			})
			synctest.Wait()
			done := make(chan error, 1)
			go func() { done <- p.Close() }()
			synctest.Wait()
			require.Empty(t, done)
			g.Open()
			futuretest.RequireError(t, f, executor.ErrClosed)
			require.NoError(t, testwait.Value(t, done))
			s := p.Stats()
			custody(t, s)
			require.Equal(t, s.Finished+s.Skipped, s.Accepted)
			synctest.Wait()
			require.Len(t, closed.list(), int(s.Finished)-1)
		})
	})

	t.Run("EXEC-14_the_pool_escalates_in_the_middle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 2, QueueLimit: 1, Logger: newLogs().Logger()})
			occupy(t, p, 2)
			f := executor.Map(bg, p, upTo(9), square)
			synctest.Wait()
			require.Equal(t, 1, p.Stats().Queued)
			require.Error(t, p.Shutdown(ended(errCause)))
			futuretest.RequireError(t, f, executor.ErrClosed)
			custody(t, p.Stats())
		})
	})

	t.Run("FUT-3_results_that_nobody_receives_are_closed_once", func(t *testing.T) {
		for name, end := range map[string]func(f *future.Future[[]*resource]) error{
			"failure": func(*future.Future[[]*resource]) error { return errCause },
			"cancel":  func(f *future.Future[[]*resource]) error { f.Cancel(errCause); return nil },
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newPool(t, executor.Config{Size: 2})
					closed := &closings{}
					var mu sync.Mutex
					var made []int
					g, failing := newGate(t), make(chan struct{})
					var f *future.Future[[]*resource]
					ready := make(chan struct{})
					f = executor.Map(bg, p, upTo(9), func(_ context.Context, n int) (*resource, error) {
						switch n {
						case 5:
							<-ready
							close(failing)
							if err := end(f); err != nil {
								return nil, err
							}
						case 6:
							<-g.C // succeeds when it is over
						}
						mu.Lock()
						defer mu.Unlock()
						made = append(made, n)
						return &resource{n, closed}, nil
					})
					close(ready)
					testwait.Done(t, failing)
					futuretest.RequireError(t, f, errCause)
					g.Open()
					synctest.Wait()
					require.NoError(t, p.Close())
					mu.Lock()
					defer mu.Unlock()
					slices.Sort(made)
					require.GreaterOrEqual(t, len(made), 4)
					require.Equal(t, made, closed.list())
				})
			})
		}
	})

	t.Run("FUT-3_nor_more_than_once_nor_never_when_ends_race", func(t *testing.T) {
		for round := range 200 {
			p := newPool(t, executor.Config{Size: 4})
			closed := &closings{}
			var made atomic.Int32
			f := executor.Map(bg, p, upTo(4), func(_ context.Context, n int) (*resource, error) {
				if n == 0 && round%3 == 0 {
					return nil, errCause
				}
				made.Add(1)
				return &resource{n, closed}, nil
			})
			if round%3 == 1 {
				f.Cancel(errCause)
			}
			o := futuretest.RequireSettled(t, waitFor(t, f))
			closeAll(t, p)
			want := made.Load()
			if o.Err == nil {
				want = 0
			}
			list := closed.list()
			require.Len(t, list, int(want))
			require.Len(t, slices.Compact(list), int(want))
		}
	})

	t.Run("FUT-3_results_that_were_delivered_are_not_closed", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 2})
		closed := &closings{}
		f := executor.Map(bg, p, upTo(9), func(_ context.Context, n int) (*resource, error) { return &resource{n, closed}, nil })
		require.Len(t, futuretest.Await(t, f), 9)
		require.False(t, f.Cancel(nil))
		closeAll(t, p)
		require.Empty(t, closed.list())
	})

	t.Run("FUT-3_closing_that_goes_wrong_is_reported_and_stops_nothing", func(t *testing.T) {
		logs := newLogs()
		p := newPool(t, executor.Config{Size: 1, Logger: logs.Logger()})
		closed := &closings{close: func(n int) error {
			switch n {
			case 0:
				panic("in Close")
			case 1:
				runtime.Goexit()
			case 2:
				return errCause
			}
			return nil
		}}
		f := executor.Map(with("trace", "t1"), p, upTo(9), func(_ context.Context, n int) (*resource, error) {
			if n == 4 {
				return nil, errCause
			}
			return &resource{n, closed}, nil
		})
		settled := make(chan error, 1)
		f.OnSettle(func(o future.Outcome[[]*resource]) { settled <- o.Err })
		futuretest.RequireError(t, f, errCause)
		require.Equal(t, errCause, testwait.Value(t, settled))
		barrier(t, p)
		require.Equal(t, upTo(4), closed.list())
		var disposals []record
		for _, r := range logs.Of(slog.LevelError) {
			if r.Message == "future: disposing of a late value failed" {
				disposals = append(disposals, r)
				require.Equal(t, "trace=t1", r.Context)
				require.Equal(t, "executor", r.Attrs["pool"].String())
			}
		}
		require.Len(t, disposals, 3)
	})

	t.Run("DIAG-1_items_have_the_context_of_the_call", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		g := occupy(t, p, 1)
		ctx, cancel := context.WithTimeout(with("trace", "t1"), time.Hour)
		defer cancel()
		items := upTo(9)
		f := executor.Map(labeledCtx(ctx, "who", "me"), p, items, func(ctx context.Context, n int) (string, error) {
			if _, ok := ctx.Deadline(); !ok || n < 0 {
				return "", errors.New("no deadline, or not the items of the call")
			}
			return attr(ctx, "trace") + labelsHere(), nil
		})
		for i := range items {
			items[i] = -1
		}
		g.Open()
		for _, s := range futuretest.Await(t, f) {
			require.Equal(t, `t1{"who":"me"}`, s)
		}
	})

	t.Run("EXEC-18_a_pool_in_use_is_not_dropped", func(t *testing.T) {
		logs := newLogs()
		p, err := executor.New(executor.Config{Size: 1, QueueLimit: 1, Logger: logs.Logger()})
		require.NoError(t, err)
		g := newGate(t)
		f := executor.Map(bg, p, upTo(20), func(_ context.Context, n int) (int, error) {
			<-g.C
			runtime.GC()
			return n, nil
		})
		done := p.Done()
		p = nil
		g.Open()
		require.Len(t, futuretest.Await(t, f), 20)
		testwait.Until(t, func() bool {
			runtime.GC()
			select {
			case <-done:
				return true
			default:
				return false
			}
		})
		testwait.Done(t, logs.wrote) // which comes after the close
		require.Len(t, logs.Of(slog.LevelWarn), 1)
	})
}
