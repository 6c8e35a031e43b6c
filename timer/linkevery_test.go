package timer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

// elsewhere is a ticker whose runs end when the test says so.
type elsewhere struct {
	*timer.Ticker
	runs   chan func() // the done function of each
	refuse bool
}

func startElsewhere(t *testing.T, tm *timer.Timer, ctx context.Context) *elsewhere {
	t.Helper()
	e := &elsewhere{runs: make(chan func(), 100)}
	k, err := link.Every(tm, ctx, time.Second, func(done func()) bool {
		if e.refuse {
			return false
		}
		e.runs <- done
		return true
	})
	require.NoError(t, err)
	e.Ticker = k.(*timer.Ticker)
	return e
}

func TestLinkEvery(t *testing.T) {
	t.Run("TIMER-9 a run ends when done is called, once, from anywhere", func(t *testing.T) {
		tm, c := mocked(t)
		e := startElsewhere(t, tm, bg)
		c.add(time.Second)
		synced(t, tm)
		done := testwait.Value(t, e.runs)
		for range 5 {
			c.add(time.Second)
			synced(t, tm)
		}
		require.Empty(t, e.runs, "one run at a time")
		requireTicks(t, e.Ticker, 1, 5)
		require.Equal(t, 1, tm.Len())
		testwait.Call(t, done)
		require.NoError(t, timer.Check(tm))
		c.add(time.Second)
		synced(t, tm)
		testwait.Value(t, e.runs)
		done()
		done()
		c.add(time.Second)
		synced(t, tm)
		require.Empty(t, e.runs, "an old done ends nothing")
		requireTicks(t, e.Ticker, 2, 6)
	})
	t.Run("TIMER-9 the next tick comes without another push", func(t *testing.T) {
		tm, c := mocked(t)
		e := startElsewhere(t, tm, bg)
		c.add(time.Second)
		done := testwait.Value(t, e.runs)
		synced(t, tm)
		_, before, _ := c.counts()
		done()
		testwait.Until(t, func() bool { _, arms, _ := c.counts(); return arms > before })
		c.add(time.Second)
		testwait.Value(t, e.runs)
	})
	t.Run("TIMER-9 a tick that is refused is missed", func(t *testing.T) {
		tm, c := mocked(t)
		e := startElsewhere(t, tm, bg)
		e.refuse = true
		for range 3 {
			c.add(time.Second)
			synced(t, tm)
		}
		requireTicks(t, e.Ticker, 0, 3)
		e.refuse = false
		c.add(time.Second)
		synced(t, tm)
		requireTicks(t, e.Ticker, 1, 3)
		require.Equal(t, 1, tm.Len())
	})
	t.Run("TIMER-9 stopped, ended and closed during a run", func(t *testing.T) {
		for name, stop := range map[string]func(*timer.Timer, *timer.Ticker, func()){
			"Stop":     func(_ *timer.Timer, k *timer.Ticker, _ func()) { k.Stop() },
			"context":  func(_ *timer.Timer, _ *timer.Ticker, cancel func()) { cancel() },
			"Shutdown": func(tm *timer.Timer, _ *timer.Ticker, _ func()) { require.NoError(t, tm.Shutdown(bg)) },
		} {
			tm, c := mocked(t)
			ctx, cancel := context.WithCancel(bg)
			e := startElsewhere(t, tm, ctx)
			c.add(time.Second)
			done := testwait.Value(t, e.runs)
			stop(tm, e.Ticker, cancel)
			testwait.Until(t, func() bool { return tm.Len() == 0 })
			select {
			case <-e.Done():
				t.Fatal("Done before the run has ended: " + name)
			default:
			}
			done()
			testwait.Done(t, e.Done())
			cancel()
		}
	})
	t.Run("TIMER-9 bad arguments and a closed timer", func(t *testing.T) {
		tm, _ := mocked(t)
		_, err := link.Every(tm, bg, 0, nil)
		require.ErrorIs(t, err, timer.ErrConfig)
		require.NoError(t, tm.Close())
		k, err := link.Every(tm, bg, 1, nil)
		require.ErrorIs(t, err, timer.ErrClosed)
		require.Nil(t, k)
	})
}
