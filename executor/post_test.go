package executor_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/internal/testwait"
)

func TestPost(t *testing.T) {
	t.Run("EXEC-2_a_full_queue", func(t *testing.T) {
		p := newPool(t, executor.Config{Name: "small", Size: 1, QueueLimit: 2})
		g := occupy(t, p, 1)
		ran := make(chan int, 3)
		for i := range 2 {
			require.NoError(t, p.Post(bg, func(context.Context) { ran <- i }))
		}
		err := p.Post(bg, func(context.Context) { ran <- 2 })
		var rejected *executor.RejectedError
		require.ErrorAs(t, err, &rejected)
		require.Equal(t, "small", rejected.Pool)
		require.Equal(t, executor.ErrQueueFull, rejected.Reason)
		require.Equal(t, 1, rejected.Size)
		require.Equal(t, 2, rejected.QueueLimit)
		require.ErrorIs(t, err, executor.ErrRejected)
		require.ErrorIs(t, err, executor.ErrQueueFull)
		require.NotErrorIs(t, err, executor.ErrClosed)
		require.ErrorContains(t, err, `"small"`)
		require.ErrorContains(t, err, "queue full")
		g.Open()
		closeAll(t, p)
		close(ran)
		var order []int
		for i := range ran {
			order = append(order, i)
		}
		require.Equal(t, []int{0, 1}, order, "the refused task never starts")
		require.EqualValues(t, 1, p.Stats().Rejected)
	})
	t.Run("EXEC-2_closed", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		closeAll(t, p)
		err := p.Post(bg, func(context.Context) { t.Error("ran") })
		require.ErrorIs(t, err, executor.ErrClosed)
		require.ErrorIs(t, err, executor.ErrRejected)
		require.ErrorIs(t, p.Post(ended(errCause), func(context.Context) {}), executor.ErrClosed, "closed comes first")
	})
	t.Run("EXEC-2_a_ctx_that_is_done", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: executor.NoQueue})
		err := p.Post(ended(errCause), func(context.Context) { t.Error("ran") })
		var rejected *executor.RejectedError
		require.ErrorAs(t, err, &rejected)
		require.Equal(t, errCause, rejected.Reason)
		require.ErrorIs(t, err, errCause)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, executor.ErrRejected)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, executor.ErrQueueFull)

		late, cancel := context.WithDeadlineCause(bg, time.Unix(0, 0), errCause)
		defer cancel()
		err = p.Post(late, func(context.Context) {})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errCause)

		occupy(t, p, 1)
		require.ErrorIs(t, p.Post(ended(errCause), func(context.Context) {}), errCause, "before the queue is looked at")
	})
	t.Run("EXEC-2_nil_arguments_are_not_counted", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		for _, post := range []func(context.Context, func(context.Context)) error{p.Post, p.PostWait} {
			var bad *executor.ConfigError
			require.ErrorAs(t, post(nil, func(context.Context) {}), &bad)
			require.Equal(t, "ctx", bad.Field)
			err := post(bg, nil)
			require.ErrorAs(t, err, &bad)
			require.Equal(t, "task", bad.Field)
			require.ErrorIs(t, err, executor.ErrConfig)
			require.NotErrorIs(t, err, executor.ErrRejected)
		}
		require.Zero(t, p.Stats().Attempted)
	})
	t.Run("EXEC-2_never_on_the_caller", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		for range 20 {
			ran := make(chan uint64, 1)
			require.NoError(t, p.Post(bg, func(context.Context) { ran <- goid.ID() }))
			require.NotEqual(t, goid.ID(), testwait.Value(t, ran))
		}
		inner := make(chan [2]uint64, 1)
		require.NoError(t, p.Post(bg, func(ctx context.Context) {
			outside := goid.ID()
			returned := false
			_ = p.Post(ctx, func(context.Context) {
				if !returned { // the worker runs it after this task
					t.Error("ran inside Post")
				}
				inner <- [2]uint64{outside, goid.ID()}
			})
			returned = true
		}))
		ids := testwait.Value(t, inner)
		require.Equal(t, ids[0], ids[1], "one worker")
	})
	t.Run("EXEC-2_NoQueue_hands_over_to_idle_workers_alone", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 2, QueueLimit: executor.NoQueue})
		require.Zero(t, p.Stats().QueueLimit)
		g := occupy(t, p, 2)
		require.ErrorIs(t, p.Post(bg, func(context.Context) {}), executor.ErrQueueFull)
		g.Open()
		done := make(chan struct{})
		for p.Post(bg, func(context.Context) { close(done) }) != nil {
			runtime.Gosched()
		}
		testwait.Done(t, done)
	})
	t.Run("EXEC-3_first_in_first_out", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1000})
		g := occupy(t, p, 1)
		var order []int
		for i := range 1000 {
			require.NoError(t, p.Post(bg, func(context.Context) { order = append(order, i) }))
		}
		g.Open()
		closeAll(t, p)
		require.Len(t, order, 1000)
		require.IsIncreasing(t, order)
	})
	t.Run("EXEC-3_fewer_than_Size_earlier_ones_have_not_started", func(t *testing.T) {
		const size, n = 3, 3000
		p := newPool(t, executor.Config{Size: size, QueueLimit: n})
		started := make([]atomic.Bool, n)
		for i := range n {
			require.NoError(t, p.Post(bg, func(context.Context) {
				started[i].Store(true)
				waiting := 0
				for j := range i {
					if !started[j].Load() {
						waiting++
					}
				}
				if waiting >= size {
					t.Errorf("task %d starts while %d before it have not", i, waiting)
				}
			}))
		}
		closeAll(t, p)
	})
}

