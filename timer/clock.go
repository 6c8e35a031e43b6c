package timer

import (
	"time"
)

// Clock is where a timer gets its time from. Package timer/benclock makes one
// of a github.com/benbjohnson/clock, package timer/timertest one for tests.
//
// Now is called by whoever calls the timer and by its goroutine, NewTimer and
// the ClockTimer's methods by its goroutine and by Close. None is called with
// a lock of the timer's held. A clock that panics on the timer's goroutine is
// reported, and asked again when the timer is next used, or when the nearest
// deadline has come by package time.
type Clock interface {
	Now() time.Time
	// NewTimer returns a timer that goes off when d, always positive, has
	// passed.
	NewTimer(d time.Duration) ClockTimer
}

// ClockTimer is one timer of a Clock, with the methods of [time.Timer]. What it
// sends is a hint: the timer reads the clock before it fires anything.
type ClockTimer interface {
	C() <-chan time.Time
	Reset(d time.Duration) bool
	Stop() bool
}

// source reads a clock as nanoseconds since the timer was made.
type source struct {
	clock Clock     // nil: package time
	base  time.Time // when the timer was made
}

func newSource(clock Clock) source {
	s := source{clock: clock}
	s.base = s.time()
	return s
}

func (s *source) time() time.Time {
	if s.clock == nil {
		return time.Now()
	}
	return s.clock.Now()
}

// now is read by every Delay, and time.Since costs half of time.Now.
func (s *source) now() int64 {
	if s.clock == nil {
		return int64(time.Since(s.base))
	}
	return int64(s.clock.Now().Sub(s.base))
}

// read returns one reading in both forms.
func (s *source) read() (time.Time, int64) {
	t := s.time()
	return t, int64(t.Sub(s.base))
}

func (s *source) newTimer(d time.Duration) ClockTimer {
	if s.clock == nil {
		return realTimer{time.NewTimer(d)}
	}
	return s.clock.NewTimer(d)
}

type realTimer struct{ *time.Timer }

func (t realTimer) C() <-chan time.Time { return t.Timer.C }

// alarm is the one timer that a goroutine parks on. The zero alarm is off.
type alarm struct{ timer ClockTimer }

// set has C deliver when d, which is positive, has passed. It returns false if
// C may have delivered already; then the alarm has to be set again.
//
// A mock clock sends into the channel while it holds its own lock, so an armed
// timer must not have an unread value: the next one would block the clock, and
// Now with it. Stop's result does not tell whether there is one. The mock may
// also have decided to send before Stop and do so after Reset: hence the look
// afterwards.
func (a *alarm) set(s *source, d time.Duration) bool {
	if a.timer == nil {
		a.timer = s.newTimer(d)
		return true
	}
	a.off()
	a.timer.Reset(d)
	return !a.drain()
}

func (a *alarm) off() {
	if a.timer != nil {
		a.timer.Stop()
		a.drain()
	}
}

func (a *alarm) drain() bool {
	select {
	case <-a.timer.C():
		return true
	default:
		return false
	}
}

func (a *alarm) C() <-chan time.Time {
	if a.timer == nil {
		return nil
	}
	return a.timer.C()
}
