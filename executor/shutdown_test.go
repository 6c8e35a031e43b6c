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
	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer/timertest"
)

func TestShutdown(t *testing.T) {
	t.Run("EXEC-14_drains", func(t *testing.T) {
		before := runtime.NumGoroutine()
		p := newPool(t, executor.Config{Size: 2, QueueLimit: 100})
		g := occupy(t, p, 2)
		var ran atomic.Int32
		for range 100 {
			require.NoError(t, p.Post(bg, func(context.Context) { ran.Add(1) }))
		}
		delay := p.Delay(bg, time.Hour)
		after := executor.SubmitAfter(bg, p, time.Hour, value(1))
		closed := make(chan error, 1)
		go func() { closed <- p.Shutdown(bg) }()
		futuretest.RequireError(t, delay, executor.ErrClosed)
		futuretest.RequireError(t, after, executor.ErrClosed)
		require.ErrorIs(t, p.Post(bg, func(context.Context) {}), executor.ErrClosed)
		require.Zero(t, ran.Load())
		g.Open()
		require.NoError(t, testwait.Value(t, closed))
		require.EqualValues(t, 100, ran.Load())
		testwait.Done(t, p.Done())
		require.Zero(t, p.Stats().Workers)
		testwait.Until(t, func() bool { return runtime.NumGoroutine() <= before })
	})
	t.Run("EXEC-14_an_ended_ctx_and_an_ended_pool", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		closeAll(t, p)
		for range 100 {
			require.NoError(t, p.Shutdown(ended(errCause)), "the pool wins")
		}
	})
	t.Run("EXEC-14_a_nil_ctx", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		var bad *executor.ConfigError
		require.ErrorAs(t, p.Shutdown(nil), &bad)
		require.Equal(t, "ctx", bad.Field)
		require.NoError(t, p.Post(bg, func(context.Context) {}), "and nothing happened")
	})
	t.Run("B14_a_task_that_ignores_everything", func(t *testing.T) {
		p := newPool(t, executor.Config{Name: "b14", Size: 1, QueueLimit: 1})
		g := newGate(t)
		a, aCtx := started(t, with("task", "A"), p, g)
		b := executor.Submit(with("task", "B"), p, value(2))
		var settles atomic.Int32
		b.OnSettle(func(future.Outcome[int]) { settles.Add(1) })
		ctx, cancel := context.WithTimeoutCause(bg, 50*time.Millisecond, errCause)
		defer cancel()
		err := p.Shutdown(ctx)
		var incomplete *executor.ShutdownError
		require.ErrorAs(t, err, &incomplete)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, errCause)
		require.NotErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, `"b14"`)
		require.Equal(t, "b14", incomplete.Pool)
		require.Equal(t, errCause, incomplete.Cause)
		require.Len(t, incomplete.Running, 1)
		require.Equal(t, 0, incomplete.Running[0].Worker)
		require.Equal(t, "A", snapshotAttr(incomplete.Running[0]))
		require.Len(t, incomplete.Discarded, 1)
		require.Equal(t, -1, incomplete.Discarded[0].Worker)
		require.Zero(t, incomplete.Discarded[0].For)
		require.Equal(t, "B", snapshotAttr(incomplete.Discarded[0]))

		o := futuretest.RequireSettled(t, b)
		require.ErrorIs(t, o.Err, executor.ErrClosed)
		require.ErrorContains(t, o.Err, "b14")
		require.False(t, o.Canceled())
		require.ErrorIs(t, p.Post(bg, func(context.Context) {}), executor.ErrClosed)
		testwait.Done(t, aCtx.Done())
		require.Equal(t, executor.ErrClosed, context.Cause(aCtx))
		select {
		case <-p.Done():
			t.Fatal("the worker is still there")
		default:
		}
		err = p.Shutdown(ended(errBoom))
		require.ErrorAs(t, err, &incomplete)
		require.Len(t, incomplete.Running, 1)
		require.Empty(t, incomplete.Discarded, "reported once")
		g.Open()
		require.Equal(t, 1, futuretest.Await(t, a))
		require.NoError(t, p.Shutdown(bg), "nil once all have ended")
		testwait.Done(t, p.Done())
		require.EqualValues(t, 1, settles.Load())
		require.EqualValues(t, 1, p.Stats().Discarded)
	})
	t.Run("EXEC-14_a_ctx_without_a_cause_of_its_own", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		g := occupy(t, p, 1)
		ctx, cancel := context.WithCancel(bg)
		cancel()
		err := p.Shutdown(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		g.Open()
	})
	t.Run("EXEC-14_all_futures_are_settled_when_it_returns", func(t *testing.T) {
		const n = 500
		p := newPool(t, executor.Config{Size: 1, QueueLimit: n, Logger: newLogs().Logger()})
		g := newGate(t)
		f, ctx := started(t, bg, p, g)
		queued := make([]*future.Future[int], n)
		for i := range queued {
			ex := executor.Executor(p)
			if i%2 == 1 {
				ex = executor.CallerRuns(p) // a wrapper in between
			}
			queued[i] = executor.Submit(bg, ex, func(context.Context) (int, error) { t.Error("ran"); return 0, nil })
		}
		stuck := newGate(t)
		queued[0].OnSettle(func(future.Outcome[int]) { <-stuck.C })
		err := p.Shutdown(ended(errCause))
		var incomplete *executor.ShutdownError
		require.ErrorAs(t, err, &incomplete)
		require.Len(t, incomplete.Discarded, n)
		require.Len(t, incomplete.Running, 1)
		for _, f := range queued {
			require.ErrorIs(t, futuretest.RequireSettled(t, f).Err, executor.ErrClosed)
		}
		futuretest.RequirePending(t, f)
		testwait.Done(t, ctx.Done())
		g.Open()
		require.Equal(t, 1, futuretest.Await(t, f))
		require.Error(t, p.Shutdown(ended(errCause)), "a callback is stuck")
		stuck.Open()
		testwait.Done(t, p.Done())
	})
	t.Run("EXEC-14_no_task_is_in_limbo", noLimbo)
	t.Run("EXEC-14_a_task_that_is_about_to_start_is_listed", func(t *testing.T) {
		g, in := newGate(t), make(chan struct{}, 1)
		var workers atomic.Bool
		caller := make(chan uint64, 1)
		clock := &sickClock{}
		clock.end = func() { // a worker asks the clock as it starts a task
			if id := <-caller; id == goid.ID() {
				caller <- id
			} else {
				caller <- id
				in <- struct{}{}
				<-g.C
			}
		}
		p := newPool(t, executor.Config{Size: 1, Clock: clock})
		caller <- goid.ID()
		clock.sick.Store(true)
		f := executor.Submit(with("task", "A"), p, func(context.Context) (int, error) { workers.Store(true); return 1, nil })
		testwait.Done(t, in)
		go func() {
			for !isClosed(p.Post(bg, func(context.Context) {})) {
				runtime.Gosched()
			}
			for range 100 { // time for Shutdown to return without it, if it would
				runtime.Gosched()
			}
			clock.sick.Store(false)
			g.Open()
		}()
		// By the time it looks the task may have been let go, and even the
		// pool may have ended; in limbo it must not be.
		var incomplete *executor.ShutdownError
		if err := p.Shutdown(ended(errCause)); errors.As(err, &incomplete) && len(incomplete.Running) > 0 {
			require.Equal(t, "A", snapshotAttr(incomplete.Running[0]))
		} else {
			futuretest.RequireSettled(t, f)
		}
		require.Equal(t, 1, futuretest.Await(t, f))
		require.True(t, workers.Load())
	})
	t.Run("EXEC-14_a_callback_that_is_stuck_is_no_task", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		begin, entered, stuck := newGate(t), make(chan struct{}), newGate(t)
		f := executor.Submit(bg, p, func(context.Context) (int, error) { <-begin.C; return 1, nil })
		f.OnSettle(func(future.Outcome[int]) { close(entered); <-stuck.C })
		begin.Open()
		testwait.Done(t, entered)
		testwait.Call(t, func() {
			var incomplete *executor.ShutdownError
			require.ErrorAs(t, p.Shutdown(ended(errCause)), &incomplete)
			require.Empty(t, incomplete.Running)
		})
	})
	t.Run("EXEC-14_the_record_tells_how_long_it_took", func(t *testing.T) {
		l, mock := newLogs(), timertest.NewMock()
		p := newPool(t, executor.Config{Size: 1, Clock: mock, Logger: l.Logger()})
		timertest.Advance(t, mock, p, time.Hour)
		closeAll(t, p)
		require.Zero(t, l.Of(slog.LevelInfo)[0].Attrs["duration"].Duration())
	})
	t.Run("EXEC-14_OnDiscard", onDiscard)
	t.Run("EXEC-14_a_stuck_timer_callback", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		g, in := newGate(t), make(chan struct{})
		onTimer(p, func() { close(in); <-g.C })
		testwait.Done(t, in)
		late := p.Delay(bg, time.Hour)
		after := executor.SubmitAfter(bg, p, time.Hour, value(1))
		require.ErrorIs(t, p.Shutdown(ended(errCause)), errCause)
		require.ErrorIs(t, futuretest.RequireSettled(t, late).Err, executor.ErrClosed)
		futuretest.RequireError(t, after, executor.ErrClosed)
		g.Open()
		testwait.Done(t, p.Done())
	})
}

