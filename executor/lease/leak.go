package lease

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// tag is what all copies of a lease point to, and nothing else, if leaks are
// looked for. It is too large for the allocator's tiny blocks, in which it would
// share its fate with others.
type tag struct{ _ [24]byte }

// trace is where a lease came from.
type trace struct {
	stack []byte
	stop  runtime.Cleanup // of the tag
}

func newTrace() *trace { return &trace{stack: debug.Stack()} }

// LeakError is the Err of an [EventLeak].
type LeakError struct {
	Pool string
	LeaseInfo
	Reclaimed bool // the permit is back
}

func (e *LeakError) Error() string {
	return fmt.Sprintf("lease %q: slot %d: a lease was lost after %v", e.Pool, e.Slot, e.Age)
}

// lost is what a tag's cleanup knows of its lease.
type lost[R any] struct {
	permit *permit[R]
	seq    uint64
}

// traceLocked has the collector look at the copies of l. Not in a synctest
// bubble: a cleanup runs outside.
func (c *core[R]) traceLocked(l *Lease[R], tr *trace) {
	l.permit.trace = tr
	if c.bubbled {
		return
	}
	l.tag = &tag{}
	tr.stop = runtime.AddCleanup(l.tag, func(x lost[R]) { x.permit.core.leaked(x) }, lost[R]{l.permit, l.seq})
}

// leaked reports a lease all of whose copies are unreachable, unless it was
// released before.
func (c *core[R]) leaked(x lost[R]) {
	now := c.clock.now()
	l := Lease[R]{permit: x.permit, seq: x.seq}
	s, p := l.lock()
	if s == nil {
		return
	}
	info := p.info(now)
	s.mu.Unlock()
	reclaim := c.cfg.Leak == LeakReclaim
	if reclaim && l.release(true) != nil {
		return
	}
	c.counts.leaks.Add(1)
	c.emit(Event{Kind: EventLeak, Handle: info.Handle, Slot: info.Slot, Err: &LeakError{c.cfg.Name, info, reclaim}})
}
