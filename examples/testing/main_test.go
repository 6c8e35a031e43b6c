package main

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/timer/timertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	t.Run("EX-1 the program tells its story", func(t *testing.T) {
		var out bytes.Buffer
		require.NoError(t, run(&out))
		require.Equal(t, "available after 2 failures\n", out.String())
	})
}

func newPool(t *testing.T, cfg executor.Config) *executor.Pool {
	cfg.Size = 1
	pool, err := executor.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	return pool
}

// With the mock clock a test moves time itself. Advance stops at every deadline
// on the way and waits until the pool's timer has done what was due.
func TestTimeoutWithTheMockClock(t *testing.T) {
	t.Run("EX-1 mock clock", func(t *testing.T) {
		mock := timertest.NewMock()
		pool := newPool(t, executor.Config{Clock: mock})
		started, stopped := make(chan struct{}), make(chan error, 1)
		slow := executor.Submit(t.Context(), pool, func(ctx context.Context) (string, error) {
			close(started)
			<-ctx.Done()
			stopped <- context.Cause(ctx)
			return "", ctx.Err()
		})
		result := withTimeout(t.Context(), pool, time.Minute, slow)
		<-started // canceled in the queue, it would never run

		timertest.Advance(t, mock, pool, time.Minute-time.Nanosecond)
		futuretest.RequirePending(t, result)
		timertest.Advance(t, mock, pool, time.Nanosecond)
		futuretest.RequireError(t, result, context.DeadlineExceeded)
		require.Error(t, <-stopped, "the loser of the race was asked to stop")
	})
}

// In a bubble the real clock is fake: it jumps ahead when every goroutine
// waits. The pool needs to know nothing of it.
func TestRetryInABubble(t *testing.T) {
	t.Run("EX-1 synctest", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			pool := newPool(t, executor.Config{})
			began := time.Now()
			result := retry(t.Context(), pool, 3, time.Minute, failing(2))
			require.Equal(t, "available after 2 failures", futuretest.Await(t, result))
			require.Equal(t, 3*time.Minute, time.Since(began))
		})
	})
}

func TestRetryGivesUp(t *testing.T) {
	t.Run("EX-1 the last error comes out as it is", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			pool := newPool(t, executor.Config{})
			result := retry(t.Context(), pool, 2, time.Hour, failing(2))
			futuretest.RequireError(t, result, errUnavailable)
		})
	})
}
