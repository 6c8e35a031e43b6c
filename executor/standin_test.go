package executor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer/timertest"
)

// inside runs fn in a task of p and returns its value.
func inside[T any](t testing.TB, p *executor.Pool, fn func(ctx context.Context) (T, error)) T {
	t.Helper()
	return futuretest.Await(t, executor.Submit(bg, p, fn))
}

// answer submits a task that returns v.
func answer[T any](ctx context.Context, ex executor.Executor, v T) *future.Future[T] {
	return executor.Submit(ctx, ex, func(context.Context) (T, error) { return v, nil })
}

// watchCustody checks p's Stats all the time until the test ends.
func watchCustody(t testing.TB, p *executor.Pool) {
	stop, done := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		testwait.Done(t, done)
	})
	go func() {
		defer close(done)
		for {
			if err := custodyError(p.Stats()); err != nil {
				t.Error(err)
				return
			}
			select {
			case <-stop:
				return
			default:
				runtime.Gosched()
			}
		}
	}()
}

// nest submits and awaits tasks within tasks, depth deep.
func nest(ctx context.Context, p *executor.Pool, depth int) (int, error) {
	if depth == 0 {
		return 0, nil
	}
	n, err := executor.Submit(ctx, p, func(ctx context.Context) (int, error) {
		return nest(ctx, p, depth-1)
	}).Await(ctx)
	return n + 1, err
}

