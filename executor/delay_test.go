//lint:file-ignore SA1012 nil contexts are part of what is tested

package executor_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
	"github.com/cadre-go/cadre/timer/timertest"
)

func TestDelay(t *testing.T) {
	t.Run("EXEC-9_Delay", func(t *testing.T) {
		mock := timertest.NewMock()
		p := newPool(t, executor.Config{Size: 1, Clock: mock})
		start := mock.Now()
		f := p.Delay(bg, time.Minute)
		timertest.Advance(t, mock, p, time.Minute-1)
		futuretest.RequirePending(t, f)
		timertest.Advance(t, mock, p, 1)
		require.Equal(t, start.Add(time.Minute), futuretest.RequireSettled(t, f).Value)
		require.ErrorIs(t, futuretest.RequireSettled(t, p.Delay(bg, -1)).Err, timer.ErrNegativeDelay)
		require.NoError(t, futuretest.RequireSettled(t, p.Delay(bg, 0)).Err)
		var bad *executor.ConfigError
		require.ErrorAs(t, futuretest.RequireSettled(t, p.Delay(nil, 1)).Err, &bad)
		canceled := p.Delay(bg, time.Hour)
		require.True(t, canceled.Cancel(errCause))
		timertest.Advance(t, mock, p, 2*time.Hour)
		require.True(t, futuretest.RequireSettled(t, canceled).Canceled())
		require.Zero(t, p.Stats().Attempted, "a delay takes no worker")
	})
	t.Run("EXEC-9_SubmitAfter", func(t *testing.T) {
		mock := timertest.NewMock()
		p := newPool(t, executor.Config{Size: 1, QueueLimit: executor.NoQueue, Clock: mock})
		f := executor.SubmitAfter(bg, p, time.Minute, func(context.Context) (time.Time, error) { return mock.Now(), nil })
		require.Zero(t, p.Stats().Attempted)
		timertest.Advance(t, mock, p, time.Minute)
		require.True(t, time.Unix(60, 0).Equal(futuretest.Await(t, f)))
		require.Equal(t, 5, futuretest.Await(t, executor.SubmitAfter(bg, p, 0, value(5))), "at once")

		g := occupy(t, p, 1)
		full := executor.SubmitAfter(bg, p, time.Minute, value(1))
		timertest.Advance(t, mock, p, time.Minute)
		require.ErrorIs(t, futuretest.RequireSettled(t, full).Err, executor.ErrQueueFull)
		g.Open()
	})
	t.Run("EXEC-9_SubmitAfter_of_bad_arguments", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		for field, f := range map[string]*future.Future[int]{
			"ctx": executor.SubmitAfter(nil, p, 1, value(1)),
			"fn":  executor.SubmitAfter[int](bg, p, 1, nil),
		} {
			var bad *executor.ConfigError
			require.ErrorAs(t, futuretest.RequireSettled(t, f).Err, &bad)
			require.Equal(t, field, bad.Field)
		}
		require.ErrorIs(t, futuretest.RequireSettled(t, executor.SubmitAfter(bg, p, -1, value(1))).Err, timer.ErrNegativeDelay)
		require.ErrorIs(t, futuretest.RequireSettled(t, executor.SubmitAfter(ended(errCause), p, 1, value(1))).Err, errCause)
		require.ErrorIs(t, futuretest.RequireSettled(t, executor.SubmitAfter(bg, nil, 1, value(1))).Err, executor.ErrClosed)
	})
	t.Run("EXEC-11_SubmitAfter_canceled_before_its_time", func(t *testing.T) {
		mock := timertest.NewMock()
		p := newPool(t, executor.Config{Size: 1, Clock: mock})
		ctx, cancel := context.WithCancelCause(bg)
		never := func(context.Context) (int, error) { t.Error("ran"); return 0, nil }
		one := executor.SubmitAfter(bg, p, time.Minute, never)
		two := executor.SubmitAfter(ctx, p, time.Minute, never)
		var disposed atomic.Int32
		abandoned := executor.SubmitAfter(bg, p, time.Minute, value(3), future.WithDispose(func(int) { disposed.Add(1) }))
		one.Cancel(errCause)
		cancel(errCause)
		for _, f := range []*future.Future[int]{one, two} {
			futuretest.RequireError(t, f, errCause)
			require.True(t, futuretest.RequireSettled(t, f).Canceled())
		}
		abandoned.Abandon(nil)
		timertest.Advance(t, mock, p, time.Hour)
		barrier(t, p)
		require.EqualValues(t, 1, disposed.Load(), "an abandoned one takes place")
		require.EqualValues(t, 2, p.Stats().Attempted)
	})
	t.Run("EXEC-11_SubmitAfter_canceled_after_its_time", func(t *testing.T) {
		mock := timertest.NewMock()
		p := newPool(t, executor.Config{Size: 1, Clock: mock})
		g := occupy(t, p, 1)
		ctx, cancel := context.WithCancelCause(bg)
		f := executor.SubmitAfter(ctx, p, time.Minute, func(context.Context) (int, error) { t.Error("ran"); return 0, nil })
		timertest.Advance(t, mock, p, time.Minute)
		require.Equal(t, 1, p.Stats().Queued)
		cancel(errCause)
		futuretest.RequireError(t, f, errCause)
		g.Open()
		barrier(t, p)
		require.EqualValues(t, 1, p.Stats().Skipped)
	})
}

