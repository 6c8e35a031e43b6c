package supervised

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/internal/goid"
)

func TestCause(t *testing.T) {
	p, _ := start(t, plain(1, handler(tenfold)))
	t.Run("SUP-95 a fact that has no cause of its own is named", func(t *testing.T) {
		for _, c := range []struct {
			about fold.Diagnosis
			cause error
			want  string
		}{
			{fold.RefusedFact, nil, "out of place: a start"},
			{fold.LateFact, nil, "out of place: a start"},
			{fold.RefusedFact, errTest, "test"},
			{fold.LateFact, errTest, "test"},
			{fold.StartFault, errTest, "test"},
		} {
			require.EqualError(t, p.core.cause(&action[int, int]{Diagnosis: c.about, Event: fold.Started, Cause: c.cause}), c.want)
		}
		require.NoError(t, p.core.cause(&action[int, int]{Diagnosis: fold.Restarted, Event: fold.Started}))
	})
	t.Run("SUP-95 what is about no role names none", func(t *testing.T) {
		for index, want := range map[int]Role{fold.None: "", 0: "a", 1: "", 2: ""} {
			require.Equal(t, want, p.core.role(index))
		}
	})
}

func TestGoroutines(t *testing.T) {
	t.Run("SUP-89 a goroutine is known as often as it is counted, and waits as often as it is inside", func(t *testing.T) {
		var g goroutines
		g.init()
		id := goid.ID()
		require.True(t, g.enter())
		others := func() int { n, _ := g.others(); return n }
		require.Equal(t, 1, others())
		leave, forget := g.register(), g.know()
		first, second := g.inside(id), g.inside(id)
		require.Equal(t, -1, others(), "it is counted once, and known twice")
		first()
		require.Equal(t, -1, others())
		second()
		require.Equal(t, 1, others())
		require.Empty(t, g.waiting)
		forget()
		require.True(t, g.own(id))
		leave()
		require.False(t, g.own(id))
		require.Empty(t, g.ids)
	})
}
