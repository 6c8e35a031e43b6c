package schedule_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cadre-go/cadre/timer/internal/schedule"
)

func TestSeries(t *testing.T) {
	t.Run("TIMER-9 ticks lie on the first grid", func(t *testing.T) {
		s := schedule.NewSeries(100, 10)
		require.Equal(t, int64(110), s.Next())
		require.False(t, s.Begin(109))
		require.True(t, s.Begin(117), "a late run")
		s.End(118)
		require.Equal(t, int64(120), s.Next(), "does not move the grid")
	})
	t.Run("TIMER-9 a run makes misses of the ticks it overlaps", func(t *testing.T) {
		s := schedule.NewSeries(0, 10)
		require.True(t, s.Begin(10))
		require.True(t, s.Running())
		require.False(t, s.Begin(20), "one run at a time")
		s.Look(35)
		require.Equal(t, uint64(2), s.Missed())
		s.End(50)
		require.Equal(t, uint64(4), s.Missed())
		require.Equal(t, uint64(1), s.Runs())
		require.Equal(t, int64(60), s.Next())
	})
	t.Run("TIMER-9 ticks jumped over are missed, the last one runs", func(t *testing.T) {
		s := schedule.NewSeries(0, 10)
		s.Look(45)
		require.Equal(t, uint64(3), s.Missed(), "the fourth can still run")
		require.True(t, s.Begin(45))
		require.Equal(t, uint64(3), s.Missed())
		require.Equal(t, uint64(1), s.Runs())
	})
	t.Run("TIMER-9 a refused tick is missed", func(t *testing.T) {
		s := schedule.NewSeries(0, 10)
		require.True(t, s.Begin(10))
		s.Refuse()
		require.False(t, s.Running())
		require.Equal(t, uint64(1), s.Missed())
		require.Zero(t, s.Runs())
		require.Equal(t, int64(20), s.Next())
	})
	t.Run("TIMER-9 a stopped series counts no more", func(t *testing.T) {
		s := schedule.NewSeries(0, 10)
		s.Stop(25)
		require.True(t, s.Stopped())
		require.Equal(t, uint64(2), s.Missed())
		s.Look(100)
		s.Stop(100)
		require.False(t, s.Begin(100))
		require.Equal(t, uint64(2), s.Missed())
	})
	t.Run("TIMER-8 a clock set back decides nothing twice", func(t *testing.T) {
		s := schedule.NewSeries(0, 10)
		s.Look(100)
		require.Equal(t, uint64(9), s.Missed())
		s.Look(30)
		require.False(t, s.Begin(30))
		s.Stop(-5)
		require.Equal(t, uint64(9), s.Missed())
		require.Zero(t, s.Runs())
	})
	t.Run("TIMER-2 the grid saturates", func(t *testing.T) {
		s := schedule.NewSeries(5, math.MaxInt64)
		require.Equal(t, int64(schedule.Never), s.Next())
		s = schedule.NewSeries(0, 1<<62)
		require.Equal(t, int64(1<<62), s.Next(), "the only tick that fits")
		s = schedule.NewSeries(math.MinInt64, math.MaxInt64)
		require.Equal(t, int64(-1), s.Next())
		require.True(t, s.Begin(math.MaxInt64))
		s.End(math.MaxInt64)
		require.Equal(t, uint64(1), s.Missed()+s.Runs()-1)
		require.Equal(t, int64(schedule.Never), s.Next())
		s = schedule.NewSeries(math.MinInt64, 1)
		require.True(t, s.Begin(math.MaxInt64))
		require.Equal(t, uint64(math.MaxUint64), s.Missed()+s.Runs())
	})
	t.Run("TIMER-9 TEST-4 runs and misses are the ticks due", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			start := rapid.Int64Range(-50, 50).Draw(t, "start")
			interval := rapid.Int64Range(1, 20).Draw(t, "interval")
			s := schedule.NewSeries(start, interval)
			now, latest := start, start
			move := func(t *rapid.T) {
				now += rapid.Int64Range(-10, 60).Draw(t, "step")
				latest = max(latest, now)
			}
			var missed uint64
			ticks := func() uint64 { return uint64((latest - start) / interval) }
			t.Repeat(map[string]func(*rapid.T){
				"move": move,
				"look": func(*rapid.T) { s.Look(now) },
				"begin": func(*rapid.T) {
					next, running := s.Next(), s.Running()
					require.Equal(t, now >= next && !running, s.Begin(now))
				},
				"end": func(*rapid.T) {
					if s.Running() {
						s.End(now)
					}
				},
				"refuse": func(*rapid.T) {
					if s.Running() {
						s.Refuse()
					}
				},
				"": func(t *rapid.T) {
					require.GreaterOrEqual(t, s.Missed(), missed, "never falls")
					missed = s.Missed()
					decided := s.Runs() + s.Missed()
					require.LessOrEqual(t, decided, ticks())
					require.Equal(t, start+int64(decided+1)*interval, s.Next())
					if !s.Running() {
						c := s
						c.Stop(latest)
						require.Equal(t, ticks(), c.Runs()+c.Missed())
					}
				},
			})
		})
	})
}
