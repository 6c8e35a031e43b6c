package executor

import (
	"runtime"
	"time"

	"github.com/cadre-go/cadre/diagnostics"
)

// Stats is one consistent reading of a pool. At every instant
//
//	Attempted = Accepted + Rejected
//	Accepted  = Queued + Running + Finished + Panicked + Exited + Skipped + Discarded
type Stats struct {
	Name             string
	Size, QueueLimit int
	Workers          int // goroutines that serve the queue: Size until shutdown
	Queued           int // accepted tasks beyond those that have a worker
	Running          int // tasks that have a worker, if only just, or a stand-in
	Lent             int // of these, tasks on a stand-in; Running - Lent <= Size

	Attempted uint64 // posts decided, of whatever kind
	Accepted  uint64
	Rejected  uint64
	Finished  uint64 // the function returned, with an error or without
	Panicked  uint64
	Exited    uint64 // the function called runtime.Goexit
	Skipped   uint64 // canceled while queued
	Discarded uint64 // given up by a shutdown
}

func (c *core) stats() Stats {
	if c == none { // shared by all zero Pools, and so with no history of any
		return Stats{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, x := c.queue.both() // everything that is not under mu, at one instant
	taken := places(e, x)
	workers := 0
	for _, w := range c.workers {
		if !w.gone {
			workers++
		}
	}
	onWorkers := min(taken, c.Size)
	s := Stats{
		Name: c.Name, Size: c.Size, QueueLimit: c.QueueLimit, Workers: workers,
		Queued:   taken - onWorkers,
		Running:  onWorkers - c.settling + c.lent,
		Lent:     c.lent,
		Accepted: e.ticket() + c.direct,
		Rejected: c.rejected.Load(),
		Panicked: c.ends[panicked], Exited: c.ends[exited],
		Skipped: c.ends[skipped], Discarded: c.ends[discarded],
	}
	s.Attempted = s.Accepted + s.Rejected
	s.Finished = s.Accepted - uint64(s.Queued+s.Running) - s.Panicked - s.Exited - s.Skipped - s.Discarded
	return s
}

func (c *core) running() []TaskInfo {
	now := c.now() // a foreign clock is not called under the lock
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runningLocked(now)
}

// left is running for a pool in which nothing is queued any more. Every task
// either is in the list or shows its outcome: it waits for workers that are
// about to say what they run, or to show how it ended.
func (c *core) left() []TaskInfo {
	for {
		now := c.now()
		c.mu.Lock()
		e, x := c.queue.both()
		infos := c.runningLocked(now)
		// If no worker has moved on meanwhile, the list and the count are of
		// one instant; else one may have ended, and another begun unseen.
		still := c.queue.in() == e && c.queue.out() == x
		held := places(e, x) - c.settling + c.lent
		shown := c.endsShowLocked()
		c.mu.Unlock()
		if still && len(infos) >= held && shown {
			return infos
		}
		runtime.Gosched()
	}
}

// endsShowLocked reports whether every task that has been accounted for shows
// its outcome.
func (c *core) endsShowLocked() bool {
	for _, w := range c.workers {
		if !w.seat.endShows() {
			return false
		}
	}
	for g := c.guests.first; g != nil; g = g.next {
		if !g.seat.endShows() {
			return false
		}
	}
	return true
}

func (s *seat) endShows() bool {
	l := s.ending.Load()
	if l == nil {
		return true
	}
	p, ok := l.Producer.(interface{ shows() bool })
	return !ok || p.shows()
}

func (c *core) runningLocked(now time.Duration) []TaskInfo {
	var infos []TaskInfo
	for _, w := range c.workers {
		infos = w.seat.describe(infos, now)
	}
	for g := c.guests.first; g != nil; g = g.next {
		infos = g.seat.describe(infos, now)
	}
	return infos
}

// describe appends what s runs.
func (s *seat) describe(infos []TaskInfo, now time.Duration) []TaskInfo {
	t := s.current.Load()
	if t == nil || !t.active() {
		return infos
	}
	age := max(now-time.Duration(s.since.Load()), 0)
	return append(infos, TaskInfo{s.index, diagnostics.Capture(t), age})
}
