package timer_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/timer"
)

// naive is a timer that walks a list.
type naive struct {
	now    time.Duration
	closed bool
	list   []*naiveDelay // in the order of the calls
}

type naiveDelay struct {
	f        *future.Future[time.Time]
	deadline time.Duration
	want     error // what it settles with; nil: the time
	settled  bool
	calls    int
}

func (n *naive) outstanding() int {
	count := 0
	for _, d := range n.list {
		if !d.settled {
			count++
		}
	}
	return count
}

// due marks what has to have fired by now, and returns it in order.
func (n *naive) due() []int {
	var order []int
	for {
		best := -1
		for i, d := range n.list {
			if !d.settled && d.deadline <= n.now && (best < 0 || d.deadline < n.list[best].deadline) {
				best = i
			}
		}
		if best < 0 {
			return order
		}
		n.list[best].settled = true
		order = append(order, best)
	}
}

func TestModel(t *testing.T) {
	t.Run("TIMER-3 TIMER-4 TIMER-7 TEST-4 it behaves like a list that is walked", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) { model(rt, t) })
	})
}

func model(rt *rapid.T, t *testing.T) {
	c := newClock(t)
	limit := rapid.IntRange(0, 12).Draw(rt, "limit")
	tm, err := timer.New(timer.Config{Clock: c, Limit: limit})
	require.NoError(rt, err)
	defer func() { require.NoError(rt, tm.Shutdown(bg)) }()
	n := &naive{}
	var order []int
	causes := errors.New("cause")
	pick := func(t *rapid.T) *naiveDelay {
		if len(n.list) == 0 {
			return &naiveDelay{f: future.Failed[time.Time](causes), settled: true}
		}
		return n.list[rapid.IntRange(0, len(n.list)-1).Draw(t, "which")]
	}
	fire := func() {
		if n.closed {
			return
		}
		require.NoError(rt, tm.Sync(bg))
		got := order
		order = nil // the goroutine is parked, and what it fires next comes after this
		require.Equal(rt, n.due(), got)
	}
	rt.Repeat(map[string]func(*rapid.T){
		"delay": func(t *rapid.T) {
			d := time.Duration(rapid.IntRange(-1, 9).Draw(t, "d"))
			full := limit > 0 && n.outstanding() >= limit
			f := tm.Delay(bg, d)
			o, settled := f.Outcome()
			require.Equal(t, d <= 0 || n.closed || full, settled)
			switch {
			case d < 0:
				require.ErrorIs(t, o.Err, timer.ErrNegativeDelay)
			case n.closed:
				require.ErrorIs(t, o.Err, timer.ErrClosed)
			case d == 0:
				require.NoError(t, o.Err)
			case full:
				require.ErrorIs(t, o.Err, timer.ErrLimit)
			default:
				i, nd := len(n.list), &naiveDelay{f: f, deadline: n.now + d}
				n.list = append(n.list, nd)
				f.OnSettle(func(o future.Outcome[time.Time]) {
					nd.calls++
					if o.Err == nil {
						order = append(order, i)
						require.GreaterOrEqual(rt, o.Value.Sub(at(0)), nd.deadline)
					}
				})
			}
		},
		"cancel": func(t *rapid.T) {
			d := pick(t)
			require.Equal(t, !d.settled, d.f.Cancel(causes))
			if !d.settled {
				d.settled, d.want = true, causes
			}
		},
		"abandon": func(t *rapid.T) {
			d := pick(t)
			require.Equal(t, !d.settled, d.f.Abandon(causes))
			if !d.settled {
				d.settled, d.want = true, causes
			}
		},
		"move": func(t *rapid.T) {
			d := time.Duration(rapid.IntRange(0, 6).Draw(t, "d"))
			n.now += d
			c.add(d)
			fire()
		},
		"set back": func(t *rapid.T) {
			fire()
			d := time.Duration(rapid.IntRange(0, 6).Draw(t, "d"))
			n.now -= d
			c.add(-d)
			fire()
		},
		"close, now and then": func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "dice") > 0 {
				return
			}
			require.NoError(t, tm.Close())
			n.closed = true
			for _, d := range n.list {
				if !d.settled {
					d.settled, d.want = true, timer.ErrClosed
				}
			}
		},
		"": func(t *rapid.T) {
			require.NoError(t, timer.Check(tm))
			require.Equal(t, n.outstanding(), tm.Len())
			for _, d := range n.list {
				o, settled := d.f.Outcome()
				require.Equal(t, d.settled, settled)
				if !settled {
					continue
				}
				require.Equal(t, 1, d.calls)
				if d.want == nil {
					require.NoError(t, o.Err)
				} else {
					require.ErrorIs(t, o.Err, d.want)
				}
			}
		},
	})
}