func TestWorkers(t *testing.T) {
	t.Run("EXEC-1_exactly_Size_goroutines", func(t *testing.T) {
		const size = 7
		p := newPool(t, executor.Config{Size: size})
		require.Equal(t, size, p.Stats().Workers)
		ids := make(chan uint64, size)
		g := newGate(t)
		for range size {
			require.NoError(t, p.Post(bg, func(context.Context) { ids <- goid.ID(); <-g.C }))
		}
		seen := map[uint64]bool{}
		for range size {
			seen[testwait.Value(t, ids)] = true
		}
		require.Len(t, seen, size, "all at once")
		g.Open()
		for range 10 * size {
			require.NoError(t, p.PostWait(bg, func(context.Context) { ids <- goid.ID() }))
			seen[testwait.Value(t, ids)] = true
		}
		require.Len(t, seen, size, "and never another")
		closeAll(t, p)
		require.Zero(t, p.Stats().Workers)
	})
	t.Run("EXEC-1_one_lost_to_Goexit_is_replaced_before_the_next_task", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 100, Logger: newLogs().Logger()})
		var before, after uint64
		for range 50 {
			require.NoError(t, p.PostWait(bg, func(context.Context) { before = goid.ID(); runtime.Goexit() }))
			done := make(chan struct{})
			require.NoError(t, p.PostWait(bg, func(context.Context) { after = goid.ID(); close(done) }))
			testwait.Done(t, done)
			require.NotEqual(t, before, after)
			require.Equal(t, 1, p.Stats().Workers)
		}
	})
	t.Run("EXEC-1_no_wake_up_is_lost", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		done := make(chan struct{}, 1)
		var spin atomic.Int32
		for i := range 10_000 { // the next Post comes as the worker is about to park, or somewhat later
			require.NoError(t, p.Post(bg, func(context.Context) { done <- struct{}{} }))
			testwait.Done(t, done)
			for range i % 200 {
				spin.Add(1)
			}
		}
	})
	t.Run("EXEC-1_New_starts_its_goroutines_and_no_others", func(t *testing.T) {
		before := runtime.NumGoroutine()
		p := newPool(t, executor.Config{Size: 5})
		require.LessOrEqual(t, runtime.NumGoroutine(), before+5) // those of earlier tests may still end
		closeAll(t, p)
		testwait.Until(t, func() bool { return runtime.NumGoroutine() <= before })
	})
	t.Run("B03_short_lived_pools", func(t *testing.T) {
		before := runtime.NumGoroutine()
		for range 100 {
			p, err := executor.New(executor.Config{Size: 2, QueueLimit: 2})
			require.NoError(t, err)
			var ran atomic.Int32
			for range 2 {
				require.NoError(t, p.Post(bg, func(context.Context) { ran.Add(1) }))
			}
			require.NoError(t, p.Close())
			require.EqualValues(t, 2, ran.Load())
		}
		testwait.Until(t, func() bool { return runtime.NumGoroutine() <= before })
	})
}

// Every task that was accepted has run when Close has returned nil, and none
// runs after that.
func TestPostRacesClose(t *testing.T) {
	t.Run("EXEC-17_accepted_or_rejected", func(t *testing.T) {
		for round := range 150 {
			p, err := executor.New(executor.Config{Size: 1 + round%3, QueueLimit: 4})
			require.NoError(t, err)
			var accepted, refused, ran atomic.Int64
			var closed atomic.Bool
			var wg sync.WaitGroup
			start := make(chan struct{})
			for range 4 {
				wg.Go(func() {
					<-start
					for range 1000 {
						switch err := p.Post(bg, func(context.Context) {
							if closed.Load() {
								t.Error("a task starts after Close")
							}
							ran.Add(1)
						}); {
						case err == nil:
							accepted.Add(1)
						case isClosed(err):
							refused.Add(1)
							return
						default:
							refused.Add(1)
						}
					}
				})
			}
			close(start)
			for range round % 7 {
				runtime.Gosched()
			}
			require.NoError(t, p.Close())
			closed.Store(true)
			testwait.Done(t, p.Done())
			wg.Wait()
			require.Equal(t, accepted.Load(), ran.Load())
			s := p.Stats()
			custody(t, s)
			require.EqualValues(t, accepted.Load(), s.Accepted)
			require.EqualValues(t, refused.Load(), s.Rejected)
			require.EqualValues(t, ran.Load(), s.Finished)
		}
	})
	t.Run("EXEC-17_nothing_is_accepted_after_the_last_worker_left", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 2})
		closeAll(t, p)
		for range 100 {
			require.ErrorIs(t, p.Post(bg, func(context.Context) { t.Error("ran") }), executor.ErrClosed)
			require.ErrorIs(t, p.PostWait(bg, func(context.Context) { t.Error("ran") }), executor.ErrClosed)
		}
		require.Zero(t, p.Stats().Accepted)
	})
}
