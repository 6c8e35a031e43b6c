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

// Event is what OnEvent is told, some time after it has happened. Slot and Handle
// are zero where they mean nothing.
type Event struct {
	Kind   EventKind
	Pool   string
	ID     uint64 // the pool's
	Handle uint64 // 0 for a double release if somebody else has leased the permit since
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
	over bool       // the pool has ended: nobody takes any more
}

// emit has the owner tell of e. It may be called on any goroutine.
func (c *core[R]) emit(e Event) {
	if c.cfg.OnEvent == nil && e.Kind != EventLeak && e.Kind != EventAbandoned {
		return
	}
	e.Pool, e.ID = c.cfg.Name, c.id
	q := &c.events
	q.mu.Lock()
	taken := len(q.list) < maxEvents && !q.over
	if taken {
		q.list = append(q.list, e)
		q.waiting.Add(1)
	}
	q.mu.Unlock()
	if taken {
		c.box.signal()
	} else {
		c.counts.eventsLost.Add(1)
	}
}

// deliver tells of the oldest event, on the owner, and reports whether there are
// more.
func (c *core[R]) deliver() (more bool) {
	if c.events.waiting.Load() == 0 {
		return false
	}
	q := &c.events
	q.mu.Lock()
	e := q.list[0]
	q.list = q.list[1:]
	if len(q.list) == 0 {
		q.list = nil
	}
	q.waiting.Add(-1)
	q.mu.Unlock()
	c.abroad(func() { c.tell(e) })
	return c.events.waiting.Load() > 0
}

// deliverRest is the owner's last delivery.
func (c *core[R]) deliverRest() {
	q := &c.events
	q.mu.Lock()
	list := q.list
	q.list, q.over = nil, true
	q.waiting.Store(0)
	q.mu.Unlock()
	c.abroad(func() { c.tellAll(list) })
}

// tellAll tells of list, even if one OnEvent ends this goroutine with
// runtime.Goexit: then the deferred call goes on.
func (c *core[R]) tellAll(list []Event) {
	if len(list) == 0 {
		return
	}
	defer func() { c.tellAll(list) }()
	for len(list) > 0 {
		e := list[0]
		list = list[1:]
		c.tell(e)
	}
}

// tell logs e, if it is one for the log, and calls OnEvent, even if the Logger
// ends this goroutine with runtime.Goexit.
func (c *core[R]) tell(e Event) {
	defer func() {
		if c.cfg.OnEvent != nil {
			_ = c.hook("OnEvent", func() { c.cfg.OnEvent(e) })
		}
	}()
	c.record(e)
}

func (c *core[R]) record(e Event) {
	switch e.Kind {
	case EventLeak:
		leak := e.Err.(*LeakError)
		c.log.Warn(context.Background(), "lease: a lease was lost", c.attrs(
			slog.Int("slot", leak.Slot), slog.Uint64("handle", leak.Handle), slog.Duration("age", leak.Age),
			slog.Bool("reclaimed", leak.Reclaimed), slog.String("stack", string(leak.Stack)))...)
	case EventAbandoned:
		c.log.Warn(context.Background(), "lease: pool became unreachable without Close", c.attrs()...)
	}
}

// discarded counts and tells of a resource that the lease of a handle made dirty.
func (c *core[R]) discarded(slot int, handle uint64, cause error) {
	c.counts.discards.Add(1)
	c.emit(Event{Kind: EventDiscard, Slot: slot, Handle: handle, Err: cause})
}

// releasedTwice counts and tells of a release too many.
func (c *core[R]) releasedTwice(l Lease[R]) {
	c.counts.doubleReleases.Add(1)
	c.emit(Event{Kind: EventDoubleRelease, Slot: l.Slot(), Handle: l.lastHolder()})
}
