package sched_test

import (
	"fmt"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

// What a caller of the model is doing.
const (
	outside  = iota // has not called Acquire
	entered         // found no permit, and is about to use the mailbox
	pending         // waits
	held            // has a permit
	released        // had one
	canceled        // left
	refused         // got an error
)

// caller is a model of one Acquire.
type caller struct {
	sched.Waiter
	world  *world
	handle int
	state  int
	pushed int // order of arrival in the mailbox
	why    sched.Reason
	free   bool // it may be used again: the owner has no pointer to it
}

func (c *caller) Live() bool { return c.state == pending }

func (c *caller) Barred() bool { return c.world.handles[c.handle].closed }

// over reports whether nothing can happen to c any more.
func (c *caller) over() bool {
	return c.state == released || c.state == refused || c.state == canceled && c.free
}

// party is a model of one Handle.
type party struct {
	sched.Handle
	closed, left bool // the flag is set; the command is sent
}

// world is a model of a whole pool: the gate, the mailbox, the callers and the
// owner, whose program is that of the pool's owner. Each method is one step,
// which the real thing does under one lock or by one compare-and-swap. A method
// that returns false is not possible now, and has done nothing.
type world struct {
	config
	word    sched.Word
	box     sched.Box
	s       sched.Sched
	callers []caller
	handles []party
	pushes  int

	// The owner.
	woken   bool // the wake channel is full
	running bool // not parked
	swept   bool // since it was woken
	busy    bool // effect is to be carried out
	effect  sched.Effect
	taken   *sched.Waiter // out of the mailbox, and not handed over
	ending  bool
	ended   bool
	hand    bool // a permit

	hints int
	wrong []error
}

type config struct {
	capacity, limit  int
	callers, handles int
	policy           sched.Policy
	fast             bool
	hints            int
	only             string // the names of the moves; empty: all
}

func (c config) String() string {
	return fmt.Sprintf("capacity=%d limit=%d callers=%d handles=%d policy=%d fast=%v", c.capacity, c.limit, c.callers, c.handles, c.policy, c.fast)
}

func newWorld(cfg config) *world {
	w := &world{
		config: cfg, word: sched.Full(cfg.capacity), s: *sched.New(cfg.policy, cfg.limit),
		callers: make([]caller, cfg.callers), handles: make([]party, cfg.handles),
	}
	for i := range w.callers {
		c := &w.callers[i]
		c.world, c.handle = w, i%cfg.handles
		c.Waiter.Caller = c
		c.Waiter.Handle = &w.handles[c.handle].Handle
	}
	return w
}

func (w *world) wrongf(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Errorf(format, args...))
}

func (w *world) of(x *sched.Waiter) *caller { return x.Caller.(*caller) }

// settle is the one change of a caller's state from pending.
func (w *world) settle(c *caller, to int) bool {
	if c.state != pending {
		return false
	}
	c.state = to
	return true
}

// The callers' steps.

// enter is Acquire up to the mailbox.
func (w *world) enter(i int) bool {
	c := &w.callers[i]
	if c.state != outside {
		return false
	}
	switch next, ok := w.word.Take(); {
	case w.word.Ended():
		c.state, c.why = refused, sched.Closed
	case w.handles[c.handle].closed:
		c.state, c.why = refused, sched.Barred
	case w.fast && ok:
		for _, x := range append(w.s.Queued(), w.box.Boxed()...) {
			if x.Caller.Live() {
				w.wrongf("caller %d overtakes one that waits", i)
			}
		}
		w.word, c.state = next, held
	default:
		c.state = entered
	}
	return true
}

// push sends the acquisition.
func (w *world) push(i int) bool {
	c := &w.callers[i]
	if c.state != entered {
		return false
	}
	c.state = pending
	if !w.box.Push(&c.Waiter) {
		c.state, c.why = refused, sched.Closed
		return true
	}
	w.pushes++
	c.pushed = w.pushes
	w.word = w.word.WithDemand(true)
	w.woken = true
	return true
}

func (w *world) cancel(i int) bool {
	c := &w.callers[i]
	if !w.settle(c, canceled) {
		return false
	}
	if w.box.Cancel(&c.Waiter) {
		c.free = true
		return true
	}
	w.woken = true
	return true
}

func (w *world) release(i int) bool {
	c := &w.callers[i]
	if c.state != held {
		return false
	}
	c.state = released
	w.word = w.word.Put()
	w.woken = w.woken || w.word.Demand()
	return true
}

func (w *world) bar(h int) bool {
	if w.handles[h].closed {
		return false
	}
	w.handles[h].closed = true
	return true
}

func (w *world) leave(h int) bool {
	p := &w.handles[h]
	if !p.closed || p.left {
		return false
	}
	p.left = true
	w.box.Leave(&p.Handle)
	w.woken = true
	return true
}

// hint wakes the owner for nothing, as any number of releases may.
func (w *world) hint() bool {
	if w.hints == w.config.hints {
		return false
	}
	w.hints++
	w.woken = true
	return true
}

func (w *world) close() bool {
	if w.word.Ended() || w.ended {
		return false
	}
	w.word = w.word.WithClosed()
	w.woken = true
	return true
}

// fail is a failure elsewhere than on the owner.
func (w *world) fail() bool {
	if w.word.Failed() || w.ended {
		return false
	}
	w.word = w.word.WithFailed()
	w.woken = true
	return true
}

// The owner's steps.
