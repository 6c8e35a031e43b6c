package goid_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/internal/goid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestID(t *testing.T) {
	t.Run("distinct per goroutine and the same on each", func(t *testing.T) {
		const goroutines = 64
		var (
			mu   sync.Mutex
			seen = map[uint64]bool{goid.ID(): true}
			all  sync.WaitGroup
		)
		for range goroutines {
			all.Go(func() {
				id := goid.ID()
				var deep func(n int) uint64
				deep = func(n int) uint64 {
					if n == 0 {
						return goid.ID()
					}
					return deep(n - 1)
				}
				if id == 0 || deep(100) != id {
					t.Error("not the number of this goroutine")
				}
				mu.Lock()
				defer mu.Unlock()
				seen[id] = true
			})
		}
		all.Wait()
		require.Len(t, seen, goroutines+1)
	})
	t.Run("in a bubble too", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			id, other := goid.ID(), make(chan uint64)
			go func() { other <- goid.ID() }()
			require.NotZero(t, id)
			require.NotEqual(t, id, <-other)
		})
	})
}

func TestParse(t *testing.T) {
	for header, id := range map[string]uint64{
		"goroutine 7 [running]:":                     7,
		"goroutine 1029384756 [running]:":            1029384756,
		"goroutine 90 [running, synctest bubble 3]:": 90,
	} {
		require.Equal(t, id, goid.Parse([]byte(header)), header)
	}
}

func TestBubbled(t *testing.T) {
	require.False(t, goid.Bubbled())
	synctest.Test(t, func(t *testing.T) {
		require.True(t, goid.Bubbled())
		inside := make(chan bool)
		go func() { inside <- goid.Bubbled() }()
		require.True(t, <-inside)
	})
	require.False(t, goid.Bubbled())
}
