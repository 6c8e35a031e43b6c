package supervised

import (
	"sync"

	"github.com/cadre-go/cadre/internal/goid"
)

// goroutines counts the goroutines of a pool, its timer's among them, and
// knows which they are.
type goroutines struct {
	count   sync.Mutex // protects what follows; nothing is called under it
	alive   int
	ids     map[uint64]int // of those that run foreign code, the timer's aside, and how often each is counted
	waiting map[uint64]int // of those that are inside a call of Wait
	changed chan struct{}  // closed and replaced when one of these changes
	ended   bool           // the last one has ended; there will be no other
	done    chan struct{}
}

func (g *goroutines) init() {
	g.alive = 1 // the timer's
	g.ids = make(map[uint64]int)
	g.waiting = make(map[uint64]int)
	g.changed = make(chan struct{})
	g.done = make(chan struct{})
}

// enter counts a goroutine that is about to start. It returns false if the last
// one has ended, after which there is no other.
func (g *goroutines) enter() bool {
	g.count.Lock()
	defer g.count.Unlock()
	if g.ended {
		return false
	}
	g.alive++
	return true
}

// register makes the calling goroutine, which has been counted, known as one of
// the pool's, and returns what to call as the last thing on it. A worker whose
// Launch runs it on the launching goroutine makes that known twice.
func (g *goroutines) register() (leave func()) {
	forget := g.know()
	return func() {
		forget()
		g.leave()
	}
}

// know is register for a goroutine that somebody else counts.
func (g *goroutines) know() (forget func()) {
	id := goid.ID()
	g.count.Lock()
	defer g.count.Unlock()
	g.ids[id]++
	return func() {
		g.count.Lock()
		defer g.count.Unlock()
		if g.ids[id]--; g.ids[id] == 0 {
			delete(g.ids, id)
		}
	}
}

// leave takes back what enter has counted.
func (g *goroutines) leave() {
	g.count.Lock()
	g.leaveLocked()
	g.count.Unlock()
}

func (g *goroutines) leaveLocked() {
	g.alive--
	g.changedLocked()
	if g.alive == 0 {
		g.ended = true
		close(g.done)
	}
}

func (g *goroutines) changedLocked() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// own reports whether goroutine id is one of those registered.
func (g *goroutines) own(id uint64) bool {
	g.count.Lock()
	defer g.count.Unlock()
	return g.ids[id] > 0
}

// inside notes that goroutine id waits for the others, until it calls leave.
func (g *goroutines) inside(id uint64) (leave func()) {
	g.count.Lock()
	defer g.count.Unlock()
	g.waiting[id]++
	g.changedLocked()
	return func() {
		g.count.Lock()
		defer g.count.Unlock()
		if g.waiting[id]--; g.waiting[id] == 0 {
			delete(g.waiting, id)
		}
	}
}

// others returns how many goroutines there are that do not wait inside, the
// timer's aside, which ends after all others, and what tells of a change.
func (g *goroutines) others() (n int, changed <-chan struct{}) {
	g.count.Lock()
	defer g.count.Unlock()
	n = g.alive - 1
	for id := range g.waiting {
		n -= g.ids[id]
	}
	return n, g.changed
}
