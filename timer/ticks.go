package timer

import (
	"context"
	"math"
	"time"

	"github.com/cadre-go/cadre/internal/lazyctx"
	"github.com/cadre-go/cadre/internal/tie"
	"github.com/cadre-go/cadre/timer/internal/schedule"
)

// ticks is what a Ticker has in the timer. Unlike a delay it goes back into the
// queue after each run; while a run is in progress it is in core.aside.
type ticks struct {
	core *core
	done chan struct{}
	run  func(done func()) bool

	// Under core.mu. Invariant: done is closed when series is stopped and
	// does not run.
	node   schedule.Node
	series schedule.Series
	serial uint64 // of the latest run, refused ones included

	tie tie.Tie // to the context; never touched under core.mu
}

// every makes a ticker whose runs begin on the timer's goroutine and end when
// they call done, from wherever; run returns false if it could not start one.
func (t *Timer) every(ctx context.Context, interval time.Duration, run func(done func()) bool) (*Ticker, error) {
	c := t.core
	if c == nil || c.closed.Load() {
		return nil, t.error(ErrClosed)
	}
	if ctx.Err() != nil {
		return nil, c.ended(ctx)
	}
	ticker := &Ticker{ticks{core: c, done: make(chan struct{}), run: run}}
	k := &ticker.ticks
	k.series = schedule.NewSeries(c.source.now(), int64(interval))
	if err := c.add(k, k.series.Next()); err != nil {
		return nil, err
	}
	// From here on the ticker may run, be stopped or be closed at any time.
	k.tie.To(ctx, lazyctx.Func(func(error) { contained(k.end) }))
	return ticker, nil
}

// end stops the ticks.
func (k *ticks) end() {
	now := k.core.source.now()
	k.core.mu.Lock()
	k.endLocked(now)
	k.core.mu.Unlock()
	k.tie.Cut()
}

func (k *ticks) endLocked(now int64) {
	if k.series.Stopped() {
		return
	}
	k.series.Stop(now)
	k.core.queue.Remove(k)
	delete(k.core.aside, k)
	if !k.series.Running() {
		close(k.done)
	}
}

func (k *ticks) Scheduled() *schedule.Node { return &k.node }

// popLocked decides that a tick becomes a run.
func (k *ticks) popLocked(now int64) bool {
	if !k.series.Begin(now) { // the clock was set back
		k.core.queue.Push(k, k.series.Next())
		return false
	}
	k.serial++
	k.core.aside[k] = struct{}{}
	return true
}

func (k *ticks) fire(time.Time) {
	serial := k.serial // written by this goroutine alone
	if !k.run(func() { k.runEnded(serial, true) }) {
		k.runEnded(serial, false)
	}
}

// runEnded ends a run, once, and schedules the next one. This must not depend
// on the clock, which may panic.
func (k *ticks) runEnded(serial uint64, ran bool) {
	now := int64(math.MinInt64)
	defer func() { k.reschedule(serial, ran, now) }()
	now = k.core.source.now()
}

func (k *ticks) reschedule(serial uint64, ran bool, now int64) {
	k.core.mu.Lock()
	defer k.core.mu.Unlock()
	if serial != k.serial || !k.series.Running() {
		return
	}
	if ran {
		k.series.End(now)
	} else {
		k.series.Refuse()
	}
	if k.series.Stopped() {
		close(k.done)
		return
	}
	delete(k.core.aside, k)
	k.core.pushLocked(k, k.series.Next())
}

func (k *ticks) closeLocked(now int64) { k.endLocked(now) }

func (k *ticks) finish() failure {
	return failure{snapshot{ctx: context.Background()}, k.tie.Cut}
}
