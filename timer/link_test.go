package timer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/testwait"
)

func TestLink(t *testing.T) {
	t.Run("EXEC-14 OnDone is told once, when the last goroutine has ended", func(t *testing.T) {
		tm, c := mocked(t)
		left := make(chan bool, 2)
		link.OnDone(tm, func() {
			select {
			case <-tm.Done():
				left <- true
			default:
				left <- false
			}
		})
		gate := make(chan struct{})
		tm.Delay(bg, 1).OnSettle(func(settled) { <-gate })
		c.add(1)
		link.Stop(tm)
		link.Stop(tm)
		require.Empty(t, left)
		close(gate)
		require.True(t, testwait.Value(t, left))
		require.NoError(t, tm.Close())
		require.Empty(t, left)
	})
	t.Run("EXEC-14 OnDone of a timer that never started is told by whoever closes it", func(t *testing.T) {
		tm, _ := mocked(t)
		told := 0
		link.OnDone(tm, func() { told++; require.NoError(t, tm.Close()) })
		link.Stop(tm)
		require.NoError(t, tm.Close())
		require.Equal(t, 1, told)
	})
}