func TestAwaitInside(t *testing.T) {
	t.Run("EXEC-13_any_depth_on_one_worker", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		watchCustody(t, p)
		const depth = 2000 // the race detector bears 8128 goroutines
		require.Equal(t, depth, inside(t, p, func(ctx context.Context) (int, error) { return nest(ctx, p, depth) }))
		barrier(t, p)
		require.Zero(t, p.Stats().Lent)
	})

	t.Run("EXEC-13_many_at_once", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 3, QueueLimit: 200})
		watchCustody(t, p)
		var fs []*future.Future[int]
		for range 100 {
			fs = append(fs, executor.Submit(bg, p, func(ctx context.Context) (int, error) { return nest(ctx, p, 20) }))
		}
		for _, f := range fs {
			require.Equal(t, 20, futuretest.Await(t, f))
		}
	})

	t.Run("EXEC-13_one_stand_in_at_a_time", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 20})
		var at, most atomic.Int32
		task := func(context.Context) (int, error) {
			most.Store(max(most.Load(), at.Add(1)))
			defer at.Add(-1)
			runtime.Gosched()
			if s := p.Stats(); s.Lent != 1 || s.Running != 2 {
				return 0, fmt.Errorf("%+v", s)
			}
			return 1, nil
		}
		inside(t, p, func(ctx context.Context) (int, error) {
			var wg sync.WaitGroup
			errs := make(chan error, 10)
			for range 10 { // goroutines of one task share its one slot
				f := executor.Submit(ctx, p, task)
				wg.Go(func() {
					_, err := f.Await(ctx)
					errs <- err
				})
			}
			wg.Wait()
			for range 10 {
				if err := <-errs; err != nil {
					return 0, err
				}
			}
			return 0, nil
		})
		require.EqualValues(t, 1, most.Load())
	})

	t.Run("EXEC-13_the_slot_is_back_before_the_outcome_shows", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		inside(t, p, func(ctx context.Context) (int, error) {
			for range 200 {
				f := answer(ctx, p, 1)
				seen := make(chan int, 1)
				f.OnSettle(func(future.Outcome[int]) { seen <- p.Stats().Lent })
				if _, err := f.Await(ctx); err != nil {
					return 0, err
				}
				if lent := p.Stats().Lent; lent != 0 {
					return 0, fmt.Errorf("after Await: %d lent", lent)
				}
				if lent := <-seen; lent != 0 {
					return 0, fmt.Errorf("in a callback: %d lent", lent)
				}
			}
			return 0, nil
		})
	})

	t.Run("EXEC-13_a_callback_on_the_stand_in_awaits_in_its_turn", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 4})
		require.Equal(t, 12, inside(t, p, func(ctx context.Context) (int, error) {
			return future.Then(ctx, answer(ctx, p, 1), func(ctx context.Context, n int) (int, error) {
				m, err := answer(ctx, p, 10).Await(ctx)
				return n + m + 1, err
			}).Await(ctx)
		}))
	})

	t.Run("EXEC-8_a_slot_that_is_back_keeps_nothing", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		type key struct{}
		lent := func() weak.Pointer[[1000]byte] {
			memory := new([1000]byte)
			inside(t, p, func(ctx context.Context) (int, error) {
				return answer(context.WithValue(bg, key{}, memory), p, 1).Await(ctx)
			})
			return weak.Make(memory)
		}()
		testwait.Until(t, func() bool { runtime.GC(); return lent.Value() == nil })
		require.NoError(t, p.Post(bg, nothing))
	})

	t.Run("EXEC-13_not_on_the_awaiting_stack", func(t *testing.T) {
		logs := newLogs()
		p := newPool(t, executor.Config{Size: 1, Logger: logs.Logger()})
		require.Equal(t, 3, inside(t, p, func(ctx context.Context) (int, error) {
			_, err := executor.Submit(ctx, p, func(context.Context) (int, error) {
				runtime.Goexit()
				return 0, nil
			}).Await(ctx)
			if !errors.Is(err, future.ErrGoexit) {
				return 0, err
			}
			_, err = executor.Submit(ctx, p, func(context.Context) (int, error) { panic(errCause) }).Await(ctx)
			if pe := (*future.PanicError)(nil); !errors.As(err, &pe) || pe.Value != errCause {
				return 0, err
			}
			require.NoError(t, p.Post(ctx, func(context.Context) { panic("bare") }))
			return 3, nil
		}))
		barrier(t, p)
		require.Len(t, logs.Of(slog.LevelError), 1)
		s := p.Stats()
		require.EqualValues(t, []uint64{2, 1}, []uint64{s.Panicked, s.Exited})
	})

	t.Run("EXEC-13_DIAG-4_under_its_own_snapshot_and_labels", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		f := executor.Submit(labeledCtx(bg, "who", "waits"), p, func(ctx context.Context) (string, error) {
			f := executor.Submit(with("a", 1), p, func(ctx context.Context) (string, error) {
				diagnostics.Set(ctx, slog.Int("c", 3))
				return "a=" + attr(ctx, "a") + " b=" + attr(ctx, "b") + " " + labelsHere(), nil
			})
			diagnostics.Set(ctx, slog.Int("b", 2))
			s, err := f.Await(ctx)
			if attr(ctx, "c") != "absent" {
				return "", errors.New("the stand-in wrote into the scope of the task that lent its slot")
			}
			return s, err
		})
		require.Equal(t, "a=1 b=absent "+idleLabels, futuretest.Await(t, f))
	})

	t.Run("EXEC-13_out_of_turn", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 8})
		var order []int
		note := func(n int) func(context.Context) { return func(context.Context) { order = append(order, n) } }
		inside(t, p, func(ctx context.Context) (int, error) {
			require.NoError(t, p.Post(ctx, note(1)))
			f := executor.Submit(ctx, p, func(ctx context.Context) (int, error) { note(2)(ctx); return 0, nil })
			require.NoError(t, p.Post(ctx, note(3)))
			return f.Await(ctx)
		})
		barrier(t, p)
		require.Equal(t, []int{2, 1, 3}, order)
	})

	t.Run("EXEC-13_its_place_is_free_at_once", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		inside(t, p, func(ctx context.Context) (int, error) {
			f := executor.Submit(ctx, p, func(ctx context.Context) (int, error) {
				return 0, p.Post(ctx, func(context.Context) {})
			})
			require.ErrorIs(t, p.Post(ctx, func(context.Context) {}), executor.ErrQueueFull)
			return f.Await(ctx)
		})
	})

	t.Run("EXEC-13_no_more_than_is_needed", func(t *testing.T) {
		p, other := newPool(t, executor.Config{Size: 1}), newPool(t, executor.Config{Size: 1})
		inside(t, p, func(ctx context.Context) (int, error) {
			g := newGate(t)
			queued := answer(ctx, p, 1)
			elsewhere := executor.Submit(ctx, other, func(context.Context) (int, error) { <-g.C; return 0, nil })
			plain := future.NewCompleter[int]()
			over, cancel := context.WithCancelCause(ctx)
			cancel(errCause)

			// An ended context is no reason to run anything, nor is a
			// future that does not depend on what is queued.
			_, err := queued.Await(over)
			require.ErrorIs(t, err, errCause)
			soon, cancelSoon := context.WithTimeout(ctx, time.Millisecond)
			defer cancelSoon()
			_, err = plain.Future().Await(soon)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			_, err = elsewhere.Await(soon)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			futuretest.RequirePending(t, queued)
			require.Equal(t, 1, p.Stats().Queued)
			g.Open()
			_, err = elsewhere.Await(ctx)
			futuretest.RequirePending(t, queued)
			return 0, err
		})
	})

	t.Run("EXEC-13_ctx_ends_while_a_stand_in_runs", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 8})
		watchCustody(t, p)
		g := newGate(t)
		var b *future.Future[int]
		inside(t, p, func(ctx context.Context) (int, error) {
			waiting, cancel := context.WithCancelCause(ctx)
			b = executor.Submit(ctx, p, func(context.Context) (int, error) {
				cancel(errCause)
				<-g.C
				return 7, nil
			})
			_, err := b.Await(waiting)
			require.ErrorIs(t, err, errCause)
			require.Equal(t, 1, p.Stats().Lent)

			// The slot is still lent: c has to wait for its turn.
			c := answer(ctx, p, 8)
			soon, cancelSoon := context.WithTimeout(ctx, time.Millisecond)
			defer cancelSoon()
			_, err = c.Await(soon)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 1, p.Stats().Queued)
			return 0, nil
		})
		barrier(t, p) // the worker goes on without its stand-in
		require.Equal(t, 1, p.Stats().Lent)
		require.Len(t, p.Running(), 1)
		g.Open()
		require.Equal(t, 7, futuretest.Await(t, b))
		require.Zero(t, p.Stats().Lent)
	})

	t.Run("EXEC-13_a_slot_that_comes_back_serves_who_waits_for_it", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 8})
		require.Equal(t, 15, inside(t, p, func(ctx context.Context) (int, error) {
			g := newGate(t)
			waiting, cancel := context.WithCancel(ctx)
			b := executor.Submit(ctx, p, func(context.Context) (int, error) { cancel(); <-g.C; return 7, nil })
			_, err := b.Await(waiting)
			require.ErrorIs(t, err, context.Canceled)
			c := answer(ctx, p, 8)
			go g.Open()
			m, err := c.Await(ctx)
			if err != nil {
				return 0, err
			}
			n, err := b.Await(ctx)
			return m + n, err
		}))
	})

	t.Run("EXEC-13_a_task_that_has_ended_lends_nothing", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 8})
		kept := inside(t, p, func(ctx context.Context) (context.Context, error) { return ctx, nil })
		g := occupy(t, p, 1)
		f := answer(bg, p, 1)
		waiting, cancel := context.WithTimeout(kept, time.Millisecond)
		defer cancel()
		_, err := f.Await(waiting)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 1, p.Stats().Queued)

		// It does not so much as look for something to run.
		var asked searched
		c := &future.Completer[int]{}
		link.Bind(c, &frame.Link{Producer: &asked}, nil)
		again, cancelAgain := context.WithTimeout(kept, time.Millisecond)
		defer cancelAgain()
		_, err = c.Future().Await(again)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, asked.times.Load())

		g.Open()
		n, err := f.Await(kept)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})

	t.Run("EXEC-13_a_task_that_ends_while_it_waits", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 8})
		for range 50 {
			var f *future.Future[int]
			got := make(chan error, 1)
			inside(t, p, func(ctx context.Context) (int, error) {
				f = answer(bg, p, 1)
				go func() {
					_, err := f.Await(ctx)
					got <- err
				}()
				return 0, nil
			})
			require.NoError(t, testwait.Value(t, got))
		}
	})

	t.Run("EXEC-13_its_own_cancellation_ends_the_wait", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 8})
		g := newGate(t)
		waits, got := make(chan struct{}), make(chan error, 1)
		f := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
			b := executor.Submit(context.WithoutCancel(ctx), p, func(context.Context) (int, error) { close(waits); <-g.C; return 0, nil })
			_, err := b.Await(ctx)
			got <- err
			return 0, nil
		})
		testwait.Done(t, waits)
		require.True(t, f.Cancel(errCause))
		err := testwait.Value(t, got)
		require.ErrorIs(t, err, errCause)
		require.ErrorIs(t, err, context.Canceled)
	})

	t.Run("FUT-11_keeps_nothing_of_what_it_submitted", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 2}) // one is free to clear the queue of what was lent
		g := newGate(t)
		submitted := make(chan weak.Pointer[[1000]byte], 1)
		executor.Submit(bg, p, func(ctx context.Context) (int, error) {
			submitted <- func() weak.Pointer[[1000]byte] {
				memory := new([1000]byte)
				_, err := executor.Submit(ctx, p, func(context.Context) (int, error) { memory[0]++; return 0, nil }).Await(ctx)
				require.NoError(t, err)
				return weak.Make(memory)
			}()
			<-g.C
			runtime.KeepAlive(ctx)
			return 0, nil
		})
		w := testwait.Value(t, submitted)
		testwait.Until(t, func() bool { runtime.GC(); return w.Value() == nil })
	})

	t.Run("EXEC-11_cancels_what_it_submitted", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 8})
		waits, got := make(chan struct{}), make(chan error, 2)
		var queued *future.Future[int]
		f := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
			queued = answer(ctx, p, 1)
			b := executor.Submit(ctx, p, func(ctx context.Context) (int, error) {
				close(waits)
				<-ctx.Done()
				got <- context.Cause(ctx)
				return 0, nil
			})
			_, err := b.Await(bg2(ctx))
			got <- err
			<-queued.Done()
			return 0, nil
		})
		testwait.Done(t, waits)
		require.True(t, f.Cancel(errCause))
		require.ErrorIs(t, testwait.Value(t, got), errCause)
		require.ErrorIs(t, testwait.Value(t, got), errCause)
		futuretest.RequireError(t, queued, errCause)
		barrier(t, p)
		require.EqualValues(t, 1, p.Stats().Skipped)
	})
}

