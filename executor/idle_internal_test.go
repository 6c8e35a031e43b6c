package executor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIdle(t *testing.T) {
	t.Run("the_last_one_that_parked_is_woken_first_and_the_height_is_exact", func(t *testing.T) {
		var s idle
		var ws [4]*worker
		for i := range ws {
			ws[i] = &worker{wake: make(chan struct{}, 1)}
			s.push(ws[i])
		}
		require.True(t, s.remove(ws[2]))
		require.False(t, s.remove(ws[2]), "it is off")
		for _, want := range []*worker{ws[3], ws[1], ws[0]} {
			require.Empty(t, want.wake)
			s.wakeOne()
			require.Len(t, want.wake, 1)
		}
		require.Zero(t, s.n.Load())
		s.wakeOne()
		require.Empty(t, ws[2].wake)
	})
}
