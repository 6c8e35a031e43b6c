package benclock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
	"github.com/cadre-go/cadre/timer/benclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWrap(t *testing.T) {
	t.Run("TIMER-8 a mock", func(t *testing.T) {
		mock := clock.NewMock()
		c := benclock.Wrap(mock)
		require.Equal(t, mock.Now(), c.Now())
		ct := c.NewTimer(time.Second)
		require.True(t, ct.Stop())
		require.False(t, ct.Stop())
		require.False(t, ct.Reset(time.Minute))
		mock.Add(time.Minute)
		require.Equal(t, mock.Now(), testwait.Value(t, ct.C()))
	})
	t.Run("TIMER-8 the real one", func(t *testing.T) {
		tm, err := timer.New(timer.Config{Clock: benclock.Wrap(clock.New())})
		require.NoError(t, err)
		began := time.Now()
		at := futuretest.Await(t, tm.Delay(context.Background(), 5*time.Millisecond))
		require.GreaterOrEqual(t, at.Sub(began), 5*time.Millisecond)
		require.NoError(t, tm.Close())
	})
	t.Run("a nil clock", func(t *testing.T) {
		require.PanicsWithValue(t, "benclock: Wrap of a nil clock", func() { benclock.Wrap(nil) })
	})
}

func ExampleWrap() {
	mock := clock.NewMock() // or clock.New(), in production
	t, err := timer.New(timer.Config{Clock: benclock.Wrap(mock)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()
	ctx := context.Background()

	f := t.Delay(ctx, time.Hour)
	mock.Add(time.Hour)
	at, err := f.Await(ctx)
	fmt.Println(at.UTC().Format(time.TimeOnly), err)
	// Output: 01:00:00 <nil>
}
