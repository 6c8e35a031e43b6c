package timer

import (
	"context"
	"log/slog"
	"math"
	"runtime/debug"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/timer/internal/schedule"
)

// loop is the timer's goroutine: it fires what is due and parks on the nearest
// deadline. The loop outlives the goroutine if a callback calls Goexit; only
// one goroutine at a time is in it.
type loop struct {
	*core
	alarm  alarm
	sick   bool // the clock failed: it is not asked again at once
	firing bool // a Goexit now is a callback's, not the clock's

	// since is how many entries there had been when a foreign clock was read.
	since uint64

	// Of a clock that may fail: its last reading, when that was by package
	// time, and how long it was left alone since.
	seen   int64
	seenAt time.Time
	pause  time.Duration
}

func (l *loop) serve() {
	for l.round() {
	}
	l.callFailures()
}

// round fires what is due and parks until there may be more. It returns false
// when the timer leaves.
func (l *loop) round() (more bool) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil && l.firing {
			return // a callback's Goexit, which is reported
		}
		l.clockFailed(v)
		more = true
	}()
	l.firing = false
	more = l.look()
	returned = true
	return more
}

func (l *loop) look() (more bool) {
	if l.sick && !l.leaves() {
		l.leaveAlone()
	}
	l.sick = false
	looks, leaving := l.unpark()
	for again := 0; !leaving; again++ {
		var now, next int64
		now, next, leaving = l.fireDue()
		if !leaving && l.arm(now, next, again) {
			break
		}
	}
	if leaving {
		a := l.alarm
		l.alarm = alarm{} // so that off is not tried again if it fails
		a.off()
		return false
	}
	l.answer(looks)
	select {
	case <-l.wake:
	case <-l.alarm.C():
	}
	return true
}

// leaves reports whether the shutdown has begun; it kicks after that.
func (c *core) leaves() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leaving
}

// unpark makes new entries come without a kick, takes the kick of those that
// have come, and returns which syncs the look that begins now can answer. It
// tells of the shutdown before the clock, which may fail, is asked.
func (c *core) unpark() (looks uint64, leaving bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = math.MinInt64
	select {
	case <-c.wake:
	default:
	}
	return c.looks, c.leaving
}

// fireDue fires what is due, until a reading of the clock finds nothing: it
// returns that reading and the next deadline.
func (l *loop) fireDue() (now, next int64, leaving bool) {
	for {
		at, now := l.read()
		again := false
		for {
			j, next, leaving, stale := l.pop(now, l.since)
			if j == nil {
				if leaving || !again && !stale {
					return now, next, leaving
				}
				break
			}
			l.firing = true
			j.fire(at)
			l.firing = false
			again = true
		}
	}
}

// read reads the clock. A foreign one may be set back after that, so an entry
// that comes later is not compared with this reading: see pop.
func (l *loop) read() (at time.Time, now int64) {
	if l.source.clock == nil {
		l.since = math.MaxUint64
		return l.source.read()
	}
	l.mu.Lock()
	l.since = l.queue.Pushed()
	l.mu.Unlock()
	at, now = l.source.read()
	l.seen, l.seenAt, l.pause = now, time.Now(), 0
	return at, now
}

// pop takes out one job that is due. The others stay in the queue, and so can
// be canceled, however long this one takes. If none is due it parks: a new
// entry due before next kicks from then on. If the first that is due has come
// since the clock was read, the reading is stale for it.
func (c *core) pop(now int64, since uint64) (j job, next int64, leaving, stale bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.leaving {
		if next := c.queue.Next(); next > now || next == schedule.Never {
			c.armed = next
			return nil, next, false, false
		}
		if c.queue.Newer(since) {
			return nil, 0, false, true
		}
		if j, _ := c.queue.Pop(now); j.popLocked(now) {
			return j, 0, false, false
		}
	}
	return nil, 0, true, false
}

// arm sets the alarm to next. It returns false if the clock has moved
// meanwhile: a mock that moves between the reading and the arming has its
// timer go off late by that much, or has nothing to go off for. A clock that
// runs by itself always moves, so this is tried again, but not for ever.
func (l *loop) arm(now, next int64, again int) bool {
	if next == schedule.Never {
		l.alarm.off()
		return true
	}
	if !l.alarm.set(&l.source, time.Duration(schedule.Until(now, next))) {
		return false
	}
	if l.source.clock == nil {
		return true
	}
	switch then := l.source.now(); {
	case then == now:
		return true
	case then >= next:
		return false
	default:
		return again >= 2
	}
}

// leaveAlone waits until a clock that failed is asked again: when the timer is
// used, or when the nearest deadline has come by package time, so that none is
// lost; if it fails again, after twice as long each time.
func (l *loop) leaveAlone() {
	l.mu.Lock()
	next := l.queue.Next()
	l.mu.Unlock()
	if next == schedule.Never {
		<-l.wake
		return
	}
	var left time.Duration
	if next > l.seen {
		left = time.Duration(schedule.Until(l.seen, next)) - time.Since(l.seenAt)
	}
	l.pause = max(left, 2*min(l.pause, math.MaxInt64/2), time.Millisecond)
	t := time.NewTimer(l.pause)
	defer t.Stop()
	select {
	case <-l.wake:
	case <-t.C:
	}
}

// clockFailed reports that the clock panicked, or ended the goroutine. Asked
// again at once it would fail again, and again.
func (l *loop) clockFailed(panicked any) {
	l.sick = true
	l.mu.Lock()
	l.armed = schedule.Never // every new entry kicks
	l.mu.Unlock()
	attrs := []slog.Attr{slog.String("timer", l.name)}
	if panicked == nil {
		attrs = append(attrs, slog.Any("error", future.ErrGoexit))
	} else {
		attrs = append(attrs, slog.Any("panic", panicked), slog.String("stack", string(debug.Stack())))
	}
	l.log.Error(context.Background(), "timer: the clock failed", attrs...)
}
