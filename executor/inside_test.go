package executor_test

import (
	"context"
	"log/slog"
	"runtime"
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

// Close on one of the pool's own goroutines.
func TestCloseInside(t *testing.T) {
	t.Run("EXEC-16_a_task", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 4})
		g := occupy(t, p, 1)
		closed := make(chan error, 1)
		var after, ran atomic.Bool
		require.NoError(t, p.Post(bg, func(context.Context) {
			closed <- p.Close()
			after.Store(true)
		}))
		require.NoError(t, p.Post(bg, func(context.Context) { ran.Store(after.Load()) }))
		g.Open()
		require.NoError(t, testwait.Value(t, closed))
		testwait.Done(t, p.Done())
		require.True(t, ran.Load(), "its worker runs what is still queued, and ends")
		require.EqualValues(t, 3, p.Stats().Finished)
	})
	t.Run("EXEC-16_whatever_the_ctx", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		closed := make(chan error, 1)
		require.NoError(t, p.Post(bg, func(context.Context) { closed <- p.Shutdown(bg) }))
		require.NoError(t, testwait.Value(t, closed))
		testwait.Done(t, p.Done())

		// The context of a task on a goroutine of the caller's is not inside.
		p = newPool(t, executor.Config{Size: 1})
		g := newGate(t)
		_, ctx := started(t, bg, p, g)
		waits := make(chan error, 1)
		go func() { waits <- p.Shutdown(context.WithoutCancel(ctx)) }()
		select {
		case err := <-waits:
			t.Fatalf("did not wait for the task: %v", err)
		case <-p.Done():
			t.Fatal("done")
		default:
		}
		require.Len(t, p.Running(), 1)
		g.Open()
		require.NoError(t, testwait.Value(t, waits))
	})
	t.Run("EXEC-16_waits_for_the_others", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 2})
		g := occupy(t, p, 1)
		closed, entered := make(chan error, 1), make(chan struct{})
		require.NoError(t, p.Post(bg, func(context.Context) { close(entered); closed <- p.Close() }))
		testwait.Done(t, entered)
		testwait.Until(t, func() bool { return isClosed(p.Post(bg, func(context.Context) {})) })
		for range 100 {
			runtime.Gosched()
		}
		require.Empty(t, closed)
		g.Open()
		require.NoError(t, testwait.Value(t, closed))
		testwait.Done(t, p.Done())
	})
	t.Run("EXEC-16_escalates_when_the_others_do_not_end", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 2})
		g := occupy(t, p, 1)
		errs := make(chan error, 1)
		require.NoError(t, p.Post(bg, func(context.Context) { errs <- p.Shutdown(ended(errCause)) }))
		var incomplete *executor.ShutdownError
		require.ErrorAs(t, testwait.Value(t, errs), &incomplete)
		require.Len(t, incomplete.Running, 2, "itself included")
		g.Open()
		testwait.Done(t, p.Done())
	})
	t.Run("EXEC-16_waits_for_a_task_whose_own_call_has_returned", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 2})
			second, turn := make(chan error, 1), newGate(t)
			require.NoError(t, p.Post(bg, func(context.Context) { <-turn.C; second <- p.Shutdown(bg) }))
			synctest.Wait()
			first, stuck := make(chan error, 1), newGate(t)
			require.NoError(t, p.Post(bg, func(context.Context) { first <- p.Shutdown(ended(errCause)); <-stuck.C }))
			require.ErrorIs(t, testwait.Value(t, first), errCause)
			turn.Open()
			synctest.Wait()
			require.Empty(t, second)
			stuck.Open()
			require.NoError(t, testwait.Value(t, second))
		})
	})
	t.Run("EXEC-16_waits_for_a_stand-in_that_nobody_waits_for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 2})
			closed, turn := make(chan error, 1), newGate(t)
			require.NoError(t, p.Post(bg, func(context.Context) { <-turn.C; closed <- p.Close() }))
			alone := newGate(t)
			lender := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
				f := executor.Submit(bg, p, func(context.Context) (int, error) { <-alone.C; return 0, nil })
				wait, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				return f.Await(wait)
			})
			futuretest.RequireError(t, waitFor(t, lender), context.DeadlineExceeded)
			turn.Open()
			synctest.Wait()
			require.Empty(t, closed)
			alone.Open()
			require.NoError(t, testwait.Value(t, closed))
		})
	})
	for _, lent := range []bool{false, true} {
		name := map[bool]string{false: "worker", true: "stand-in"}[lent]
		t.Run("EXEC-16_a_"+name+"_that_ended_while_its_slot_was_out_waits_for_nobody", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(t, executor.Config{Size: 2})
				other := newGate(t) // of a task that the call has to wait for
				require.NoError(t, p.Post(bg, func(context.Context) { <-other.C }))
				closed, waits := make(chan error, 1), make(chan error, 1)
				lender := newGate(t)
				lends := func(ctx context.Context) (int, error) {
					inner := executor.Submit(bg, p, func(context.Context) (int, error) {
						closed <- p.Shutdown(bg)
						return 1, nil
					})
					go func() { // not on the goroutine of lends, which goes on and ends
						_, err := inner.Await(ctx)
						waits <- err
					}()
					<-lender.C
					return 1, nil
				}
				if lent {
					outer := lends
					lends = func(ctx context.Context) (int, error) { return executor.Submit(bg, p, outer).Await(ctx) }
				}
				f := executor.Submit(bg, p, lends)
				synctest.Wait()
				lender.Open()
				require.Equal(t, 1, futuretest.Await(t, f))
				synctest.Wait()
				require.Empty(t, closed)
				other.Open()
				require.NoError(t, testwait.Value(t, closed))
				require.NoError(t, testwait.Value(t, waits))
				testwait.Done(t, p.Done())
			})
		})
	}
	t.Run("EXEC-16_several_tasks_at_once", func(t *testing.T) {
		for range 50 {
			p, err := executor.New(executor.Config{Size: 3, QueueLimit: 6})
			require.NoError(t, err)
			closed := make(chan error, 7)
			g := occupy(t, p, 3)
			for range 6 {
				require.NoError(t, p.Post(bg, func(context.Context) { closed <- p.Close() }))
			}
			g.Open()
			go func() { closed <- p.Close() }()
			for range 7 {
				require.NoError(t, testwait.Value(t, closed))
			}
			testwait.Done(t, p.Done())
			require.EqualValues(t, 9, p.Stats().Finished)
		}
	})
	t.Run("EXEC-16_a_callback_of_a_future", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		g, closed := occupy(t, p, 1), make(chan error, 1)
		executor.Submit(bg, p, value(1)).OnSettle(func(future.Outcome[int]) { closed <- p.Close() })
		g.Open()
		require.NoError(t, testwait.Value(t, closed))
		testwait.Done(t, p.Done())
	})
	t.Run("EXEC-16_a_callback_of_a_delay", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 2})
		closed := make(chan error, 1)
		onTimer(p, func() { closed <- p.Close() })
		require.NoError(t, testwait.Value(t, closed))
		testwait.Done(t, p.Done())
	})
	t.Run("EXEC-16_a_callback_of_a_delay_that_the_shutdown_fails", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 2})
		again := make(chan error, 1)
		p.Delay(bg, time.Hour).OnSettle(func(future.Outcome[time.Time]) { again <- p.Close() })
		closeAll(t, p)
		require.NoError(t, testwait.Value(t, again))
	})
	t.Run("EXEC-16_a_stand-in", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		f := executor.Submit(bg, p, func(ctx context.Context) (string, error) {
			return executor.Submit(ctx, p, func(ctx context.Context) (string, error) {
				return "closed", p.Close()
			}).Await(ctx)
		})
		require.Equal(t, "closed", futuretest.Await(t, f), "it does not wait for the worker that waits for it")
		testwait.Done(t, p.Done())
	})
	t.Run("EXEC-16_OnDiscard_and_its_callbacks", func(t *testing.T) {
		closed := make(chan error, 2)
		var p *executor.Pool
		p = newPool(t, executor.Config{Size: 1, Logger: newLogs().Logger(),
			OnDiscard: func(context.Context, error) { closed <- p.Close() }})
		g := occupy(t, p, 1)
		f := executor.Submit(bg, p, value(1))
		f.OnSettle(func(future.Outcome[int]) { closed <- p.Close() })
		require.Error(t, p.Shutdown(ended(errCause)))
		g.Open()
		require.NoError(t, testwait.Value(t, closed))
		require.NoError(t, testwait.Value(t, closed))
		testwait.Done(t, p.Done())
	})
	t.Run("EXEC-16_a_handler_of_the_logger", func(t *testing.T) {
		h := &closingHandler{closed: make(chan error, 10)}
		h.pool = newPool(t, executor.Config{Size: 1, Logger: slog.New(h)})
		require.NoError(t, h.pool.Post(bg, func(context.Context) { panic("boom") }))
		require.NoError(t, testwait.Value(t, h.closed))
		testwait.Done(t, h.pool.Done())
	})
	t.Run("EXEC-16_Goexit_while_the_pool_closes", func(t *testing.T) {
		for round := range 60 {
			p, err := executor.New(executor.Config{Size: 2, Logger: newLogs().Logger()})
			require.NoError(t, err)
			g := occupy(t, p, 2)
			for range 2 {
				require.NoError(t, p.Post(bg, func(context.Context) {
					if round%2 == 0 {
						_ = p.Close()
					}
					runtime.Goexit()
				}))
			}
			g.Open()
			require.NoError(t, p.Close())
			testwait.Done(t, p.Done())
			s := p.Stats()
			custody(t, s)
			require.EqualValues(t, 2, s.Exited)
			require.Zero(t, s.Workers)
		}
	})
}

// closingHandler closes the pool whose record it gets.
type closingHandler struct {
	slog.Handler
	pool   *executor.Pool
	closed chan error
	once   atomic.Bool
}

func (*closingHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *closingHandler) Handle(context.Context, slog.Record) error {
	if h.once.CompareAndSwap(false, true) {
		h.closed <- h.pool.Close()
	}
	return nil
}