func TestEvery(t *testing.T) {
	t.Run("EXEC-9_runs_on_a_worker", func(t *testing.T) {
		mock := timertest.NewMock()
		p := newPool(t, executor.Config{Size: 1, Clock: mock})
		here := futuretest.Await(t, executor.Submit(bg, p, func(context.Context) (uint64, error) { return goid.ID(), nil }))
		ran := make(chan uint64, 1)
		ctx, cancel := context.WithCancel(with("job", "tick"))
		ticker, err := p.Every(ctx, time.Second, func(ctx context.Context) error {
			if attr(ctx, "job") != "tick" {
				t.Error("without its diagnostics")
			}
			ran <- goid.ID()
			return nil
		})
		require.NoError(t, err)
		for i := range 3 {
			timertest.Advance(t, mock, p, time.Second)
			require.Equal(t, here, testwait.Value(t, ran))
			barrier(t, p)
			require.EqualValues(t, i+1, ticker.Runs())
		}
		cancel()
		testwait.Done(t, ticker.Done())
		timertest.Advance(t, mock, p, time.Minute)
		require.EqualValues(t, 3, ticker.Runs())
	})
	t.Run("EXEC-9_bad_runs_are_reported_and_the_next_one_happens", func(t *testing.T) {
		l := newLogs()
		mock := timertest.NewMock()
		p := newPool(t, executor.Config{Name: "tick", Size: 1, Clock: mock, Logger: l.Logger()})
		runs := 0
		ticker, err := p.Every(with("job", "tick"), time.Second, func(context.Context) error {
			switch runs++; runs {
			case 2:
				panic("boom")
			case 3:
				return errBoom
			case 4:
				runtime.Goexit()
			}
			return nil
		})
		require.NoError(t, err)
		for range 5 {
			timertest.Advance(t, mock, p, time.Second)
			barrier(t, p)
		}
		require.Equal(t, 5, runs)
		require.EqualValues(t, 5, ticker.Runs())
		require.Zero(t, ticker.Missed())
		require.Len(t, l.Records(), 3)
		for _, r := range l.Records() {
			require.Equal(t, slog.LevelError, r.Level)
			require.Equal(t, "tick", r.Attrs["pool"].String())
			require.Equal(t, "job=tick", r.Context)
		}
		require.Equal(t, errBoom, l.Records()[1].Attrs["error"].Any())
	})
	t.Run("EXEC-9_no_overlap_and_what_the_pool_refuses_is_missed", func(t *testing.T) {
		mock := timertest.NewMock()
		p := newPool(t, executor.Config{Size: 1, QueueLimit: executor.NoQueue, Clock: mock})
		in, g := make(chan struct{}, 1), newGate(t)
		ticker, err := p.Every(bg, time.Second, func(context.Context) error { in <- struct{}{}; <-g.C; return nil })
		require.NoError(t, err)
		timertest.Advance(t, mock, p, time.Second)
		testwait.Done(t, in)
		timertest.Advance(t, mock, p, 10*time.Second)
		require.EqualValues(t, 1, ticker.Runs())
		require.EqualValues(t, 10, ticker.Missed())
		g.Open()
		testwait.Until(t, func() bool { return p.Stats().Running == 0 })

		busy := occupy(t, p, 1)
		timertest.Advance(t, mock, p, 2*time.Second)
		require.EqualValues(t, 1, ticker.Runs())
		require.EqualValues(t, 12, ticker.Missed())
		require.EqualValues(t, 2, p.Stats().Rejected)
		busy.Open()
	})
	t.Run("EXEC-9_a_shutdown_ends_it", func(t *testing.T) {
		mock := timertest.NewMock()
		p := newPool(t, executor.Config{Size: 1, Clock: mock, Logger: newLogs().Logger()})
		g := occupy(t, p, 1)
		ticker, err := p.Every(bg, time.Second, func(context.Context) error { t.Error("ran"); return nil })
		require.NoError(t, err)
		timertest.Advance(t, mock, p, time.Second)
		require.Equal(t, 1, p.Stats().Queued)
		require.Error(t, p.Shutdown(ended(errCause)))
		g.Open()
		testwait.Done(t, ticker.Done())
		require.EqualValues(t, 1, p.Stats().Discarded)
	})
	t.Run("EXEC-9_a_clock_that_fails_with_a_tick_queued", func(t *testing.T) {
		l := newLogs()
		clock := &sickClock{end: func() { panic("the clock") }}
		p := newPool(t, executor.Config{Size: 1, Clock: clock, Logger: l.Logger()})
		g := occupy(t, p, 1)
		ran := make(chan struct{}, 1)
		ticker, err := p.Every(bg, time.Millisecond, func(context.Context) error {
			select {
			case ran <- struct{}{}:
			default:
			}
			return nil
		})
		require.NoError(t, err)
		testwait.Until(t, func() bool { return p.Stats().Queued == 1 })
		clock.sick.Store(true)
		g.Open()
		testwait.Until(t, func() bool { return p.Stats().Panicked == 1 })
		clock.sick.Store(false)
		require.NoError(t, futuretest.RequireSettled(t, p.Delay(bg, 0)).Err)
		futuretest.Await(t, p.Delay(bg, time.Millisecond))
		testwait.Done(t, ran)
		ticker.Stop()
		testwait.Done(t, ticker.Done())
	})
	t.Run("EXEC-9_bad_arguments", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		task := func(context.Context) error { return nil }
		_, err := p.Every(nil, time.Second, task)
		require.ErrorIs(t, err, executor.ErrConfig)
		_, err = p.Every(bg, time.Second, nil)
		require.ErrorIs(t, err, executor.ErrConfig)
		for _, interval := range []time.Duration{0, -1} {
			var bad *executor.ConfigError
			_, err = p.Every(bg, interval, task)
			require.ErrorAs(t, err, &bad)
			require.Equal(t, "interval", bad.Field)
		}
		_, err = p.Every(ended(errCause), time.Second, task)
		require.ErrorIs(t, err, errCause)
		closeAll(t, p)
		_, err = p.Every(bg, time.Second, task)
		require.ErrorIs(t, err, executor.ErrClosed)
		require.ErrorIs(t, p.Sync(bg), executor.ErrClosed)
	})
}

