package timertest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
	"github.com/cadre-go/cadre/timer/timertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

func start(t *testing.T) (*timer.Timer, *timertest.Mock) {
	t.Helper()
	m := timertest.NewMock()
	tm, err := timer.New(timer.Config{Clock: m})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tm.Close()) })
	return tm, m
}

func at(d time.Duration) time.Time { return time.Unix(0, 0).Add(d) }

func TestMock(t *testing.T) {
	t.Run("TIMER-8 it moves when it is told to", func(t *testing.T) {
		m := timertest.NewMock()
		require.Equal(t, at(0), m.Now())
		ct := m.NewTimer(time.Second)
		m.Add(time.Second - 1)
		require.Empty(t, ct.C())
		m.Add(1)
		require.Equal(t, at(time.Second), testwait.Value(t, ct.C()))
		require.False(t, ct.Reset(time.Second))
		require.True(t, ct.Stop())
		m.Set(at(time.Hour))
		require.Empty(t, ct.C())
		require.Equal(t, at(time.Hour), m.Now())
	})
}

func TestAdvance(t *testing.T) {
	t.Run("TIMER-8 chained delays fire each at its own time", func(t *testing.T) {
		tm, m := start(t)
		var got []time.Time
		var chain func(future.Outcome[time.Time])
		chain = func(o future.Outcome[time.Time]) {
			if o.Err != nil {
				return // the timer is closed
			}
			got = append(got, o.Value)
			tm.Delay(bg, time.Second).OnSettle(chain)
		}
		tm.Delay(bg, time.Second).OnSettle(chain)
		timertest.Advance(t, m, tm, 3500*time.Millisecond)
		require.Equal(t, []time.Time{at(time.Second), at(2 * time.Second), at(3 * time.Second)}, got)
		require.Equal(t, at(3500*time.Millisecond), m.Now())
		timertest.Advance(t, m, tm, 500*time.Millisecond)
		require.Len(t, got, 4)
	})
	t.Run("TIMER-8 timers that went off or were stopped are no stops", func(t *testing.T) {
		tm, m := start(t)
		tm.Delay(bg, time.Second)
		tm.Delay(bg, 2*time.Second).Cancel(nil)
		m.NewTimer(3 * time.Second)
		m.NewTimer(4 * time.Second).Stop()
		s := &syncs{Timer: tm, m: m}
		timertest.Advance(t, m, s, 5*time.Second)
		require.Equal(t, []time.Time{at(0), at(time.Second), at(3 * time.Second), at(5 * time.Second)}, s.at)
	})
	t.Run("TIMER-8 by nothing, and back", func(t *testing.T) {
		tm, m := start(t)
		timertest.Advance(t, m, tm, 0)
		f := tm.Delay(bg, time.Second)
		timertest.Advance(t, m, tm, -time.Hour)
		require.Equal(t, at(-time.Hour), m.Now())
		timertest.Advance(t, m, tm, time.Hour+time.Second)
		_, err := f.Await(bg)
		require.NoError(t, err)
	})
	t.Run("TIMER-8 it fails the test with the stacks when it is stuck", func(t *testing.T) {
		m := timertest.NewMock()
		stuck := errors.New("stuck")
		f := failing(t, func(f *fake) { timertest.Advance(f, m, syncFunc(func(context.Context) error { return stuck }), 1) })
		require.Contains(t, f.failure, "stuck")
		require.Contains(t, f.failure, "goroutine ")
	})
	t.Run("TIMER-8 it is bounded without a deadline of the test", func(t *testing.T) {
		m := timertest.NewMock()
		var left time.Duration
		syncer := syncFunc(func(ctx context.Context) error {
			end, ok := ctx.Deadline()
			require.True(t, ok)
			left = time.Until(end)
			return context.DeadlineExceeded
		})
		failing(t, func(f *fake) { timertest.Advance(f, m, syncer, 1) })
		require.Greater(t, left, time.Second)
		require.LessOrEqual(t, left, 10*time.Second)
	})
	t.Run("TIMER-8 too many steps are too much", func(t *testing.T) {
		m := timertest.NewMock()
		f := failing(t, func(f *fake) {
			end := time.Now().Add(20 * time.Millisecond)
			timertest.Advance(&dated{f, end}, m, syncFunc(func(context.Context) error {
				m.NewTimer(time.Nanosecond)
				return nil
			}), 1000*time.Hour)
		})
		require.Contains(t, f.failure, context.DeadlineExceeded.Error())
	})
	t.Run("TIMER-8 in a bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tm, m := start(t)
			f := tm.Delay(bg, time.Hour)
			timertest.Advance(t, m, tm, time.Hour)
			_, err := f.Await(bg)
			require.NoError(t, err)
		})
	})
	t.Run("nil arguments", func(t *testing.T) {
		tm, m := start(t)
		require.Panics(t, func() { timertest.Advance(t, nil, tm, 1) })
		require.Panics(t, func() { timertest.Advance(t, m, nil, 1) })
	})
}

// syncs notes when Sync is called.
type syncs struct {
	*timer.Timer
	m  *timertest.Mock
	at []time.Time
}

func (s *syncs) Sync(ctx context.Context) error {
	s.at = append(s.at, s.m.Now())
	return s.Timer.Sync(ctx)
}

type syncFunc func(context.Context) error

func (f syncFunc) Sync(ctx context.Context) error { return f(ctx) }

// fake is a test without a deadline, that fails.
type fake struct {
	testing.TB
	failure string
}

func (f *fake) Helper() {}

func (f *fake) Fatalf(format string, args ...any) {
	f.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// dated is a fake with a deadline.
type dated struct {
	*fake
	end time.Time
}

func (d *dated) Deadline() (time.Time, bool) { return d.end, true }

func failing(t *testing.T, fn func(*fake)) *fake {
	t.Helper()
	f := &fake{TB: struct{ testing.TB }{}}
	testwait.Call(t, func() { fn(f) })
	require.NotEmpty(t, f.failure)
	return f
}
