package executor_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

// sickErr panics when it is asked whether it has ended.
type sickErr struct {
	context.Context
	sick atomic.Bool
}

func (c *sickErr) Err() error {
	if c.sick.Load() {
		panic("the context")
	}
	return nil
}

// quietCtx ends without telling anybody.
type quietCtx struct {
	context.Context
	over atomic.Bool
}

func (c *quietCtx) Err() error {
	if c.over.Load() {
		return context.Canceled
	}
	return nil
}

func double(_ context.Context, i int) (int, error) { return 2 * i, nil }

// TestMapCallbacks has callbacks of a Map's future end badly where whoever
// brings the outcome about has no net, or has others to serve.
func TestMapCallbacks(t *testing.T) {
	bad := map[string]func(future.Outcome[[]int]){
		"panic":  func(future.Outcome[[]int]) { panic("callback") },
		"Goexit": func(future.Outcome[[]int]) { runtime.Goexit() },
	}
	for name, callback := range bad {
		t.Run("EXEC-7_on_the_way_to_a_refused_item_"+name, func(t *testing.T) {
			l := defaultLogs(t)
			p := newPool(t, executor.Config{Size: 1, QueueLimit: 4})
			started, gate := make(chan struct{}), newGate(t)
			f := executor.Map(bg, p, []int{1, 2, 3}, func(ctx context.Context, i int) (int, error) {
				if i == 1 {
					close(started)
					<-gate.C
				}
				return double(ctx, i)
			})
			f.OnSettle(callback)
			testwait.Done(t, started)
			ended := make(chan error, 1)
			go func() { ended <- p.Shutdown(context.Background()) }()
			testwait.Until(t, func() bool { return isClosed(p.Post(bg, func(context.Context) {})) })
			gate.Open()
			require.NoError(t, testwait.Value(t, ended))
			require.ErrorIs(t, settled(t, f).Err, executor.ErrClosed)
			require.NotEmpty(t, l.Records())
		})
		t.Run("EXEC-15_in_line_when_the_pool_closes_"+name, func(t *testing.T) {
			defaultLogs(t)
			p, err := executor.New(executor.Config{Size: 1, QueueLimit: 1})
			require.NoError(t, err)
			g := occupy(t, p, 1)
			require.NoError(t, p.Post(bg, func(context.Context) {}))
			f := executor.Map(bg, p, []int{1}, double)
			f.OnSettle(callback)
			behind := make(chan error, 1)
			go func() { behind <- p.PostWait(bg, func(context.Context) {}) }()
			delay := p.Delay(bg, time.Hour)
			ended := make(chan error, 1)
			go func() { ended <- p.Close() }()
			futuretest.RequireError(t, delay, timer.ErrClosed)
			require.ErrorIs(t, testwait.Value(t, behind), executor.ErrClosed)
			require.ErrorIs(t, settled(t, f).Err, executor.ErrClosed)
			g.Open()
			require.NoError(t, testwait.Value(t, ended))
			testwait.Done(t, p.Done())
		})
	}
	t.Run("EXEC-9_a_context_whose_Err_panics_fails_the_future", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		ctx := &sickErr{Context: bg}
		f := executor.Map(ctx, p, []int{1, 2}, func(_ context.Context, i int) (int, error) {
			ctx.sick.Store(true)
			return i, nil
		})
		var panicked *future.PanicError
		require.ErrorAs(t, settled(t, f).Err, &panicked)
		require.Equal(t, "the context", panicked.Value)
		barrier(t, p)
		custody(t, p.Stats())
	})
	t.Run("EXEC-9_a_context_that_has_ended_unnoticed_when_an_item_is_refused_cancels", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: executor.NoQueue})
		g := occupy(t, p, 1)
		ctx := &quietCtx{Context: bg}
		f := executor.Map(ctx, p, []int{1}, double) // waits for room
		ctx.over.Store(true)
		closed := make(chan error, 1)
		go func() { closed <- p.Close() }()
		require.True(t, settled(t, f).Canceled())
		g.Open()
		require.NoError(t, testwait.Value(t, closed))
	})
	t.Run("EXEC-9_a_context_that_fails_between_items_cancels_those_that_run", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 2})
		ctx := &sickErr{Context: bg}
		running, canceled := make(chan struct{}), make(chan error, 1)
		f := executor.Map(ctx, p, []int{0, 1, 2}, func(own context.Context, i int) (int, error) {
			if i == 1 {
				close(running)
				<-own.Done()
				canceled <- own.Err()
				return 0, nil
			}
			<-running
			ctx.sick.Store(true)
			return i, nil
		})
		require.Error(t, settled(t, f).Err)
		require.Error(t, testwait.Value(t, canceled))
	})
	t.Run("EXEC-14_a_stuck_one_delays_Done_alone", func(t *testing.T) {
		p, err := executor.New(executor.Config{Size: 1, QueueLimit: 1})
		require.NoError(t, err)
		g := occupy(t, p, 1)
		require.NoError(t, p.Post(bg, func(context.Context) {}))
		stuck := newGate(t)
		f := executor.Map(bg, p, []int{1}, double)
		f.OnSettle(func(future.Outcome[[]int]) { <-stuck.C })
		require.Error(t, p.Shutdown(ended(errCause)))
		futuretest.RequireSettled(t, f)
		g.Open()
		select {
		case <-p.Done():
			t.Error("done while a callback runs")
		default:
		}
		stuck.Open()
		testwait.Done(t, p.Done())
	})
}