func snapshotAttr(info executor.TaskInfo) string {
	v, _ := info.Diagnostics.Get("task")
	return v.String()
}

// noLimbo ends pools in mid-work: what was accepted has its outcome, or is
// listed as running.
func noLimbo(t *testing.T) {
	for range 300 {
		p, err := executor.New(executor.Config{Size: 2, QueueLimit: 6, Logger: newLogs().Logger()})
		require.NoError(t, err)
		g := newGate(t)
		var fs []*future.Future[int]
		for i := range 8 {
			fs = append(fs, executor.Submit(with("task", i), p, func(context.Context) (int, error) {
				if i > 2 {
					<-g.C
				}
				return i, nil
			}))
		}
		err = p.Shutdown(ended(errCause))
		var incomplete *executor.ShutdownError
		require.ErrorAs(t, err, &incomplete)
		var running []string
		for _, info := range incomplete.Running {
			running = append(running, snapshotAttr(info))
		}
		custody(t, p.Stats())
		for i, f := range fs {
			if _, ok := f.Outcome(); !ok {
				require.Contains(t, running, string(rune('0'+i)))
			}
		}
		g.Open()
		testwait.Done(t, p.Done())
		s := p.Stats()
		require.EqualValues(t, 8, s.Finished+s.Discarded)
		require.EqualValues(t, len(incomplete.Discarded), s.Discarded)
	}
}