func TestConfig(t *testing.T) {
	t.Run("EXEC-1_defaults", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 3})
		s := p.Stats()
		require.Equal(t, "executor", s.Name)
		require.Equal(t, 24, s.QueueLimit)
	})
	t.Run("EXEC-1_every_bad_field_is_reported_and_nothing_is_started", func(t *testing.T) {
		before := runtime.NumGoroutine()
		for name, tc := range map[string]struct {
			cfg    executor.Config
			fields []string
		}{
			"zero":      {executor.Config{}, []string{"Size"}},
			"all":       {executor.Config{Size: -1, QueueLimit: -2, ShutdownTimeout: -1}, []string{"Size", "QueueLimit", "ShutdownTimeout"}},
			"huge size": {executor.Config{Size: 1 << 40}, []string{"Size"}},
			"huge both": {executor.Config{Size: 1 << 40, QueueLimit: 1 << 40}, []string{"Size"}},
			"huge":      {executor.Config{Size: 1, QueueLimit: 1 << 40}, []string{"QueueLimit"}},
			"together":  {executor.Config{Size: 1 << 21, QueueLimit: 1}, []string{"QueueLimit"}},
			"default":   {executor.Config{Size: 1 << 20}, []string{"QueueLimit"}},
		} {
			p, err := executor.New(tc.cfg)
			require.Nil(t, p, name)
			require.ErrorIs(t, err, executor.ErrConfig, name)
			var fields []string
			for _, err := range err.(interface{ Unwrap() []error }).Unwrap() { //nolint:errorlint // it is joined
				var bad *executor.ConfigError
				require.True(t, errors.As(err, &bad), name)
				require.Error(t, bad.Reason, name)
				fields = append(fields, bad.Field)
			}
			require.Equal(t, tc.fields, fields, name)
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), before)
	})
	t.Run("EXEC-2_the_zero_Pool_is_closed", func(t *testing.T) {
		for _, p := range []*executor.Pool{{}, nil} {
			var rejected *executor.RejectedError
			require.ErrorAs(t, p.Post(bg, func(context.Context) {}), &rejected)
			require.Equal(t, executor.ErrClosed, rejected.Reason)
			require.ErrorIs(t, p.PostWait(bg, func(context.Context) {}), executor.ErrClosed)
			require.ErrorIs(t, p.Close(), executor.ErrClosed)
			require.ErrorIs(t, p.Shutdown(bg), executor.ErrClosed)
			require.ErrorIs(t, p.Shutdown(nil), executor.ErrConfig)
			require.ErrorIs(t, p.Sync(bg), executor.ErrClosed)
			testwait.Done(t, p.Done())
			require.Empty(t, p.Running())
			custody(t, p.Stats())
			_, err := p.Every(bg, time.Second, func(context.Context) error { return nil })
			require.ErrorIs(t, err, executor.ErrClosed)
			futuretest.RequireError(t, p.Delay(bg, time.Second), executor.ErrClosed)
			futuretest.RequireError(t, executor.Submit(bg, p, value(1)), executor.ErrClosed)
			futuretest.RequireError(t, executor.SubmitAfter(bg, p, 1, value(1)), executor.ErrClosed)
			futuretest.RequireError(t, executor.Map(bg, p, []int{1}, func(context.Context, int) (int, error) { return 1, nil }), executor.ErrClosed)
		}
	})
}
