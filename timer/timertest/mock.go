// Package timertest has a clock for tests that moves when the test says so.
//
//	mock := timertest.NewMock()
//	t, err := timer.New(timer.Config{Clock: mock})
//	...
//	timertest.Advance(tb, mock, t, time.Minute)
//
// A test that needs no clock of its own can use testing/synctest instead: a
// timer with a nil Clock works in a bubble.
package timertest

import (
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/cadre-go/cadre/timer"
	"github.com/cadre-go/cadre/timer/benclock"
)

// Mock is the mock of github.com/benbjohnson/clock as a [timer.Clock]. It
// begins at the Unix epoch and stands still until it is moved. Any goroutine
// may read it and make timers; only one at a time may move it.
type Mock struct {
	mock  *clock.Mock
	clock timer.Clock // the same

	mu    sync.Mutex // protects what follows
	armed map[*mockTimer]time.Time
}

// NewMock returns a mock clock.
func NewMock() *Mock {
	m := clock.NewMock()
	return &Mock{mock: m, clock: benclock.Wrap(m), armed: make(map[*mockTimer]time.Time)}
}

// Now returns the mock's time.
func (m *Mock) Now() time.Time { return m.mock.Now() }

// Add moves the clock by d, which may be negative. Timers whose time has come
// go off on the way. What they start may not have happened when Add returns:
// Sync a timer, or use [Advance].
func (m *Mock) Add(d time.Duration) { m.mock.Add(d) }

// Set moves the clock to at, like [Mock.Add].
func (m *Mock) Set(at time.Time) { m.mock.Set(at) }

// NewTimer returns a timer that goes off when the clock has moved by d.
func (m *Mock) NewTimer(d time.Duration) timer.ClockTimer {
	at := m.Now().Add(d)
	t := &mockTimer{ClockTimer: m.clock.NewTimer(d), mock: m}
	m.arm(t, at)
	return t
}

// mockTimer keeps the mock's account of what is armed.
type mockTimer struct {
	timer.ClockTimer
	mock *Mock
}

func (t *mockTimer) Reset(d time.Duration) bool {
	at := t.mock.Now().Add(d)
	active := t.ClockTimer.Reset(d)
	t.mock.arm(t, at)
	return active
}

func (t *mockTimer) Stop() bool {
	active := t.ClockTimer.Stop()
	t.mock.mu.Lock()
	defer t.mock.mu.Unlock()
	delete(t.mock.armed, t)
	return active
}

func (m *Mock) arm(t *mockTimer, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.armed[t] = at
}

// next returns the earliest time after now for which a timer is armed. One
// whose time has come has gone off.
func (m *Mock) next() (at time.Time, ok bool) {
	now := m.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for t, due := range m.armed {
		if !due.After(now) {
			delete(m.armed, t)
		} else if !ok || due.Before(at) {
			at, ok = due, true
		}
	}
	return at, ok
}
