package sched_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

// script chooses by the fuzzer's bytes.
type script struct {
	*testing.T
	data []byte
}

func (s *script) choose(n int, _ string) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

// mingle takes the steps of callers and of the owner in any order, as the walk
// does, in a bigger world whose callers come again.
func mingle(t chooser, steps int) {
	cfg := config{
		capacity: 1 + t.choose(3, "capacity"),
		limit:    t.choose(7, "limit"),
		handles:  1 + t.choose(4, "handles"),
		policy:   []sched.Policy{sched.RoundRobin, sched.FIFO}[t.choose(2, "policy")],
		fast:     t.choose(2, "fast") == 1,
		callers:  9,
		hints:    1 << 30,
	}
	w := newWorld(cfg)
	r := newRounds(w)
	var left []*sched.Waiter // before the acquisition in progress was taken up
	step := func() bool {
		if w.taken != nil && !w.busy {
			left = w.left()
		}
		done := w.step()
		if w.busy && w.effect.Reason == sched.Saturated {
			for _, x := range w.left() {
				require.False(t, slices.Contains(left, x), "a waiter is refused for the place of one that had left")
			}
		}
		require.NoError(t, w.check())
		r.check(t)
		return done
	}
	for range steps {
		switch move := t.choose(16, "move"); move {
		case 0, 1:
			step()
		case 2: // the owner gets to rest
			for step() {
			}
		case 3, 4: // the owner has chosen somebody
			for !(w.busy && w.effect.Kind == sched.Grant) && step() {
			}
		case 5, 6, 7, 8, 9:
			w.come(t, move < 9)
		case 10:
			w.pick(t, w.push)
		case 11:
			w.pick(t, w.cancel)
		case 12: // the one that is chosen leaves
			if w.busy && w.effect.Kind == sched.Grant {
				w.cancel(w.index(w.effect.Waiter))
			}
		case 13, 14:
			w.pick(t, w.release)
		case 15:
			w.rare(t)
		}
		require.NoError(t, w.check())
		r.check(t)
	}
	w.settleAll(t)
}

// left returns the waiters in the queue that have left.
func (w *world) left() (list []*sched.Waiter) {
	for _, x := range w.s.Queued() {
		if w.of(x).state == canceled {
			list = append(list, x)
		}
	}
	return list
}

// come makes a caller enter, an earlier one if nobody is left, and push unless
// that is put off.
func (w *world) come(t chooser, push bool) {
	h := t.choose(w.config.handles, "handle")
	for i := range w.callers {
		if w.again(i, h) && w.enter(i) {
			_ = push && w.push(i)
			return
		}
	}
}

// pick does it to one of the callers that it is possible for.
func (w *world) pick(t chooser, do func(i int) bool) {
	first := t.choose(len(w.callers), "who")
	for i := range w.callers {
		if do((first + i) % len(w.callers)) {
			return
		}
	}
}

// rare is what ends a handle, or all.
func (w *world) rare(t chooser) {
	switch n := t.choose(8, "what"); n {
	case 0:
		w.hint()
	case 1:
		w.close()
	case 2:
		w.fail()
	case 3, 4, 5:
		w.crash()
	default:
		h := n % w.config.handles
		_ = w.leave(h) || w.bar(h)
	}
}

// again makes caller i, whom the owner has forgotten or never knew, a new one
// of handle h.
func (w *world) again(i, h int) bool {
	c := &w.callers[i]
	if c.state != outside && (!c.over() || c.pushed > 0 && !c.free) {
		return false
	}
	c.handle, c.state, c.pushed, c.why, c.free = h, outside, 0, sched.Open, false
	c.Waiter.Reset(&w.handles[h].Handle)
	return true
}

