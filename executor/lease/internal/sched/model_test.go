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

// play makes the same random calls of the scheduler and of the reference, each
// carried through before the next one.
func play(t *testing.T, rt *rapid.T) {
	cfg := config{
		capacity: rapid.IntRange(1, 4).Draw(rt, "capacity"),
		limit:    rapid.IntRange(0, 8).Draw(rt, "limit"),
		handles:  rapid.IntRange(1, 5).Draw(rt, "handles"),
		policy:   rapid.SampledFrom([]sched.Policy{sched.RoundRobin, sched.FIFO}).Draw(rt, "policy"),
		fast:     rapid.Bool().Draw(rt, "fast"),
		callers:  40,
	}
	d, r := drive(t, cfg), &reference{config: cfg, free: cfg.capacity, refused: make(map[int]sched.Reason)}
	pick := func(what string, ok func(i int) bool) (int, bool) {
		var list []int
		for i := range cfg.callers {
			if ok(i) {
				list = append(list, i)
			}
		}
		if len(list) == 0 {
			return 0, false
		}
		return rapid.SampledFrom(list).Draw(rt, what), true
	}
	in := func(state int) func(int) bool { return func(i int) bool { return d.state(i) == state } }
	turns := newTurns(d)
	for range rapid.IntRange(1, 120).Draw(rt, "calls") {
		switch rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "release", "release", "cancel", "bar", "end", "hint"}).Draw(rt, "call") {
		case "acquire":
			if i, ok := pick("caller", in(outside)); ok {
				d.acquire(i)
				r.acquire(i)
				if d.state(i) == held && !slices.Contains(d.grants, i) {
					d.grants = append(d.grants, i) // by the fast path
				}
			}
		case "release":
			if i, ok := pick("holder", in(held)); ok {
				d.must(d.release(i))
				d.rest()
				r.release()
			}
		case "cancel":
			if i, ok := pick("waiter", in(pending)); ok {
				d.must(d.cancel(i))
				d.rest()
				r.remove(i)
			}
		case "bar":
			h := rapid.IntRange(0, cfg.handles-1).Draw(rt, "handle")
			if rapid.IntRange(0, 3).Draw(rt, "dice") == 0 && d.bar(h) {
				d.must(d.leave(h))
				d.rest()
				r.bar(h)
			}
		case "end":
			if rapid.IntRange(0, 9).Draw(rt, "dice") == 0 && !d.ended {
				d.must(d.close())
				d.rest()
				r.stop(sched.Closed)
			}
		case "hint":
			d.woken = true
			d.rest()
		}
		require.Equal(rt, r.granted, d.grants)
		require.Equal(rt, r.free, d.word.Free())
		require.Len(rt, r.queue, d.s.Len())
		for i := range cfg.callers {
			if d.state(i) == refused {
				require.Equal(rt, r.refused[i], d.callers[i].why)
			}
		}
		turns.check(rt)
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
	require.Equal(rt, cfg.capacity, d.word.Free())
	require.Zero(rt, d.s.Len())
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

func (x *turns) check(rt *rapid.T) {
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
				require.LessOrEqual(rt, n, 1, "handle %d between two grants to %d", h, g)
				if x.was[g][h] {
					require.Equal(rt, 1, n, "handle %d, queued throughout, between two grants to %d", h, g)
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
		rapid.Check(t, func(rt *rapid.T) { play(t, rt) })
	})
}

func FuzzModel(f *testing.F) {
	f.Add([]byte("a pool of permits"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rapid.MakeFuzz(func(rt *rapid.T) { play(t, rt) })(t, data)
	})
}
