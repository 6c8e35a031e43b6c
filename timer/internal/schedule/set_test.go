package schedule_test

import (
	"math"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer/internal/schedule"
)

type entry struct {
	node schedule.Node
	name int
}

func (e *entry) Scheduled() *schedule.Node { return &e.node }

func TestSet(t *testing.T) {
	t.Run("TIMER-3 TEST-4 it behaves like a sorted slice", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			schedule.Play(t, rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "data"))
		})
	})
	t.Run("TIMER-3 entries of one deadline come out in the order of the pushes", func(t *testing.T) {
		var s schedule.Set[*entry]
		for i := range 1000 {
			s.Push(&entry{name: i}, 7)
		}
		for i := range 1000 {
			e, ok := s.Pop(7)
			require.True(t, ok)
			require.Equal(t, i, e.name)
		}
	})
	t.Run("TIMER-4 room is given back", func(t *testing.T) {
		var s schedule.Set[*entry]
		var all []*entry
		for i := range 10_000 {
			all = append(all, &entry{name: i})
			s.Push(all[i], int64(i*7919%10_000))
		}
		for _, e := range all {
			require.True(t, s.Remove(e))
			require.False(t, s.Remove(e), "a second time")
		}
		require.NoError(t, s.Check())
		require.Zero(t, s.Len())
	})
	t.Run("TIMER-4 an entry that was taken out is not held", func(t *testing.T) {
		var s schedule.Set[*entry]
		keep := &entry{}
		s.Push(keep, 1)
		var held []weak.Pointer[entry]
		for i := range 10 {
			e := &entry{name: i}
			held = append(held, weak.Make(e))
			s.Push(e, int64(2+i))
			if i%2 == 0 {
				s.Remove(e)
			}
		}
		s.Remove(keep)
		for range 3 {
			s.Pop(100)
		}
		s.Drain()
		testwait.Until(t, func() bool {
			runtime.GC()
			return !slices.ContainsFunc(held, func(w weak.Pointer[entry]) bool { return w.Value() != nil })
		})
		runtime.KeepAlive(&s)
	})
	t.Run("TIMER-3 what takes the place of one from the middle may belong above it", func(t *testing.T) {
		var s schedule.Set[*entry]
		var all []*entry
		for i, at := range []int64{0, 100, 1, 1, 1, 101, 102, 103, 104, 2} {
			all = append(all, &entry{name: i})
			s.Push(all[i], at)
		}
		require.True(t, s.Remove(all[8])) // under the one due at 100; the last one is under another
		require.NoError(t, s.Check())
		var names []int
		for e, ok := s.Pop(200); ok; e, ok = s.Pop(200) {
			names = append(names, e.name)
		}
		require.Equal(t, []int{0, 2, 3, 4, 9, 1, 5, 6, 7}, names)
	})
	t.Run("TIMER-7 Drain empties it in order, due or not", func(t *testing.T) {
		var s schedule.Set[*entry]
		require.Empty(t, s.Drain())
		for i, at := range []int64{schedule.Never, 5, -3, 5, math.MinInt64, schedule.Never} {
			s.Push(&entry{name: i}, at)
		}
		var names []int
		for _, e := range s.Drain() {
			names = append(names, e.name)
			require.False(t, s.Remove(e))
		}
		require.Equal(t, []int{4, 2, 1, 3, 0, 5}, names)
		require.Zero(t, s.Len())
		require.EqualValues(t, schedule.Never, s.Next())
		s.Push(&entry{}, 7)
		require.EqualValues(t, 7, s.Next())
	})
	t.Run("TIMER-8 it tells whether the first entry is newer than a reading of the clock", func(t *testing.T) {
		var s schedule.Set[*entry]
		require.False(t, s.Newer(0), "there is none")
		s.Push(&entry{}, 5)
		read := s.Pushed()
		require.False(t, s.Newer(read), "it was there")
		s.Push(&entry{}, 7)
		require.False(t, s.Newer(read), "the new one is not the first")
		s.Push(&entry{}, 3)
		require.True(t, s.Newer(read))
		require.False(t, s.Newer(s.Pushed()))
	})
	t.Run("an entry is in one place once", func(t *testing.T) {
		var s schedule.Set[*entry]
		e := &entry{}
		s.Push(e, 1)
		require.Panics(t, func() { s.Push(e, 2) })
	})
}

func TestArithmetic(t *testing.T) {
	const never = int64(schedule.Never)
	t.Run("TIMER-2 a sum that does not fit never comes", func(t *testing.T) {
		require.Equal(t, int64(7), schedule.After(3, 4))
		require.Equal(t, int64(3), schedule.After(3, 0))
		require.Equal(t, never, schedule.After(1, never))
		require.Equal(t, never, schedule.After(never-3, 4))
		require.Equal(t, never-1, schedule.After(never-5, 4))
		require.Equal(t, never, schedule.After(-10, never), "the longest duration may stand for more")
	})
	t.Run("TIMER-2 Never is never due", func(t *testing.T) {
		var s schedule.Set[*entry]
		s.Push(&entry{}, never)
		_, ok := s.Pop(never)
		require.False(t, ok)
		require.Equal(t, 1, s.Len())
	})
	t.Run("TIMER-2 the way to a later instant is positive", func(t *testing.T) {
		require.Equal(t, int64(4), schedule.Until(3, 7))
		require.Equal(t, never, schedule.Until(math.MinInt64, 7), "the longest there is")
	})
}