func onDiscard(t *testing.T) {
	for name, end := range map[string]func(){
		"returns": func() {}, "panics": func() { panic("OnDiscard") }, "Goexits": runtime.Goexit,
	} {
		l := newLogs()
		var mu sync.Mutex
		var told, called []string
		stuck := newGate(t)
		p := newPool(t, executor.Config{Size: 1, Logger: l.Logger(), OnDiscard: func(ctx context.Context, reason error) {
			if !isClosed(reason) || context.Cause(ctx) != executor.ErrClosed {
				t.Errorf("%v, %v", reason, context.Cause(ctx))
			}
			<-stuck.C
			mu.Lock()
			told = append(told, attr(ctx, "task"))
			mu.Unlock()
			end()
		}})
		g := occupy(t, p, 1)
		submitted := executor.Submit(with("task", "1"), p, value(1))
		require.NoError(t, p.Post(with("task", "2"), func(context.Context) {}))
		again := executor.Submit(with("task", "3"), p, value(3))
		for i, f := range []*future.Future[int]{submitted, again} {
			f.OnSettle(func(future.Outcome[int]) {
				mu.Lock()
				called = append(called, string(rune('1'+2*i)))
				mu.Unlock()
				end()
			})
		}
		require.Error(t, p.Shutdown(ended(errCause)), "a hook that is stuck does not hold up Shutdown")
		futuretest.RequireError(t, submitted, executor.ErrClosed)
		futuretest.RequireError(t, again, executor.ErrClosed)
		g.Open()
		require.Error(t, p.Shutdown(ended(errCause)), "only Done")
		stuck.Open()
		testwait.Done(t, p.Done())
		require.Equal(t, []string{"1", "2", "3"}, told, name)
		require.Equal(t, []string{"1", "3"}, called, name)
		failures := l.Of(slog.LevelError)
		require.Len(t, l.Of(slog.LevelWarn), 3, name)
		if name == "returns" {
			require.Empty(t, failures)
		} else {
			require.Len(t, failures, 5, name)
		}
		for _, r := range failures {
			require.Contains(t, r.Message, map[string]string{"panics": "panicked", "Goexits": "called runtime.Goexit"}[name])
		}
	}
}

