package executor

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/internal/frame"
)

// task is one accepted task and the context that it runs under: the caller's
// values, a diagnostic scope of its own, the pool's lifetime. It is 64 bytes
// and never used again, since whatever ran under it may have kept it.
type task struct {
	values context.Context // the caller's
	core   *core
	job    job           // nil once it has ended
	scope  frame.Scope   //
	word   atomic.Uint64 // ticket and state
	seat   *seat         // set before the job runs
}

// job is what a task does.
type job interface {
	// run does it. What goes wrong in it is the seat's to contain.
	run(t *task)
	// discard gives it up before it ran; nothing foreign is called before
	// the returned function, which may be nil.
	discard(reason error) (callbacks func())
	// lost is told of a task that ended before its run could settle
	// anything.
	lost(err error)
}

// The states of a task. Each end is final.
const (
	fresh     uint64 = iota // not accepted yet
	waiting                 // neither, but in line for room; set under core.mu
	queued                  // in the ring
	running                 // on a worker
	lent                    // on a stand-in
	finished                // its function returned
	panicked                // its function panicked
	exited                  // its function called runtime.Goexit
	skipped                 // canceled before it ran
	discarded               // given up by shutdown

	stateBits = 4
	stateMask = 1<<stateBits - 1
)

func (t *task) ticket() uint64 { return t.word.Load() >> stateBits }
func (t *task) state() uint64  { return t.word.Load() & stateMask }

// claim moves t from queued to state. Of all who try one succeeds.
func (t *task) claim(state uint64) bool {
	for {
		w := t.word.Load()
		if w&stateMask != queued {
			return false
		}
		if t.word.CompareAndSwap(w, w-queued+state) {
			return true
		}
	}
}

// renumber gives t another ticket, whatever becomes of its state meanwhile.
func (t *task) renumber(ticket uint64) {
	for {
		w := t.word.Load()
		if t.word.CompareAndSwap(w, ticket<<stateBits|w&stateMask) {
			return
		}
	}
}

// finish moves t, which its seat runs, to its end.
func (t *task) finish(state uint64) {
	for {
		w := t.word.Load()
		if t.word.CompareAndSwap(w, w&^stateMask|state) {
			return
		}
	}
}

// active reports whether t is being run.
func (t *task) active() bool {
	s := t.state()
	return s == running || s == lent
}

// end ends t ahead of its run's return, for a job that shows its outcome
// itself. With callbacks to come the worker stays busy, so its place is held:
// end returns true, and the job owes the core a release.
func (t *task) end(state uint64, callbacks bool) (held bool) {
	held = callbacks && t.state() == running
	return t.seat.end(t, state, held) && held
}

// Find returns t if it is queued in pool, or waits there for room.
func (t *task) Find(pool any) any {
	if s := t.state(); (s == queued || s == waiting) && t.core == pool {
		return t
	}
	return nil
}

// The context.

func (t *task) Deadline() (time.Time, bool) { return time.Time{}, false }
func (t *task) Done() <-chan struct{}       { return t.core.life.Done() }
func (t *task) Err() error                  { return t.core.life.Err() }

// Value asks the pool's context first, so that package context finds the
// pool's cancelCtx there and a child context costs no goroutine; that context
// has no other values.
func (t *task) Value(key any) any {
	if key == (frame.Key{}) {
		return t
	}
	if v := t.core.life.Value(key); v != nil {
		return v
	}
	return t.values.Value(key)
}

// The frame.

func (t *task) Scope() *frame.Scope { return &t.scope }
func (t *task) Over() *frame.Attrs  { return nil }
func (t *task) Op() frame.Op        { return nil }
func (t *task) Host() frame.Host    { return t }

// valuesOf returns where the values of a task posted under ctx come from. A
// task that posts under its own context passes on what it was posted with:
// its context adds nothing that its children do not replace, and a chain of
// nested tasks would make every lookup longer.
func valuesOf(ctx context.Context) context.Context {
	switch c := ctx.(type) {
	case *task:
		return c.values
	case *runCtx:
		switch c.Parent.(type) {
		case *task, *plainCtx:
			return valuesOf(c.Parent)
		}
	case *plainCtx:
		if !c.foreign {
			return c.values
		}
	}
	return ctx
}
