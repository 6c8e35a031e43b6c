package sched_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

// allTurns is the part of a Word that counts the turns.
const allTurns = ^sched.Word(0) &^ (1<<24 - 1)

func TestWord(t *testing.T) {
	t.Run("LEASE-8 who may take", func(t *testing.T) {
		w := sched.Full(2)
		for _, c := range []struct {
			word          sched.Word
			caller, owner bool
		}{
			{w, true, true},
			{w.WithDemand(true), false, true},
			{w.WithClosed(), false, false},
			{w.WithFailed(), false, false},
			{sched.Full(0), false, false},
		} {
			next, ok := c.word.Take()
			require.Equal(t, c.caller, ok)
			first, okFirst := c.word.TakeFirst()
			require.Equal(t, c.owner, okFirst)
			if ok {
				require.Equal(t, 1, next.Free())
				require.Equal(t, uint64(1), next.Turn())
				require.Equal(t, next, first)
			}
		}
		require.Equal(t, w, w.WithDemand(true).WithDemand(false))
		for _, c := range []struct {
			word                  sched.Word
			closed, failed, ended bool
		}{
			{w, false, false, false},
			{w.WithClosed(), true, false, true},
			{w.WithFailed(), false, true, true},
			{w.WithClosed().WithFailed(), true, true, true},
		} {
			require.Equal(t, c.closed, c.word.Closed())
			require.Equal(t, c.failed, c.word.Failed())
			require.Equal(t, c.ended, c.word.Ended())
		}
	})
	t.Run("LEASE-4 the turn wraps and leaves the rest alone", func(t *testing.T) {
		w := sched.Full(sched.MaxCapacity).WithDemand(true)
		for range 3 {
			next, ok := w.TakeFirst()
			require.True(t, ok)
			w = next.Put() | allTurns
		}
		require.Equal(t, sched.MaxCapacity, w.Free())
		w, _ = w.TakeFirst()
		require.Zero(t, w.Turn())
		require.Equal(t, sched.MaxCapacity-1, w.Free())
		require.True(t, w.Demand())
		require.False(t, w.Ended())
	})
}
