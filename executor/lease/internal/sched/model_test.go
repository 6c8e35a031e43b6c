package sched_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

// reference is the scheduler that one would write without a thought for its
// cost: slices, searched from the front.
type reference struct {
	config
	free    int
	queue   []int // callers
	ring    []int // handles
	barred  []int
	end     sched.Reason
	granted []int
	refused map[int]sched.Reason
}

func (r *reference) acquire(i int) {
	h := i % r.handles
	switch {
	case r.end != sched.Open:
		r.refused[i] = r.end
	case slices.Contains(r.barred, h):
		r.refused[i] = sched.Barred
	case r.free > 0 && len(r.queue) == 0:
		r.free--
		r.granted = append(r.granted, i)
	case len(r.queue) >= r.limit:
		r.refused[i] = sched.Saturated
	default:
		r.queue = append(r.queue, i)
		if !slices.Contains(r.ring, h) {
			r.ring = append(r.ring, h)
		}
	}
}

func (r *reference) release() {
	r.free++
	if len(r.queue) == 0 || r.end != sched.Open {
		return
	}
	r.free--
	i := r.queue[0]
	if r.policy == sched.RoundRobin {
		h := r.ring[0]
		i = r.queue[slices.IndexFunc(r.queue, func(j int) bool { return j%r.handles == h })]
		r.ring = append(r.ring[1:], h)
	}
	r.granted = append(r.granted, i)
	r.remove(i)
}

func (r *reference) remove(i int) {
	h := i % r.handles
	r.queue = slices.DeleteFunc(r.queue, func(j int) bool { return j == i })
	if !slices.ContainsFunc(r.queue, func(j int) bool { return j%r.handles == h }) {
		r.ring = slices.DeleteFunc(r.ring, func(g int) bool { return g == h })
	}
}

func (r *reference) bar(h int) {
	r.barred = append(r.barred, h)
	for _, i := range slices.Clone(r.queue) {
		if i%r.handles == h {
			r.refused[i] = sched.Barred
			r.remove(i)
		}
	}
}

func (r *reference) stop(why sched.Reason) {
	if r.end != sched.Open {
		return
	}
	r.end = why
	for _, i := range r.queue {
		r.refused[i] = why
	}
	r.queue, r.ring = nil, nil
}

// chooser makes a model's choices.
type chooser interface {
	require.TestingT
	Helper()
	// choose returns a number below n.
	choose(n int, what string) int
}

// randomly chooses by rapid.
type randomly struct{ *rapid.T }

func (r randomly) choose(n int, what string) int { return rapid.IntRange(0, n-1).Draw(r.T, what) }

// play makes the same calls of the scheduler and of the reference, each carried
// through before the next one.
func play(t chooser, calls int) {
	cfg := config{
		capacity: 1 + t.choose(4, "capacity"),
		limit:    t.choose(9, "limit"),
		handles:  1 + t.choose(5, "handles"),
		policy:   []sched.Policy{sched.RoundRobin, sched.FIFO}[t.choose(2, "policy")],
		fast:     t.choose(2, "fast") == 0,
		callers:  40,
	}
	d, r := drive(t, cfg), &reference{config: cfg, free: cfg.capacity, refused: make(map[int]sched.Reason)}
	pick := func(what string, state int) (int, bool) {
		var list []int
		for i := range cfg.callers {
			if d.state(i) == state {
				list = append(list, i)
			}
		}
		if len(list) == 0 {
			return 0, false
		}
		return list[t.choose(len(list), what)], true
	}
	turns := newTurns(d)
	for range calls {
		switch t.choose(9, "call") {
		case 0, 1, 2:
			if i, ok := pick("caller", outside); ok {
				d.acquire(i)
				r.acquire(i)
				if d.state(i) == held && !slices.Contains(d.grants, i) {
					d.grants = append(d.grants, i) // by the fast path
				}
			}
		case 3, 4:
			if i, ok := pick("holder", held); ok {
				d.must(d.release(i))
				d.rest()
				r.release()
			}
		case 5:
			if i, ok := pick("waiter", pending); ok {
				d.must(d.cancel(i))
				d.rest()
				r.remove(i)
			}
		case 6:
			h := t.choose(cfg.handles, "handle")
			if t.choose(4, "dice") == 0 && d.bar(h) {
				d.must(d.leave(h))
				d.rest()
				r.bar(h)
			}
		case 7:
			if t.choose(10, "dice") == 0 && !d.ended {
				d.must(d.close())
				d.rest()
				r.stop(sched.Closed)
			}
		case 8:
			d.woken = true
			d.rest()
		}
		require.True(t, slices.Equal(r.granted, d.grants), "%v granted, and not %v", d.grants, r.granted)
		require.Equal(t, r.free, d.word.Free())
		require.Equal(t, len(r.queue), d.s.Len())
		for i := range cfg.callers {
			why, ok := r.refused[i]
			require.True(t, ok == (d.state(i) == refused) && why == d.callers[i].why, "caller %d is refused", i)
		}
		turns.check(t)
	}
	for i := range cfg.callers {
		if d.state(i) == pending {
			d.must(d.cancel(i))
		}
	}
	d.rest()
	for i := range cfg.callers {
		if d.state(i) == held {
			d.must(d.release(i))
		}
	}
	d.rest()
	require.Equal(t, cfg.capacity, d.word.Free())
	require.Zero(t, d.s.Len())
}

// turns checks that between two grants to a handle that stays queued every
// other handle gets at most one, and exactly one if it is queued throughout.
type turns struct {
	d    *driver
	seen int           // grants looked at
	last map[int][]int // since a handle's last grant, or it queued: the grants to others
	was  map[int]map[int]bool
}

func newTurns(d *driver) *turns {
	return &turns{d: d, last: make(map[int][]int), was: make(map[int]map[int]bool)}
}

func (x *turns) queued(h int) bool {
	for i := range x.d.callers {
		if x.d.callers[i].handle == h && x.d.state(i) == pending {
			return true
		}
	}
	return false
}

func (x *turns) check(t require.TestingT) {
	if x.d.policy != sched.RoundRobin {
		return
	}
	for ; x.seen < len(x.d.grants); x.seen++ {
		g := x.d.callers[x.d.grants[x.seen]].handle
		if since, ok := x.last[g]; ok { // it stayed queued
			for h := range x.d.handles {
				if h == g {
					continue
				}
				n := 0
				for _, o := range since {
					if o == h {
						n++
					}
				}
				require.LessOrEqual(t, n, 1, "handle %d between two grants to %d", h, g)
				if x.was[g][h] {
					require.Equal(t, 1, n, "handle %d, queued throughout, between two grants to %d", h, g)
				}
			}
		}
		for h := range x.last {
			x.last[h] = append(x.last[h], g)
		}
		x.last[g], x.was[g] = nil, make(map[int]bool)
		for h := range x.d.handles {
			x.was[g][h] = x.queued(h)
		}
	}
	for h := range x.last {
		if !x.queued(h) {
			delete(x.last, h)
		}
		for o := range x.was[h] {
			// A grant to o in between may have been its last waiter's.
			if !x.queued(o) && !slices.Contains(x.last[h], o) {
				x.was[h][o] = false
			}
		}
	}
}

func TestModel(t *testing.T) {
	t.Run("LEASE-75 LEASE-29 as the reference does", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) { play(randomly{rt}, rapid.IntRange(1, 120).Draw(rt, "calls")) })
	})
	t.Run("LEASE-75 LEASE-29 in any order of steps", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) { mingle(randomly{rt}, rapid.IntRange(1, 200).Draw(rt, "steps")) })
	})
}
