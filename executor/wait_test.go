//lint:file-ignore SA1012 nil contexts are part of what is tested

package executor_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
)

// postWait calls PostWait on a goroutine of its own, in a bubble, and returns
// when that waits or has been answered.
func postWait(ctx context.Context, p *executor.Pool, task func(context.Context)) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- p.PostWait(ctx, task) }()
	synctest.Wait()
	return answer
}

// step is a task that begins, says so, and goes on when told to.
type step struct{ begun, end chan struct{} }

func newStep() step { return step{make(chan struct{}), make(chan struct{})} }

func (s step) run(context.Context) {
	close(s.begun)
	<-s.end
}

// askingCtx is a context that asks p for its Stats whenever it is asked for a
// value.
type askingCtx struct {
	context.Context
	p     *executor.Pool
	asked chan struct{}
	once  sync.Once
}

func (c *askingCtx) Value(any) any {
	_ = c.p.Stats()
	c.once.Do(func() { close(c.asked) })
	return nil
}

func TestPostWait(t *testing.T) {
	t.Run("EXEC-6_room_at_once", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		done := make(chan struct{})
		require.NoError(t, p.PostWait(bg, func(context.Context) { close(done) }))
		testwait.Done(t, done)
	})

	t.Run("EXEC-6_first_come_first_served_and_never_overtaken", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
			var steps []step
			for range 7 {
				steps = append(steps, newStep())
			}
			require.NoError(t, p.Post(bg, steps[0].run))
			testwait.Done(t, steps[0].begun)
			require.NoError(t, p.Post(bg, steps[1].run))
			var answers []<-chan error
			for _, s := range steps[2:] {
				answers = append(answers, postWait(bg, p, s.run))
				require.Empty(t, answers[len(answers)-1])
			}
			for i, s := range steps {
				testwait.Done(t, s.begun)
				if i > 0 && i <= len(answers) { // the place that has come free is the next waiter's
					require.NoError(t, testwait.Value(t, answers[i-1]))
				}
				if i < len(answers) {
					require.ErrorIs(t, p.Post(bg, nothing), executor.ErrQueueFull)
				}
				custody(t, p.Stats())
				close(s.end)
			}
			require.NoError(t, p.PostWait(bg, nothing))
			require.NoError(t, p.Close())
			require.EqualValues(t, 8, p.Stats().Finished)
		})
	})

	t.Run("EXEC-6_not_overtaken_while_the_place_changes_hands", func(t *testing.T) {
		for round := range 200 {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
				first := newStep()
				require.NoError(t, p.Post(bg, first.run))
				testwait.Done(t, first.begun)
				queued := answer(bg, p, 1)
				var order []string
				answer := postWait(bg, p, func(context.Context) { order = append(order, "waiter") })
				if round%2 == 0 {
					go close(first.end)
				} else {
					go queued.Cancel(nil)
					go func() { testwait.Done(t, queued.Done()); close(first.end) }()
				}
				for p.Post(bg, func(context.Context) { order = append(order, "poster") }) != nil {
					runtime.Gosched()
				}
				require.NoError(t, testwait.Value(t, answer))
				require.NoError(t, p.Close())
				require.Equal(t, []string{"waiter", "poster"}, order)
			})
		}
	})

	t.Run("EXEC-6_a_canceled_place_goes_to_the_first_waiter", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
			g := occupy(t, p, 1)
			queued := answer(bg, p, 1)
			one, two := postWait(bg, p, nothing), postWait(bg, p, nothing)
			require.True(t, queued.Cancel(nil))
			require.NoError(t, testwait.Value(t, one))
			synctest.Wait()
			require.Empty(t, two)
			require.ErrorIs(t, p.Post(bg, nothing), executor.ErrQueueFull)
			g.Open()
			require.NoError(t, testwait.Value(t, two))
		})
	})

	t.Run("EXEC-6_a_lent_place_goes_to_the_first_waiter", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
			g, last, ready := newGate(t), newGate(t), make(chan struct{})
			f := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
				b := executor.Submit(ctx, p, func(context.Context) (int, error) { <-last.C; return 7, nil })
				close(ready)
				<-g.C
				return b.Await(ctx)
			})
			testwait.Done(t, ready)
			waits := postWait(bg, p, nothing)
			g.Open()
			require.NoError(t, testwait.Value(t, waits))
			require.Equal(t, 2, p.Stats().Running)
			require.Equal(t, 1, p.Stats().Queued)
			last.Open()
			require.Equal(t, 7, futuretest.Await(t, f))
		})
	})

	t.Run("EXEC-6_a_waiter_whose_ctx_ends_leaves_no_trace", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
			g := occupy(t, p, 1)
			queued := answer(bg, p, 1)
			before := p.Stats()
			ctx, cancel := context.WithCancelCause(bg)
			first := postWait(ctx, p, func(context.Context) { t.Error("it was refused") })
			second := postWait(bg, p, nothing)
			require.Equal(t, before, p.Stats(), "one that waits is not decided")

			cancel(errCause)
			err := testwait.Value(t, first)
			require.ErrorIs(t, err, errCause)
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, executor.ErrRejected)
			synctest.Wait()
			require.Empty(t, second)
			after := p.Stats()
			custody(t, after)
			require.Equal(t, before.Rejected+1, after.Rejected)

			require.True(t, queued.Cancel(nil)) // the next one's turn
			require.NoError(t, testwait.Value(t, second))
			g.Open()
			synctest.Wait()
			require.NoError(t, p.Post(bg, nothing), "with nobody in line posts go by again")
		})
	})

	t.Run("EXEC-6_with_nobody_in_line_posts_go_by_again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
			occupy(t, p, 1)
			queued := answer(bg, p, 1)
			ctx, cancel := context.WithTimeout(bg, time.Second)
			defer cancel()
			require.ErrorIs(t, p.PostWait(ctx, nothing), context.DeadlineExceeded)
			require.True(t, queued.Cancel(nil))
			require.NoError(t, p.Post(bg, nothing))
		})
	})

	t.Run("EXEC-6_a_waiter_whose_ctx_ends_is_not_kept_alive", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		occupy(t, p, 1)
		require.NoError(t, p.Post(bg, nothing))
		var kept [3]weak.Pointer[[1000]byte]
		for i := range kept {
			memory := new([1000]byte)
			kept[i] = weak.Make(memory)
			ctx, cancel := context.WithTimeout(bg, time.Millisecond)
			defer cancel()
			err := p.PostWait(ctx, func(context.Context) { memory[0]++ })
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		for _, w := range kept {
			testwait.Until(t, func() bool { runtime.GC(); return w.Value() == nil })
		}
	})

	t.Run("EXEC-6_closing_wakes_them_all", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
			g := occupy(t, p, 1)
			require.NoError(t, p.Post(bg, nothing))
			var answers []<-chan error
			for range 5 {
				answers = append(answers, postWait(bg, p, func(context.Context) { t.Error("it was refused") }))
			}
			closed := make(chan error, 1)
			go func() { closed <- p.Close() }()
			for _, answer := range answers {
				err := testwait.Value(t, answer)
				require.ErrorIs(t, err, executor.ErrClosed)
				require.ErrorIs(t, err, executor.ErrRejected)
			}
			synctest.Wait()
			require.Empty(t, closed, "what is queued runs all the same")
			require.EqualValues(t, 5, p.Stats().Rejected)
			g.Open()
			require.NoError(t, testwait.Value(t, closed))
			require.EqualValues(t, 2, p.Stats().Finished)
			require.ErrorIs(t, p.PostWait(bg, nothing), executor.ErrClosed)
			custody(t, p.Stats())
		})
	})

	t.Run("EXEC-6_a_task_of_the_pool_does_not_wait", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		serial, err := executor.Serial(p, 4)
		require.NoError(t, err)
		for _, ex := range []executor.Executor{p, serial, executor.CallerRuns(p)} {
			require.Equal(t, 1, futuretest.Await(t, executor.Submit(bg, ex, func(ctx context.Context) (int, error) {
				require.NoError(t, p.PostWait(ctx, nothing))
				before := p.Stats().Rejected
				child, cancel := context.WithTimeout(withIn(ctx, "a", 1), time.Hour)
				defer cancel()
				err := p.PostWait(child, nothing)
				require.ErrorIs(t, err, executor.ErrQueueFull)
				require.ErrorIs(t, err, executor.ErrRejected)
				require.Equal(t, before+1, p.Stats().Rejected)
				return 1, nil
			})))
			barrier(t, p)
		}
	})

	t.Run("EXEC-6_nor_does_a_callback_under_the_ctx_of_one_that_has_ended", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		got, ready := make(chan error, 1), make(chan struct{})
		f := executor.Submit(bg, p, func(ctx context.Context) (context.Context, error) {
			<-ready
			return ctx, nil
		})
		f.OnSettle(func(o future.Outcome[context.Context]) {
			_ = p.Post(bg, nothing)
			got <- p.PostWait(o.Value, nothing)
		})
		close(ready)
		require.ErrorIs(t, testwait.Value(t, got), executor.ErrQueueFull)
	})

	t.Run("EXEC-6_a_task_of_another_pool_waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 1, QueueLimit: executor.NoQueue})
			other := newPool(t, executor.Config{Size: 1})
			g := occupy(t, p, 1)
			f := executor.Submit(bg, other, func(ctx context.Context) (int, error) { return 1, p.PostWait(ctx, nothing) })
			synctest.Wait()
			futuretest.RequirePending(t, f)
			g.Open()
			require.Equal(t, 1, futuretest.Await(t, f))
		})
	})

	t.Run("EXEC-6_a_hand-off_without_a_queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 2, QueueLimit: executor.NoQueue})
			var steps []step
			for range 6 {
				steps = append(steps, newStep())
			}
			for i, s := range steps {
				answer := postWait(bg, p, s.run)
				if i >= 2 {
					require.Empty(t, answer)
					close(steps[i-2].end)
				}
				require.NoError(t, testwait.Value(t, answer))
				testwait.Done(t, s.begun)
				custody(t, p.Stats())
			}
			close(steps[4].end)
			close(steps[5].end)
		})
	})

	t.Run("EXEC-6_calls_no_foreign_context_under_the_lock", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		g := occupy(t, p, 1)
		require.NoError(t, p.Post(bg, nothing))
		ctx := &askingCtx{Context: bg, p: p, asked: make(chan struct{})}
		answer := make(chan error, 1)
		go func() { answer <- p.PostWait(ctx, nothing) }()
		testwait.Done(t, ctx.asked)
		g.Open()
		require.NoError(t, testwait.Value(t, answer))
	})

	t.Run("EXEC-6_many_at_once", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 2, QueueLimit: 1})
		watchCustody(t, p)
		var ran atomic.Int64
		errs := make(chan error, 8)
		for i := range cap(errs) {
			go func() {
				for n := range 100 {
					if err := p.PostWait(bg, func(context.Context) { ran.Add(1) }); err != nil {
						errs <- fmt.Errorf("%d/%d: %w", i, n, err)
						return
					}
				}
				errs <- nil
			}()
		}
		for range cap(errs) {
			require.NoError(t, testwait.Value(t, errs))
		}
		closeAll(t, p)
		require.EqualValues(t, 800, ran.Load())
	})

	t.Run("EXEC-2_bad_arguments_are_not_counted", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		require.ErrorIs(t, p.PostWait(nil, nothing), executor.ErrConfig)
		require.ErrorIs(t, p.PostWait(bg, nil), executor.ErrConfig)
		require.Zero(t, p.Stats().Attempted)
		require.ErrorIs(t, p.PostWait(ended(errCause), nothing), errCause)
		require.EqualValues(t, 1, p.Stats().Rejected)
		require.ErrorIs(t, (&executor.Pool{}).PostWait(bg, nothing), executor.ErrClosed)
	})
}
