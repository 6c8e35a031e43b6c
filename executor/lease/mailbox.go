package lease

import (
	"sync"
	"sync/atomic"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

// maxSpare bounds the waiters that are kept for use again.
const maxSpare = 1024

// mailbox is how callers reach the owner: a locked queue and a wake-up.
type mailbox struct {
	gate  *gate
	wake  chan struct{}      // capacity 1, never closed
	probe func(point string) // for tests

	// left counts the waiters that left, or are about to, and that the owner
	// has not taken note of. It is raised before a waiter's state changes, so
	// the owner may read zero only if nobody has left.
	left atomic.Int64

	// mu protects what follows, and every change of the gate's demand. It is
	// held for a few instructions; no foreign code runs under it.
	mu     sync.Mutex
	box    sched.Box
	spare  *waiter
	spares int
}

func (m *mailbox) init(g *gate, probe func(string)) {
	m.gate, m.probe = g, probe
	m.wake = make(chan struct{}, 1)
}

// signal wakes the owner, now or as soon as it parks. Any number of signals
// does what one does.
func (m *mailbox) signal() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// heed takes note of signals that came since the owner was woken: what they
// are about is there, and the turn that begins now sees it.
func (m *mailbox) heed() {
	select {
	case <-m.wake:
	default:
	}
}

// push sends an acquisition for p. It returns nil if the box is dead.
//
// The demand is raised under the lock under which the owner lowers it: with
// either outside, the owner could lower what was raised for this waiter, and
// the next release would wake nobody.
func (m *mailbox) push(p *party) *waiter {
	m.mu.Lock()
	w := m.spare
	if w != nil {
		m.spare, w.spare = w.spare, nil
		m.spares--
	} else {
		w = newWaiter()
	}
	w.Reset(&p.Handle)
	w.party = p
	w.state.Store(pending)
	ok := m.box.Push(&w.Waiter)
	if ok {
		m.gate.demand(true)
	}
	m.mu.Unlock()
	if !ok {
		return nil
	}
	m.signal()
	return w
}

// leave takes w out for its caller. It returns false if w was settled first.
func (m *mailbox) leave(w *waiter) bool {
	m.left.Add(1)
	m.mu.Lock()
	won := w.state.CompareAndSwap(pending, canceled)
	mine := won && m.box.Cancel(&w.Waiter)
	if mine {
		m.recycleLocked(w)
	}
	m.mu.Unlock()
	if !won || mine {
		m.left.Add(-1)
	}
	if won && !mine {
		m.signal()
	}
	return won
}

// deregister tells the owner that p was closed.
func (m *mailbox) deregister(p *party) {
	m.mu.Lock()
	ok := m.box.Leave(&p.Handle)
	m.mu.Unlock()
	if ok {
		m.signal()
	}
}

// recycle takes a waiter that nobody has.
func (m *mailbox) recycle(w *waiter) {
	m.mu.Lock()
	m.recycleLocked(w)
	m.mu.Unlock()
}

func (m *mailbox) recycleLocked(w *waiter) {
	w.state.Store(idle)
	w.party = nil
	w.Reset(nil)
	if m.spares < maxSpare {
		w.spare, m.spare = m.spare, w
		m.spares++
	}
}

// The owner's side.

// next takes out one command; neither if there is none.
func (m *mailbox) next() (*sched.Handle, *waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, w := m.box.Next()
	if w == nil {
		return h, nil
	}
	return h, w.Caller.(*waiter)
}

// nextCanceled takes out one waiter that left behind the owner's back.
func (m *mailbox) nextCanceled() *waiter {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.box.Canceled()
	if w == nil {
		return nil
	}
	m.left.Add(-1)
	return w.Caller.(*waiter)
}

// calm lowers the demand, unless there is a command. It returns false if there
// is one.
func (m *mailbox) calm(queued int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.box.Empty() {
		return false
	}
	if queued == 0 {
		if m.probe != nil {
			m.probe("calm")
		}
		m.gate.demand(false)
	}
	return true
}

func (m *mailbox) kill() {
	m.mu.Lock()
	m.box.Kill()
	m.mu.Unlock()
}
