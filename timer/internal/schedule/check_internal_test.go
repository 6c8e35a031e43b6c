package schedule

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type checked struct{ node Node }

func (c *checked) Scheduled() *Node { return &c.node }

// What Check says after each step of the other tests is worth something only if
// it can fail.
func TestCheckFinds(t *testing.T) {
	filled := func(n int) *Set[*checked] {
		s := &Set[*checked]{}
		for i := range n {
			s.Push(&checked{}, int64(i))
		}
		require.NoError(t, s.Check())
		return s
	}
	t.Run("a wrong place", func(t *testing.T) {
		s := filled(6)
		s.items.at(5).entry.node.place = 5
		require.EqualError(t, s.Check(), "the entry at 5 has place 5")
	})
	t.Run("a child before its parent", func(t *testing.T) {
		s := filled(6)
		s.items.at(5).deadline = 0
		require.EqualError(t, s.Check(), "the entry at 5 is before its parent")
	})
	t.Run("room that is not given back", func(t *testing.T) {
		s := filled(chunkLen)
		s.items.grow()
		s.items.len--
		require.NoError(t, s.Check(), "one chunk is kept")
		s.items.list = append(s.items.list, new([chunkLen]item[*checked]))
		require.EqualError(t, s.Check(), "room for 192 with 64 entries")
	})
}