// searched is a producer that counts how often somebody looks for what it
// depends on.
type searched struct{ times atomic.Int32 }

func (s *searched) Find(any) any {
	s.times.Add(1)
	return nil
}

func (*searched) Settled()             {}
func (*searched) Canceled(error)       {}
func (*searched) Report(string, error) {}

// bg2 is a child of ctx that does not end with it.
func bg2(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// lateBy is an Executor that posts to ex on another goroutine when told to.
type lateBy struct {
	ex   executor.Executor
	gate <-chan struct{}
	wg   *sync.WaitGroup
}

func (e lateBy) Post(ctx context.Context, task func(context.Context)) error {
	e.wg.Go(func() {
		<-e.gate
		if err := e.ex.Post(ctx, task); err != nil {
			executor.Discard(ctx, err)
		}
	})
	return nil
}

// wrapped is somebody's Executor around ex, which derives contexts and wraps
// tasks.
type wrapped struct{ ex executor.Executor }

type wrappedKey struct{}

func (e wrapped) Post(ctx context.Context, task func(context.Context)) error {
	return e.ex.Post(context.WithValue(ctx, wrappedKey{}, 1), func(ctx context.Context) {
		task(context.WithValue(ctx, wrappedKey{}, 2))
	})
}

func TestAwaitInsideThrough(t *testing.T) {
	type do = func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error)
	limited := func(t *testing.T, ex executor.Executor, n, limit int) executor.Executor {
		l, err := executor.Limit(ex, n, limit)
		require.NoError(t, err)
		return l
	}
	first := func(fs []int, err error) (int, error) {
		if err != nil {
			return 0, err
		}
		return fs[0], nil
	}
	mock := timertest.NewMock()
	for name, do := range map[string]do{
		"Then": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			return future.Then(ctx, answer(ctx, p, 6), func(_ context.Context, n int) (int, error) { return n + 1, nil }).Await(ctx)
		},
		"a_task_of_Then": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			return future.Then(ctx, answer(ctx, p, 6), func(ctx context.Context, n int) (int, error) {
				return answer(ctx, p, n+1).Await(ctx)
			}).Await(ctx)
		},
		"Recover": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			f := executor.Submit(ctx, p, func(context.Context) (int, error) { return 0, errCause })
			return future.Recover(ctx, f, func(ctx context.Context, _ error) (int, error) { return answer(ctx, p, 7).Await(ctx) }).Await(ctx)
		},
		"Shield": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			return future.Shield(answer(ctx, p, 7)).Await(ctx)
		},
		"All": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			return first(future.All(ctx, answer(ctx, p, 7), answer(ctx, p, 8), answer(ctx, p, 9)).Await(ctx))
		},
		"Settled": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			os, err := future.Settled(ctx, answer(ctx, p, 7), answer(ctx, p, 8)).Await(ctx)
			return os[0].Value, err
		},
		"Any": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			bad := executor.Submit(ctx, p, func(context.Context) (int, error) { return 0, errCause })
			return future.Any(ctx, bad, answer(ctx, p, 7)).Await(ctx)
		},
		"Race": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			return future.Race(ctx, future.NewCompleter[int]().Future(), answer(ctx, p, 7)).Await(ctx)
		},
		"Each": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			sum := 0
			for i, o := range future.Each(ctx, answer(ctx, p, 3), answer(ctx, p, 3)) {
				if o.Err != nil {
					return 0, o.Err
				}
				sum += i + o.Value
			}
			return sum, nil
		},
		"Sync_of_Async": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			call := executor.Sync(executor.Async(p, func(_ context.Context, n int) (int, error) { return n + 1, nil }))
			return call(ctx, 6)
		},
		"SubmitAfter": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			f := executor.SubmitAfter(ctx, p, time.Second, func(context.Context) (int, error) { return 7, nil })
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() {
				_ = p.Sync(bg)
				mock.Add(time.Second)
			})
			return f.Await(ctx)
		},
		"Serial": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			s, err := executor.Serial(p, 4)
			require.NoError(t, err)
			ahead := answer(ctx, s, 1)
			n, err := answer(ctx, s, 7).Await(ctx)
			futuretest.RequireSettled(t, ahead)
			return n, err
		},
		"Limit": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			l := limited(t, p, 2, 4)
			return first(future.All(ctx, answer(ctx, l, 7), answer(ctx, l, 1), answer(ctx, l, 1), answer(ctx, l, 1)).Await(ctx))
		},
		"a_task_of_Limit": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			l := limited(t, p, 2, 4)
			return executor.Submit(ctx, l, func(ctx context.Context) (int, error) { return answer(ctx, l, 7).Await(ctx) }).Await(ctx)
		},
		"CallerRuns": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			return executor.Submit(ctx, executor.CallerRuns(p), func(ctx context.Context) (int, error) {
				return answer(ctx, p, 7).Await(ctx)
			}).Await(ctx)
		},
		"Inline": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			return executor.Submit(ctx, executor.Inline(), func(ctx context.Context) (int, error) {
				return answer(ctx, p, 7).Await(ctx)
			}).Await(ctx)
		},
		"somebody's_Executor": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			ex := wrapped{wrapped{p}}
			return executor.Submit(ctx, ex, func(ctx context.Context) (int, error) { return answer(ctx, ex, 7).Await(ctx) }).Await(ctx)
		},
		"somebody's_Executor_around_Limit": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			ex := wrapped{limited(t, wrapped{p}, 2, 4)}
			return executor.Submit(ctx, ex, func(ctx context.Context) (int, error) { return answer(ctx, ex, 7).Await(ctx) }).Await(ctx)
		},
		"an_Executor_that_posts_later": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			var wg sync.WaitGroup
			defer wg.Wait()
			g := newGate(t)
			f := answer(ctx, lateBy{p, g.C, &wg}, 7)
			go g.Open()
			return f.Await(ctx)
		},
		"an_Executor_that_posts_later_to_Limit": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			var wg sync.WaitGroup
			defer wg.Wait()
			g := newGate(t)
			l := limited(t, p, 1, 4)
			ahead := answer(ctx, l, 1) // whose runner is queued, and will serve the other
			f := answer(ctx, lateBy{l, g.C, &wg}, 7)
			go g.Open()
			n, err := f.Await(ctx)
			futuretest.RequireSettled(t, ahead)
			return n, err
		},
		"Map": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			return first(executor.Map(ctx, p, []int{6, 1, 2, 3}, func(ctx context.Context, n int) (int, error) {
				return answer(ctx, p, n+1).Await(ctx)
			}).Await(ctx))
		},
		"a_child_context": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			child, cancel := context.WithTimeout(context.WithValue(ctx, wrappedKey{}, 1), time.Hour)
			defer cancel()
			return answer(child, p, 7).Await(withIn(child, "a", 1))
		},
		"a_context_that_does_not_end_with_it": func(t *testing.T, ctx context.Context, p *executor.Pool) (int, error) {
			return answer(bg, p, 7).Await(context.WithoutCancel(ctx))
		},
	} {
		t.Run("EXEC-13_"+name, func(t *testing.T) {
			for range 20 {
				p := newPool(t, executor.Config{Size: 1, QueueLimit: 16, Clock: mock})
				require.Equal(t, 7, inside(t, p, func(ctx context.Context) (int, error) { return do(t, ctx, p) }), "in a Submit")
				got := make(chan int, 1)
				require.NoError(t, p.Post(bg, func(ctx context.Context) {
					n, err := do(t, ctx, p)
					if err != nil {
						t.Error(err)
					}
					got <- n
				}))
				require.Equal(t, 7, testwait.Value(t, got), "in a Post")
				custody(t, p.Stats())
			}
		})
	}
}

