// Package benclock makes a [timer.Clock] of a clock of
// github.com/benbjohnson/clock, for programs that pass one around already.
//
// That package is archived upstream. Nothing else in this module shows its
// types, and a program that does not use it has no need for this one.
package benclock

import (
	"time"

	"github.com/benbjohnson/clock"

	"github.com/cadre-go/cadre/timer"
)

// Wrap returns c as a timer's clock. A nil c panics.
func Wrap(c clock.Clock) timer.Clock {
	if c == nil {
		panic("benclock: Wrap of a nil clock")
	}
	return wrapped{c}
}

type wrapped struct{ clock clock.Clock }

func (w wrapped) Now() time.Time { return w.clock.Now() }

func (w wrapped) NewTimer(d time.Duration) timer.ClockTimer {
	return clockTimer{w.clock.Timer(d)}
}

// clockTimer turns the channel, which is a field there, into a method.
type clockTimer struct{ timer *clock.Timer }

func (t clockTimer) C() <-chan time.Time        { return t.timer.C }
func (t clockTimer) Reset(d time.Duration) bool { return t.timer.Reset(d) }
func (t clockTimer) Stop() bool                 { return t.timer.Stop() }
