package lease

import (
	"time"

	"github.com/cadre-go/cadre/timer"
)

// source reads a clock as nanoseconds since the pool was made. What a Clock
// panics with fails the pool.
type source struct {
	clock timer.Clock // nil: package time
	base  time.Time   // when the pool was made
	fail  func(where string, value any)
}

// start makes this instant the origin.
func (s *source) start() {
	s.base = time.Now()
	if s.clock == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			s.fail("Clock", v)
		}
	}()
	s.base = s.clock.Now()
}

// now is read by every Acquire.
func (s *source) now() int64 {
	if s.clock == nil {
		return int64(time.Since(s.base))
	}
	return s.foreign()
}

func (s *source) foreign() (now int64) {
	defer func() {
		if v := recover(); v != nil {
			s.fail("Clock", v)
		}
	}()
	return int64(s.clock.Now().Sub(s.base))
}

// newTimer returns a timer of the clock; one that never goes off if the clock
// fails.
func (s *source) newTimer(d time.Duration) (t timer.ClockTimer) {
	if s.clock == nil {
		return realTimer{time.NewTimer(d)}
	}
	defer func() {
		if v := recover(); v != nil {
			s.fail("Clock", v)
			t = noTimer{}
		}
	}()
	return foreignTimer{s.clock.NewTimer(d), s}
}

type realTimer struct{ *time.Timer }

func (t realTimer) C() <-chan time.Time { return t.Timer.C }

// noTimer is the timer of a clock that has failed.
type noTimer struct{}

func (noTimer) C() <-chan time.Time      { return nil }
func (noTimer) Reset(time.Duration) bool { return false }
func (noTimer) Stop() bool               { return false }

// foreignTimer contains the panics of a ClockTimer.
type foreignTimer struct {
	timer.ClockTimer
	source *source
}

func (t foreignTimer) C() (c <-chan time.Time) {
	defer t.contain()
	return t.ClockTimer.C()
}

func (t foreignTimer) Reset(d time.Duration) bool {
	defer t.contain()
	return t.ClockTimer.Reset(d)
}

func (t foreignTimer) Stop() bool {
	defer t.contain()
	return t.ClockTimer.Stop()
}

func (t foreignTimer) contain() {
	if v := recover(); v != nil {
		t.source.fail("Clock", v)
	}
}