// TestSelfDependency is B07: a task that submits to its own full pool, or waits
// for what is queued behind itself.
func TestSelfDependency(t *testing.T) {
	type result struct {
		post  error
		await error
	}
	run := func(t *testing.T, await func(ctx context.Context) (context.Context, context.CancelFunc)) (result, *future.Future[int], *executor.Pool) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		var b *future.Future[int]
		r := inside(t, p, func(ctx context.Context) (r result, _ error) {
			b = answer(ctx, p, 7)
			r.post = p.Post(ctx, func(context.Context) {})
			waiting, cancel := await(ctx)
			defer cancel()
			_, r.await = b.Await(waiting)
			return r, nil
		})
		return r, b, p
	}
	t.Run("EXEC-2_B07_waiting_outside_its_own_ctx", func(t *testing.T) {
		r, b, _ := run(t, func(context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(bg, 5*time.Millisecond)
		})
		require.ErrorIs(t, r.post, executor.ErrQueueFull)
		require.ErrorIs(t, r.await, context.DeadlineExceeded)
		require.Equal(t, 7, futuretest.Await(t, b))
	})
	t.Run("EXEC-13_B07_waiting_with_its_own_ctx", func(t *testing.T) {
		r, b, _ := run(t, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Hour)
		})
		require.ErrorIs(t, r.post, executor.ErrQueueFull)
		require.NoError(t, r.await)
		require.Equal(t, 7, futuretest.RequireSettled(t, b).Value)
	})
}

