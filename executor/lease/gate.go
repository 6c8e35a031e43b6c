package lease

import (
	"sync/atomic"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

// gate is the one word that says whether a permit may be taken. It has a cache
// line of its own: every acquisition and every release writes it.
type gate struct {
	_    [64]byte
	word atomic.Uint64
	_    [56]byte
}

func (g *gate) load() sched.Word { return sched.Word(g.word.Load()) }

// take takes a permit unless somebody waits for one, and returns its turn.
func (g *gate) take() (turn uint64, ok bool) {
	for {
		w := g.load()
		next, ok := w.Take()
		if !ok {
			return 0, false
		}
		if g.word.CompareAndSwap(uint64(w), uint64(next)) {
			return w.Turn(), true
		}
	}
}

// takeFirst is the owner's take.
func (g *gate) takeFirst() (turn uint64, ok bool) {
	for {
		w := g.load()
		next, ok := w.TakeFirst()
		if !ok {
			return 0, false
		}
		if g.word.CompareAndSwap(uint64(w), uint64(next)) {
			return w.Turn(), true
		}
	}
}

// put gives a permit back, and returns the gate as it is then.
func (g *gate) put() sched.Word {
	return sched.Word(g.word.Add(uint64(sched.Word(0).Put())))
}

// update changes the flags of the gate.
func (g *gate) update(change func(sched.Word) sched.Word) {
	for {
		w := g.load()
		if g.word.CompareAndSwap(uint64(w), uint64(change(w))) {
			return
		}
	}
}

// demand sets or clears the demand. The mailbox's lock is held.
func (g *gate) demand(on bool) {
	if g.load().Demand() != on {
		g.update(func(w sched.Word) sched.Word { return w.WithDemand(on) })
	}
}