func TestLooseEnds(t *testing.T) {
	t.Run("EXEC-13_a_callback_on_a_stand_in_for_a_Serial_awaits_in_its_turn", func(t *testing.T) {
		for name, wrap := range map[string]func(p *executor.Pool) executor.Executor{
			"Serial":     func(p *executor.Pool) executor.Executor { return newSerial(t, p, 4) },
			"Limit":      func(p *executor.Pool) executor.Executor { return newLimit(t, p, 2, 4) },
			"CallerRuns": func(p *executor.Pool) executor.Executor { return executor.CallerRuns(p) },
		} {
			p := newPool(t, executor.Config{Size: 1, QueueLimit: 8})
			ex := wrap(p)
			outer := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
				return future.Then(ctx, executor.Submit(ctx, ex, value(1)), func(ctx context.Context, n int) (int, error) {
					m, err := executor.Submit(ctx, p, value(2)).Await(ctx)
					return n + m, err
				}).Await(ctx)
			})
			require.Equal(t, 3, futuretest.Await(t, outer), name)
			barrier(t, p)
			custody(t, p.Stats())
			// What another executor carries gives the slot back when its
			// carrier returns.
			testwait.Until(t, func() bool { return p.Stats().Lent == 0 })
		}
	})
	t.Run("EXEC-4_an_abandoned_task_does_not_show_a_deadline_that_cannot_come", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		caller, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		g := newGate(t)
		shown := make(chan bool, 2)
		f := executor.Submit(caller, p, func(ctx context.Context) (int, error) {
			_, ok := ctx.Deadline()
			shown <- ok
			<-g.C
			_, ok = ctx.Deadline()
			shown <- ok
			return 1, nil
		})
		require.True(t, testwait.Value(t, shown))
		f.Abandon(nil)
		g.Open()
		require.False(t, testwait.Value(t, shown))
	})
	t.Run("FUT-7_a_wait_under_a_kept_context_that_outlives_the_pool", func(t *testing.T) {
		p, err := executor.New(executor.Config{Size: 1})
		require.NoError(t, err)
		kept := make(chan context.Context, 1)
		futuretest.Await(t, executor.Submit(bg, p, func(ctx context.Context) (int, error) {
			ctx.Done() // builds its cancellation, which the pool does not reach any more
			kept <- ctx
			return 1, nil
		}))
		ctx := <-kept
		c := future.NewCompleter[int]()
		result := make(chan error, 1)
		go func() {
			_, err := future.Shield(c.Future()).Await(ctx)
			result <- err
		}()
		closeAll(t, p)
		testwait.Done(t, p.Done())
		c.Complete(7)
		err = testwait.Value(t, result)
		require.True(t, err == nil || ctx.Err() != nil, "interrupted under a live context: %v", err)
	})
	t.Run("EXEC-20_a_ctx_that_ends_while_it_is_submitted_to_a_Serial", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 64})
		serial := newSerial(t, p, 64)
		for range 300 {
			ctx, cancel := context.WithCancel(bg)
			go cancel()
			f := executor.Submit(ctx, serial, value(1))
			testwait.Done(t, f.Done())
		}
	})
}