func TestLendingAtShutdown(t *testing.T) {
	t.Run("EXEC-13_goes_on_while_the_pool_drains", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 4})
		g := newGate(t)
		f := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
			b := answer(ctx, p, 7)
			<-g.C
			return b.Await(ctx)
		})
		testwait.Until(t, func() bool { return p.Stats().Queued == 1 })
		closed := make(chan error, 1)
		go func() { closed <- p.Close() }()
		testwait.Until(t, func() bool { return isClosed(p.Post(bg, func(context.Context) {})) })
		g.Open()
		require.Equal(t, 7, futuretest.Await(t, f))
		require.NoError(t, testwait.Value(t, closed))
	})

	t.Run("EXEC-14_escalation_reaches_both_and_lists_both", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 4})
		g := newGate(t)
		waits, causes := make(chan struct{}), make(chan error, 2)
		f := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
			b := executor.Submit(ctx, p, func(ctx context.Context) (int, error) {
				close(waits)
				<-ctx.Done()
				causes <- context.Cause(ctx)
				<-g.C
				return 7, nil
			})
			_, err := b.Await(ctx)
			causes <- err
			return b.Await(context.WithoutCancel(ctx))
		})
		testwait.Done(t, waits)
		err := p.Shutdown(ended(errCause))
		var incomplete *executor.ShutdownError
		require.ErrorAs(t, err, &incomplete)
		require.Len(t, incomplete.Running, 2)
		require.Equal(t, 0, incomplete.Running[0].Worker)
		require.Equal(t, 0, incomplete.Running[1].Worker)
		require.ErrorIs(t, testwait.Value(t, causes), executor.ErrClosed)
		require.ErrorIs(t, testwait.Value(t, causes), executor.ErrClosed)
		custody(t, p.Stats())
		g.Open()
		require.Equal(t, 7, futuretest.Await(t, f))
		testwait.Done(t, p.Done())
		require.Zero(t, p.Stats().Running)
	})

	t.Run("EXEC-14_a_stand_in_that_has_not_begun_is_listed", func(t *testing.T) {
		for range 100 {
			p := newPool(t, executor.Config{Size: 1, QueueLimit: 4})
			g := newGate(t)
			ran := make(chan struct{})
			ready := make(chan struct{})
			f := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
				b := executor.Submit(bg, p, func(ctx context.Context) (int, error) { close(ran); <-g.C; return 0, nil })
				close(ready)
				defer func() { <-g.C }()
				return b.Await(ctx)
			})
			testwait.Done(t, ready)
			var incomplete *executor.ShutdownError
			require.ErrorAs(t, p.Shutdown(ended(errCause)), &incomplete)
			require.Equal(t, 2, len(incomplete.Running)+len(incomplete.Discarded))
			g.Open()
			futuretest.RequireSettled(t, waitFor(t, f))
			if len(incomplete.Discarded) == 0 {
				testwait.Done(t, ran)
			}
		}
	})

	t.Run("EXEC-16_a_call_from_a_stand_in_completes", func(t *testing.T) {
		for depth := range 4 {
			p := newPool(t, executor.Config{Size: 1, QueueLimit: 4})
			var call func(ctx context.Context, depth int) (int, error)
			call = func(ctx context.Context, depth int) (int, error) {
				if depth == 0 {
					return 7, p.Close()
				}
				return executor.Submit(ctx, p, func(ctx context.Context) (int, error) { return call(ctx, depth-1) }).Await(ctx)
			}
			require.Equal(t, 7, inside(t, p, func(ctx context.Context) (int, error) { return call(ctx, depth) }))
			testwait.Done(t, p.Done())
		}
	})

	t.Run("EXEC-16_a_call_from_a_stand_in_that_nobody_waits_for_waits_for_the_worker", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 4})
		g := newGate(t)
		closed, closing := make(chan error, 1), make(chan struct{})
		a := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
			waiting, cancel := context.WithCancel(ctx)
			left := make(chan struct{})
			b := executor.Submit(ctx, p, func(context.Context) (int, error) {
				cancel()
				<-left
				close(closing)
				closed <- p.Close()
				return 0, nil
			})
			_, err := b.Await(waiting)
			require.ErrorIs(t, err, context.Canceled)
			close(left)
			<-g.C
			return 7, nil
		})
		testwait.Done(t, closing)
		testwait.Until(t, func() bool { return isClosed(p.Post(bg, func(context.Context) {})) })
		for range 100 {
			runtime.Gosched()
		}
		require.Empty(t, closed, "the worker is still at its task")
		g.Open()
		require.Equal(t, 7, futuretest.Await(t, a))
		require.NoError(t, testwait.Value(t, closed))
	})

	t.Run("EXEC-16_nor_is_it_waited_for_once_the_wait_is_over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 2, QueueLimit: 4})
			other := occupy(t, p, 1)
			g := newGate(t)
			closed := make(chan error, 1)
			stop := make(chan context.CancelFunc, 1)
			a := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
				waiting, cancel := context.WithCancel(ctx)
				stop <- cancel
				_, err := executor.Submit(ctx, p, func(context.Context) (int, error) {
					closed <- p.Close()
					return 0, nil
				}).Await(waiting)
				require.ErrorIs(t, err, context.Canceled)
				<-g.C
				return 7, nil
			})
			synctest.Wait() // the call waits for the other worker, and the task for the call
			(<-stop)()
			synctest.Wait()
			other.Open()
			synctest.Wait()
			require.Empty(t, closed, "a worker is at its task")
			g.Open()
			require.Equal(t, 7, futuretest.Await(t, a))
			require.NoError(t, testwait.Value(t, closed))
		})
	})
}

// waitFor waits for f, whatever becomes of it.
func waitFor[T any](t testing.TB, f *future.Future[T]) *future.Future[T] {
	t.Helper()
	testwait.Done(t, f.Done())
	return f
}
