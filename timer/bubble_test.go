package timer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/timer"
)

func TestBubble(t *testing.T) {
	t.Run("TIMER-8 package time in a synctest bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tm, err := timer.New(timer.Config{})
			require.NoError(t, err)
			began := time.Now()
			n := 0
			for i := range 20 {
				tm.Delay(bg, time.Duration(i+1)*time.Hour).OnSettle(func(settled) { n++ })
			}
			time.Sleep(10 * time.Hour)
			require.NoError(t, tm.Sync(bg))
			require.Equal(t, 10, n)
			f := tm.At(bg, began.Add(30*time.Hour))
			require.Equal(t, began.Add(30*time.Hour), futuretest.Await(t, f))
			require.Equal(t, 20, n)
			require.NoError(t, tm.Close())
		})
	})
	t.Run("TIMER-9 ticks in a bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tm, err := timer.New(timer.Config{})
			require.NoError(t, err)
			k, err := tm.Every(bg, time.Minute, func(context.Context) error { time.Sleep(90 * time.Second); return nil })
			require.NoError(t, err)
			time.Sleep(10*time.Minute + time.Second)
			requireTicks(t, k, 5, 5)
			k.Stop()
			<-k.Done()
			require.NoError(t, tm.Close())
		})
	})
	t.Run("TIMER-7 Close by package time in a bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tm, err := timer.New(timer.Config{})
			require.NoError(t, err)
			tm.Delay(bg, time.Second).OnSettle(func(settled) { time.Sleep(time.Minute) })
			time.Sleep(2 * time.Second)
			began := time.Now()
			require.ErrorIs(t, tm.Close(), context.DeadlineExceeded)
			require.Equal(t, 30*time.Second, time.Since(began))
			<-tm.Done()
		})
	})
}
