package edge

import (
	"sync"
	"time"

	"github.com/cadre-go/cadre/timer"
)

// clock is a timer.Clock that moves when the test says so.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	armed map[*alarm]time.Time
}

func newClock() *clock { return &clock{now: time.Unix(0, 0), armed: make(map[*alarm]time.Time)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) NewTimer(d time.Duration) timer.ClockTimer {
	a := &alarm{clock: c, ch: make(chan time.Time, 1)}
	a.Reset(d)
	return a
}

// add moves the clock, in one step.
func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for a, at := range c.armed {
		if !at.After(c.now) {
			delete(c.armed, a)
			a.ch <- c.now
		}
	}
}

// alarm is a timer of a clock.
type alarm struct {
	clock *clock
	ch    chan time.Time
}

func (a *alarm) C() <-chan time.Time { return a.ch }

func (a *alarm) Reset(d time.Duration) bool {
	a.clock.mu.Lock()
	defer a.clock.mu.Unlock()
	_, was := a.clock.armed[a]
	a.clock.armed[a] = a.clock.now.Add(d)
	return was
}

func (a *alarm) Stop() bool {
	a.clock.mu.Lock()
	defer a.clock.mu.Unlock()
	_, was := a.clock.armed[a]
	delete(a.clock.armed, a)
	return was
}
