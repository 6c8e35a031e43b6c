package sim

import (
	"sync"
	"time"

	"github.com/cadre-go/cadre/timer"
)

// jumpClock is the bubble's clock with an offset that a history changes, both
// ways. A timer goes off at its time by the offset clock if that was set
// forth, and early, as a hint that has to be checked, if it was set back.
type jumpClock struct {
	mu     sync.Mutex
	offset time.Duration
	armed  map[*jumpTimer]bool
}

func newJumpClock() *jumpClock { return &jumpClock{armed: map[*jumpTimer]bool{}} }

func (c *jumpClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *jumpClock) NewTimer(d time.Duration) timer.ClockTimer {
	t := &jumpTimer{clock: c, c: make(chan time.Time, 1)}
	t.t = time.AfterFunc(d, t.fire)
	c.mu.Lock()
	defer c.mu.Unlock()
	t.at = time.Now().Add(c.offset + d)
	c.armed[t] = true
	return t
}

// jump sets the clock by d.
func (c *jumpClock) jump(d time.Duration) {
	c.mu.Lock()
	c.offset += d
	now := time.Now().Add(c.offset)
	var due []*jumpTimer
	for t := range c.armed {
		switch left := t.at.Sub(now); {
		case left <= 0:
			due = append(due, t)
		case d > 0:
			t.t.Reset(left)
		}
	}
	c.mu.Unlock()
	for _, t := range due {
		if t.t.Stop() {
			t.fire()
		}
	}
}

type jumpTimer struct {
	clock *jumpClock
	c     chan time.Time
	t     *time.Timer
	at    time.Time
}

func (t *jumpTimer) fire() {
	select {
	case t.c <- t.clock.Now():
	default:
	}
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	delete(t.clock.armed, t)
}

func (t *jumpTimer) C() <-chan time.Time { return t.c }

func (t *jumpTimer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.at = time.Now().Add(t.clock.offset + d)
	t.clock.armed[t] = true
	return t.t.Reset(d)
}

func (t *jumpTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	delete(t.clock.armed, t)
	return t.t.Stop()
}
