package lease

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

// NewTest is New with what tests may set: slow has every Acquire go by way of
// the owner, probe is called at points inside.
func NewTest[R any](cfg Config[R], slow bool, probe func(point string)) (*Pool[R], error) {
	return newPool(cfg, options{slow: slow, probe: probe})
}

// CheckConfig is what New asks of a Config.
func CheckConfig[R any](cfg Config[R]) error { return cfg.validate() }

// MaxSpare bounds the waiters that a pool keeps for use again.
const MaxSpare = maxSpare

// Spare returns how many waiters a mailbox keeps that got some back and then
// lent some, or -1 if it miscounts them.
func Spare(back, lent int) int {
	var m mailbox
	m.init(new(gate), nil)
	for range back {
		m.recycle(newWaiter())
	}
	for range lent {
		m.push(new(party))
	}
	n := 0
	for w := m.spare; w != nil; w = w.spare {
		n++
	}
	if n != m.spares {
		return -1
	}
	return n
}

// Left returns the number of waiters that have left, and that the owner has not
// taken note of.
func (p *Pool[R]) Left() int { return int(p.anchor.core.box.left.Load()) }

// Hint wakes the owner for nothing.
func (p *Pool[R]) Hint() { p.anchor.core.box.signal() }

// Fail fails the pool as a hook that panics does.
func (p *Pool[R]) Fail() { _ = p.anchor.core.fail("test", errors.New("boom")) }

// GateFree returns the gate's count of free permits; it takes no lock.
func (p *Pool[R]) GateFree() int { return p.anchor.core.gate.load().Free() }

// Boxed returns the number of acquisitions in the mailbox.
func (p *Pool[R]) Boxed() int {
	m := &p.anchor.core.box
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.box.Len()
}

// BoxDead reports whether the mailbox takes nothing any more.
func (p *Pool[R]) BoxDead() bool {
	m := &p.anchor.core.box
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.box.Leave(new(sched.Handle))
}

// BoxLocked reports whether somebody holds the mailbox's lock.
func (p *Pool[R]) BoxLocked() bool {
	m := &p.anchor.core.box
	if m.mu.TryLock() {
		m.mu.Unlock()
		return false
	}
	return true
}

// Watch closes gone when the pool's core has been collected.
func (p *Pool[R]) Watch(gone chan struct{}) {
	runtime.AddCleanup(p.anchor.core, func(gone chan struct{}) { close(gone) }, gone)
}

// Check returns what is wrong with a pool in which nothing is going on, or nil.
func (p *Pool[R]) Check() error { return p.anchor.core.check() }

func (c *core[R]) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	w, free, alive := c.gate.load(), 0, 0
	for i := range c.slots {
		s := &c.slots[i]
		s.mu.Lock()
		if s.held < 0 || s.held > c.cfg.PermitsPerSlot || s.leased < 0 || s.leased > s.held {
			bad("slot %d: %d permits are held, %d of them leased", i, s.held, s.leased)
		}
		free += c.cfg.PermitsPerSlot - s.held
		spare, taken, users := 0, 0, make(map[*incarnation[R]]int)
		for j := s.spare; j >= 0; j = c.permit(ticket{int32(i), j}).next {
			spare++
		}
		for j := range c.cfg.PermitsPerSlot {
			p := c.permit(ticket{int32(i), int32(j)})
			if p.taken {
				taken++
			}
			if p.inc != nil {
				users[p.inc]++
			}
		}
		if spare != c.cfg.PermitsPerSlot-s.held || taken != s.held {
			bad("slot %d: %d permits are held, %d spare, %d taken", i, s.held, spare, taken)
		}
		condemned := 0
		for inc, n := range users {
			if inc.users != n {
				bad("slot %d: a resource has %d users, and counts %d", i, n, inc.users)
			}
			if inc.condemned == (s.cur == inc) {
				bad("slot %d: a resource is both current and condemned, or neither", i)
			}
			if inc.condemned {
				condemned++
				alive++
			}
		}
		if condemned != s.condemned {
			bad("slot %d: %d resources are condemned and in use, counted as %d", i, condemned, s.condemned)
		}
		if s.cur != nil {
			alive++
			if s.cur.condemned || s.cur.users != users[s.cur] {
				bad("slot %d: the current resource is condemned, or miscounts its users", i)
			}
		}
		for inc := s.parked; inc != nil; inc = inc.next {
			alive++
			if !inc.condemned || inc.users > 0 || users[inc] > 0 {
				bad("slot %d: a parked resource is in use", i)
			}
		}
		view := s.view.Load()
		if s.spare >= 0 && view&viewFree == 0 {
			bad("slot %d hides a free permit", i)
		}
		if warm := view&viewWarm != 0; warm != (s.cur != nil) {
			bad("slot %d: shown as warm is %v", i, warm)
		}
		s.mu.Unlock()
	}
	if w.Free() != free {
		bad("the gate has %d permits, the slots %d", w.Free(), free)
	}
	if int(c.alive.Load()) != alive {
		bad("%d resources are alive, counted as %d", alive, c.alive.Load())
	}
	return errors.Join(errs...)
}