// settleAll lets everybody finish: then all permits are back and nothing is
// kept.
func (w *world) settleAll(t chooser) {
	rest := func() {
		for n := 0; w.step(); n++ {
			require.NoError(t, w.check())
			require.Less(t, n, 10_000, "the owner does not come to rest")
		}
	}
	for i := range w.callers {
		w.push(i)
	}
	for more := true; more; { // those who wait get what is released
		rest()
		more = false
		for i := range w.callers {
			more = w.release(i) || more
		}
	}
	for i := range w.callers {
		c := &w.callers[i]
		require.NotEqual(t, pending, c.state, "caller %d waits, and all permits are back", i)
		// An owner that has ended forgets whom it has not dropped.
		require.True(t, c.state == outside || c.over() || c.state == canceled && w.ended, "caller %d is in state %d", i, c.state)
	}
	require.Equal(t, w.capacity, w.word.Free())
	require.Zero(t, w.s.Len())
	require.Zero(t, w.s.Handles())
	require.True(t, w.box.Empty())
}

// rounds checks the turns of handles after every step: between two grants to a
// handle that stays queued every other one gets at most one, and gets one if it
// stays queued too. To stay is to have a waiter in the queue that was there
// before the step.
type rounds struct {
	w      *world
	queued []*sched.Waiter
	states []int
	others map[int]map[int]int  // since a handle's last grant: the grants to others
	stayed map[int]map[int]bool // and those who have been queued all the time
}

func newRounds(w *world) *rounds {
	return &rounds{w: w, states: make([]int, len(w.callers)), others: make(map[int]map[int]int), stayed: make(map[int]map[int]bool)}
}

func (r *rounds) check(t require.TestingT) {
	if r.w.policy != sched.RoundRobin || r.w.ending {
		return
	}
	now := r.w.s.Queued()
	stays := make([]bool, len(r.w.handles))
	for _, x := range now {
		if slices.Contains(r.queued, x) {
			stays[r.w.party(x.Handle)] = true
		}
	}
	for i := range r.w.callers {
		c := &r.w.callers[i]
		if c.state == held && r.states[i] == pending {
			r.grant(t, c.handle, now)
		}
		r.states[i] = c.state
	}
	for h, stay := range stays {
		if stay {
			continue
		}
		delete(r.others, h)
		for g := range r.stayed {
			delete(r.stayed[g], h)
		}
	}
	r.queued = now
}

func (r *rounds) grant(t require.TestingT, g int, now []*sched.Waiter) {
	if others, ok := r.others[g]; ok {
		for h, n := range others {
			require.LessOrEqual(t, n, 1, "grants to handle %d between two to %d", h, g)
		}
		for h := range r.stayed[g] {
			require.Equal(t, 1, others[h], "grants to handle %d, queued all the time, between two to %d", h, g)
		}
	}
	for h := range r.others {
		if h != g {
			r.others[h][g]++
		}
	}
	r.others[g], r.stayed[g] = make(map[int]int), make(map[int]bool)
	for _, x := range now {
		if h := r.w.party(x.Handle); h != g {
			r.stayed[g][h] = true
		}
	}
}

// FuzzModel plays a script of whole calls beside the reference, or one of
// steps in any order; see [play] and [mingle].
func FuzzModel(f *testing.F) {
	f.Add([]byte{1, 0, 4, 2, 0, 0, 0, 0, 0, 1, 0, 2, 0, 3, 3, 0, 5, 0, 3, 0})
	f.Add([]byte("0 a pool of permits, and another one, and so on"))
	f.Add([]byte("1 a pool of permits, and another one, and so on"))
	f.Add([]byte{0, 0, 6, 2, 0, 1, 5, 0, 5, 1, 4, 5, 1, 5, 1, 2, 13, 0, 3, 5, 2, 13, 0, 0, 11, 1, 2, 13, 3, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &script{t, data[:min(len(data), 400)]}
		mode, steps := s.choose(2, "mode"), len(s.data)/2
		if mode == 1 {
			play(s, min(steps, 120))
		} else {
			mingle(s, steps)
		}
	})
}
