package lease

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
)

// EventKind says what an [Event] is about.
type EventKind uint8

const (
	EventClosing       EventKind = iota // the pool is about to end
	EventClosed                         // the pool has ended, as closed
	EventFailed                         // the pool has ended, as failed; Err is the failure
	EventSaturated                      // an Acquire was refused: too many wait
	EventDoubleRelease                  // a lease was released again
	EventLeak                           // a lease was lost; Err is a *LeakError
	EventDiscard                        // a resource was found dirty; Err is the cause
	EventAbandoned                      // the pool became unreachable without Close
	eventKinds
)

func (k EventKind) String() string {
	names := [eventKinds]string{"closing", "closed", "failed", "saturated", "double release", "leak", "discard", "abandoned"}
	if k >= eventKinds {
		return fmt.Sprintf("EventKind(%d)", uint8(k))
	}
	return names[k]
}

// Event is what OnEvent is told. Slot and Handle are zero where they mean
// nothing.
type Event struct {
	Kind   EventKind
	Pool   string
	ID     uint64 // the pool's
	Handle uint64
	Slot   int
	Err    error
}

// maxEvents bounds the events that wait for the owner.
const maxEvents = 256

// events is what the owner has not delivered yet.
type events struct {
	waiting atomic.Int64

	mu   sync.Mutex // protects what follows; no foreign code runs under it
	list []Event    // at most maxEvents
	over bool       // the owner takes no more
}

// emit has the owner tell of e. It may be called on any goroutine.
func (c *core[R]) emit(e Event) {
	if c.cfg.OnEvent == nil && e.Kind != EventLeak && e.Kind != EventAbandoned {
		return
	}
	e.Pool, e.ID = c.cfg.Name, c.id
	q := &c.events
	q.mu.Lock()
	room := len(q.list) < maxEvents
	taken := room && !q.over
	if taken {
		q.list = append(q.list, e)
		q.waiting.Add(1)
	}
	lost := !room && !q.over
	q.mu.Unlock()
	if lost {
		c.counts.eventsLost.Add(1)
	}
	if taken {
		c.box.signal()
	}
}

// deliver tells of what has happened, on the owner.
func (c *core[R]) deliver() {
	for c.events.waiting.Load() > 0 {
		q := &c.events
		q.mu.Lock()
		e := q.list[0]
		q.list = q.list[1:]
		if len(q.list) == 0 {
			q.list = nil
		}
		q.waiting.Add(-1)
		q.mu.Unlock()
		c.tell(e)
	}
}

// tell logs e, if it is one for the log, and calls OnEvent.
func (c *core[R]) tell(e Event) {
	switch e.Kind {
	case EventLeak:
		leak := e.Err.(*LeakError)
		c.log.Warn(context.Background(), "lease: a lease was lost", c.attrs(
			slog.Int("slot", leak.Slot), slog.Uint64("handle", leak.Handle), slog.Duration("age", leak.Age),
			slog.Bool("reclaimed", leak.Reclaimed), slog.String("stack", string(leak.Stack)))...)
	case EventAbandoned:
		c.log.Warn(context.Background(), "lease: pool became unreachable without Close", c.attrs()...)
	}
	if c.cfg.OnEvent != nil {
		_ = c.hook("OnEvent", func() { c.cfg.OnEvent(e) })
	}
}

// discarded counts and tells of a resource that a lease made dirty.
func (c *core[R]) discarded(l Lease[R], cause error) {
	c.counts.discards.Add(1)
	c.emit(Event{Kind: EventDiscard, Slot: l.Slot(), Err: cause})
}

// releasedTwice counts and tells of a release too many.
func (c *core[R]) releasedTwice(l Lease[R]) {
	c.counts.doubleReleases.Add(1)
	c.emit(Event{Kind: EventDoubleRelease, Slot: l.Slot()})
}
