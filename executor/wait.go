package executor

import (
	"context"

	"github.com/cadre-go/cadre/internal/frame"
)

// waiter is a task that waits for room in the queue.
type waiter struct {
	task       *task
	decided    func(err error) // called once, outside of the lock; nil means accepted
	next, prev *waiter
}

// waiters is the list of them, the oldest first. While it is not empty the gate
// is slow, so a place that comes free is theirs.
//
// Invariant: the task of a waiter in the list, and of no other, is waiting.
type waiters struct{ first, last *waiter }

func (l *waiters) add(w *waiter) {
	w.task.word.Store(waiting)
	w.prev = l.last
	if l.last != nil {
		l.last.next = w
	} else {
		l.first = w
	}
	l.last = w
}

// remove takes w out, whose task goes on as state.
func (l *waiters) remove(w *waiter, state uint64) {
	w.task.word.Store(state)
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		l.last = w.prev
	}
	w.next, w.prev = nil, nil
}

// postWhenRoom posts j as soon as there is room, in turn with others that
// wait. decided is called with nil when it is accepted, or with why it never
// will be; now, or on the goroutine that brings it about. It returns the
// waiter, if it has to wait, for withdraw.
func (c *core) postWhenRoom(ctx context.Context, t *task, j job, decided func(error)) *waiter {
	for {
		if err := c.post(ctx, t, j); err != c.errFull {
			decided(err)
			return nil
		}
		task, _ := c.prepare(ctx, t, j) // calls foreign contexts, so not under the lock
		w := &waiter{task: task, decided: decided}
		c.mu.Lock()
		c.queue.slow()
		e := c.queue.in()
		if e.closed() || c.waiters.first == nil && c.queue.room(e) != full {
			c.fastLocked() // it changed before it could be noticed that somebody waits
			c.mu.Unlock()
			continue
		}
		c.waiters.add(w)
		c.mu.Unlock()
		c.lookAgain() // a wait may lend its slot to what waits for room
		return w
	}
}

// withdraw takes w out of the line, and returns false if it has been decided.
func (c *core) withdraw(w *waiter) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.task.state() != waiting {
		return false
	}
	c.waiters.remove(w, fresh)
	c.fastLocked()
	return true
}

// postersWait reports whether others wait for room. It follows up on a slow
// gate.
func (c *core) postersWait() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fastLocked()
	return c.waiters.first != nil
}

// grant gives free places to those who wait for them.
func (c *core) grant() {
	for {
		c.mu.Lock()
		w := c.waiters.first
		if w == nil {
			c.fastLocked()
			c.mu.Unlock()
			return
		}
		e := c.queue.in()
		room := c.queue.room(e)
		if e.closed() || room == full {
			c.mu.Unlock()
			return
		}
		if room == cramped {
			c.queue.compact()
		}
		if !c.queue.admit(e) { // it has closed meanwhile
			c.mu.Unlock()
			continue
		}
		c.waiters.remove(w, fresh)
		c.queue.push(w.task, e.ticket())
		c.mu.Unlock()
		c.admitted(true)
		w.decided(nil)
	}
}

// takeWaiterLocked accepts the task of a waiter for a stand-in, without a
// place. It returns the waiter's decided, to be called outside of the lock, or
// nil if t is not waiting.
func (c *core) takeWaiterLocked(t *task) (decided func(error)) {
	if c.queue.in().closed() {
		return nil
	}
	for w := c.waiters.first; w != nil; w = w.next {
		if w.task == t {
			c.waiters.remove(w, lent)
			c.fastLocked()
			c.direct++
			return w.decided
		}
	}
	return nil
}

// refuseWaiters tells those who wait that the pool has closed.
func (c *core) refuseWaiters() {
	c.mu.Lock()
	first := c.waiters.first
	for w := first; w != nil; w = w.next {
		w.task.word.Store(fresh)
	}
	c.waiters = waiters{}
	c.mu.Unlock()
	for w := first; w != nil; w = w.next {
		w.decided(c.errClosed)
	}
}

// postWait is PostWait.
func (c *core) postWait(ctx context.Context, j job) error {
	if host, ok := frame.HostOf(ctx).(*task); ok && host.core == c {
		// A worker that waited for room could wait for itself. That holds
		// for callbacks too, which run when their task has ended.
		return c.post(ctx, nil, j)
	}
	result := make(chan error, 1)
	w := c.postWhenRoom(ctx, nil, j, func(err error) { result <- err })
	if w == nil {
		return <-result
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		if c.withdraw(w) {
			return c.badContext(ctx)
		}
		return <-result
	}
}