func TestClose(t *testing.T) {
	t.Run("EXEC-15_is_bounded_by_ShutdownTimeout", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 1})
			g := occupy(t, p, 1)
			start := time.Now()
			err := p.Close()
			require.Equal(t, 30*time.Second, time.Since(start))
			var incomplete *executor.ShutdownError
			require.ErrorAs(t, err, &incomplete)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Len(t, incomplete.Running, 1)
			require.Error(t, p.Close(), "waits again, within its own bound")
			require.Equal(t, time.Minute, time.Since(start))
			go func() { time.Sleep(time.Second); g.Open() }()
			require.NoError(t, p.Close())
			require.Equal(t, 61*time.Second, time.Since(start))
		})
	})
	t.Run("EXEC-15_by_the_pools_clock", func(t *testing.T) {
		mock := timertest.NewMock()
		p := newPool(t, executor.Config{Size: 1, Clock: mock, ShutdownTimeout: time.Minute, Logger: newLogs().Logger()})
		g := occupy(t, p, 1)
		p.Delay(bg, time.Hour)
		closed := make(chan error, 1)
		go func() { closed <- p.Close() }()
		for {
			mock.Add(time.Minute) // Close may not have made its timer yet
			select {
			case err := <-closed:
				require.ErrorIs(t, err, context.DeadlineExceeded)
			default:
				runtime.Gosched()
				continue
			}
			break
		}
		g.Open()
		testwait.Done(t, p.Done())
		require.NoError(t, p.Close())
	})
	t.Run("EXEC-15_any_number_at_once_and_one_record", func(t *testing.T) {
		for _, drains := range []bool{true, false} {
			l := newLogs()
			p := newPool(t, executor.Config{Name: "many", Size: 3, Logger: l.Logger()})
			g := occupy(t, p, 3)
			errs := make(chan error, 20)
			for i := range 20 {
				go func() {
					if i%2 == 0 && !drains {
						errs <- p.Shutdown(ended(errCause))
					} else {
						errs <- p.Close()
					}
				}()
			}
			if drains {
				g.Open()
			} else {
				for range 10 {
					require.ErrorIs(t, testwait.Value(t, errs), errCause)
				}
				g.Open()
			}
			for range 20 - 10*b2i(!drains) {
				require.NoError(t, testwait.Value(t, errs))
			}
			closeAll(t, p)
			records := l.Records()
			require.Len(t, records, 1)
			require.Equal(t, slog.LevelInfo, records[0].Level)
			require.Equal(t, "many", records[0].Attrs["pool"].String())
			require.EqualValues(t, 3, records[0].Attrs["size"].Int64())
			require.Equal(t, drains, records[0].Attrs["drained"].Bool())
			require.GreaterOrEqual(t, records[0].Attrs["duration"].Duration(), time.Duration(0))
		}
	})
	t.Run("EXEC-15_the_record_has_no_default_logger", func(t *testing.T) {
		l := defaultLogs(t)
		closeAll(t, newPool(t, executor.Config{Size: 1}))
		require.Empty(t, l.Records())
	})
	t.Run("EXEC-15_escalates_once", func(t *testing.T) {
		var told atomic.Int32
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 50, Logger: newLogs().Logger(),
			OnDiscard: func(context.Context, error) { told.Add(1) }})
		g := occupy(t, p, 1)
		for range 50 {
			require.NoError(t, p.Post(bg, func(context.Context) {}))
		}
		errs := make(chan error, 8)
		for range cap(errs) {
			go func() { errs <- p.Shutdown(ended(errCause)) }()
		}
		var discarded []int
		for range cap(errs) {
			var incomplete *executor.ShutdownError
			require.ErrorAs(t, testwait.Value(t, errs), &incomplete)
			discarded = append(discarded, len(incomplete.Discarded))
			require.Len(t, incomplete.Running, 1)
		}
		slices.Sort(discarded)
		require.Equal(t, []int{0, 0, 0, 0, 0, 0, 0, 50}, discarded)
		g.Open()
		testwait.Done(t, p.Done())
		require.EqualValues(t, 50, told.Load())
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
