package timer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

func TestNew(t *testing.T) {
	t.Run("TIMER-2 every bad field is reported", func(t *testing.T) {
		tm, err := timer.New(timer.Config{Limit: -1, ShutdownTimeout: -2})
		require.Nil(t, tm)
		require.ErrorIs(t, err, timer.ErrConfig)
		require.ErrorContains(t, err, "Limit")
		require.ErrorContains(t, err, "ShutdownTimeout")
		var bad *timer.ConfigError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, "Limit", bad.Field)
		require.Equal(t, -1, bad.Value)
		require.Error(t, bad.Reason)
	})
	t.Run("TIMER-1 starts nothing", func(t *testing.T) {
		gone(t, 0)
		start(t, timer.Config{})
		require.Zero(t, goroutines())
	})
	t.Run("the zero Timer is a closed one", func(t *testing.T) {
		var tm timer.Timer
		var noCtx context.Context
		err := func(f *future.Future[time.Time]) error { return futuretest.RequireSettled(t, f).Err }
		require.ErrorIs(t, err(tm.Delay(bg, 0)), timer.ErrClosed)
		require.ErrorIs(t, err(tm.Delay(bg, 1)), timer.ErrClosed)
		require.ErrorIs(t, err(tm.At(bg, at(0))), timer.ErrClosed)
		require.ErrorIs(t, err(tm.Delay(noCtx, 1)), timer.ErrConfig)
		require.ErrorIs(t, err(tm.At(noCtx, at(0))), timer.ErrConfig)
		require.ErrorIs(t, err(tm.Delay(bg, -1)), timer.ErrNegativeDelay)
		_, everyErr := tm.Every(bg, 1, func(context.Context) error { return nil })
		require.ErrorIs(t, everyErr, timer.ErrClosed)
		require.ErrorIs(t, tm.Sync(bg), timer.ErrClosed)
		require.ErrorIs(t, tm.Shutdown(bg), timer.ErrClosed)
		require.ErrorIs(t, tm.Shutdown(noCtx), timer.ErrConfig)
		require.ErrorIs(t, tm.Close(), timer.ErrClosed)
		require.Zero(t, tm.Len())
		testwait.Done(t, tm.Done())
	})
}
