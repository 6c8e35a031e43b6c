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

// model is a Set that sorts a slice.
type model []due

type due struct {
	deadline int64
	e        *entry
}

func (m *model) push(e *entry, deadline int64) {
	i := 0
	for i < len(*m) && (*m)[i].deadline <= deadline {
		i++
	}
	*m = slices.Insert(*m, i, due{deadline, e})
}

func (m *model) next() int64 {
	if len(*m) == 0 {
		return schedule.Never
	}
	return (*m)[0].deadline
}

func (m *model) remove(e *entry) bool {
	i := slices.IndexFunc(*m, func(d due) bool { return d.e == e })
	if i < 0 {
		return false
	}
	*m = slices.Delete(*m, i, i+1)
	return true
}

// pair drives a Set and its model in step.
type pair struct {
	t interface {
		require.TestingT
		Helper()
	}
	set  schedule.Set[*entry]
	mod  model
	all  []*entry
	now  int64
	name int
}

func (p *pair) push(after int64) {
	p.name++
	e := &entry{name: p.name}
	at := schedule.After(p.now, after)
	p.set.Push(e, at)
	p.mod.push(e, at)
	p.all = append(p.all, e)
}

// remove takes out any entry that there ever was, in or not.
func (p *pair) remove(i int) {
	if len(p.all) == 0 {
		return
	}
	e := p.all[i%len(p.all)]
	require.Equal(p.t, p.mod.remove(e), p.set.Remove(e))
}

func (p *pair) popDue(step int64) {
	p.now = schedule.After(p.now, step)
	for {
		var want *entry
		if next := p.mod.next(); next <= p.now && next != schedule.Never {
			want = p.mod[0].e
			p.mod = p.mod[1:]
		}
		got, ok := p.set.Pop(p.now)
		require.Equal(p.t, want != nil, ok)
		if !ok {
			return
		}
		require.Equal(p.t, want.name, got.name)
	}
}

func (p *pair) check() {
	p.t.Helper()
	require.NoError(p.t, p.set.Check())
	require.Equal(p.t, len(p.mod), p.set.Len())
	require.Equal(p.t, p.mod.next(), p.set.Next())
}

func TestSet(t *testing.T) {
	t.Run("TIMER-3 TEST-4 it behaves like a sorted slice", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			p := &pair{t: t}
			delay := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, math.MaxInt64))
			t.Repeat(map[string]func(*rapid.T){
				"push": func(t *rapid.T) {
					for range rapid.IntRange(1, 40).Draw(t, "n") {
						p.push(delay.Draw(t, "delay"))
					}
				},
				"remove": func(t *rapid.T) {
					for range rapid.IntRange(1, 30).Draw(t, "n") {
						p.remove(rapid.IntRange(0, 1<<20).Draw(t, "which"))
					}
				},
				"pop": func(t *rapid.T) { p.popDue(rapid.Int64Range(0, 15).Draw(t, "step")) },
				"":    func(*rapid.T) { p.check() },
			})
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
		for range 5 {
			s.Take()
		}
		testwait.Until(t, func() bool {
			runtime.GC()
			return !slices.ContainsFunc(held, func(w weak.Pointer[entry]) bool { return w.Value() != nil })
		})
		runtime.KeepAlive(&s)
	})
	t.Run("TIMER-7 Take empties it in order, due or not", func(t *testing.T) {
		var s schedule.Set[*entry]
		for i, at := range []int64{schedule.Never, 5, -3, math.MinInt64} {
			s.Push(&entry{name: i}, at)
		}
		for _, want := range []int{3, 2, 1, 0} {
			e, ok := s.Take()
			require.True(t, ok)
			require.Equal(t, want, e.name)
		}
		_, ok := s.Take()
		require.False(t, ok)
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

func FuzzSet(f *testing.F) {
	f.Add([]byte{0, 5, 0, 3, 2, 4, 1, 0, 3, 9})
	f.Add([]byte{0, 255, 0, 255, 0, 1, 1, 1, 1, 0, 3, 255})
	f.Fuzz(func(t *testing.T, ops []byte) {
		p := &pair{t: t}
		for len(ops) >= 2 {
			op, arg := ops[0]%4, int64(ops[1])
			ops = ops[2:]
			switch op {
			case 0:
				p.push(arg)
			case 1:
				p.remove(int(arg))
			case 2:
				p.push(math.MaxInt64 - arg)
			case 3:
				p.popDue(arg)
			}
			p.check()
		}
	})
}
