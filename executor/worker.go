package executor

import (
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"sync/atomic"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/goid"
)

// seat is a goroutine that runs tasks, one after the other.
type seat struct {
	core  *core
	index int // of the worker whose slot it is
	id    atomic.Uint64

	current atomic.Pointer[task]       // what it runs, or ran last
	since   atomic.Int64               // when that began, by core.now
	ending  atomic.Pointer[frame.Link] // of the operation that has ended last, or is about to

	// Of the goroutine alone.
	returned bool // the job's run came back
	holding  bool // the place of the last task, which has finished

	// Under core.mu.
	out    *guest // the stand-in that has the slot of a task that ran, or runs, here
	lender *seat  // of a stand-in: the goroutine that waits for it
	calls  int    // calls of Shutdown that wait on this goroutine, or on one that it waits for

	guest *guest // that this is the seat of; nil for a worker
}

// run runs t under its own labels, whatever it does. It returns unless t calls
// runtime.Goexit: then everything has been accounted for and the goroutine
// ends.
func (s *seat) run(t *task) {
	defer pprof.SetGoroutineLabels(s.core.labels)
	defer s.net(t)
	t.seat = s
	s.returned = false
	s.since.Store(int64(s.core.now()))
	s.current.Store(t)
	if frame.Labeled(t.values) {
		pprof.SetGoroutineLabels(t)
	}
	t.job.run(t)
	s.returned = true
}

// net is the deferred end of every run: it contains a panic, accounts for the
// task and reports what nobody else can.
func (s *seat) net(t *task) {
	j := t.job
	t.job = nil // what it holds on to has served
	if s.returned {
		if t.state() == running { // its place is given back as the next task is taken
			t.finish(finished)
			s.holding = true
		} else {
			s.end(t, finished, false)
		}
		return
	}
	if v := recover(); v != nil {
		stack := debug.Stack()
		msg := "a callback panicked"
		if s.end(t, panicked, false) {
			msg = "task panicked"
			s.core.lost(t, j, &future.PanicError{Value: v, Stack: stack})
		}
		s.core.reportEnd(t, msg, v, stack)
		return
	}
	switch {
	case s.end(t, exited, false):
		s.core.lost(t, j, future.ErrGoexit)
		s.core.reportEnd(t, "task called runtime.Goexit", future.ErrGoexit, nil)
	case t.state() != exited: // the task itself had ended otherwise
		s.core.reportEnd(t, "a callback called runtime.Goexit", future.ErrGoexit, nil)
	}
}

// lost tells j, under a net of its own: what it calls may be as sick as what
// ended t.
func (c *core) lost(t *task, j job, err error) {
	c.netted(t, "a callback", func() { j.lost(err) })
}

// end ends a task that s runs, and returns false if it had ended. With hold,
// its place is not free before a call of released.
func (s *seat) end(t *task, state uint64, hold bool) bool {
	was := t.state()
	if was != running && was != lent {
		return false
	}
	t.finish(state) // only its seat ends a task that runs
	if was == lent {
		s.guest.endedLent(state)
	} else {
		s.core.ended(state, hold)
	}
	return true
}

// worker is one of the Size goroutines that serve the queue.
type worker struct {
	seat
	wake  chan struct{} // holds a token when somebody has taken it off the idle stack
	below *worker       // on the idle stack
	gone  bool          // under core.mu
}

// loop serves the queue until it is closed and drained. A task that calls
// runtime.Goexit ends the goroutine and another takes its place.
func (w *worker) loop() {
	done := false
	defer func() {
		if done {
			w.core.leave(w, nil)
		} else {
			go w.loop()
		}
	}()
	pprof.SetGoroutineLabels(w.core.labels)
	w.id.Store(goid.ID())
	for {
		t := w.next()
		if t == nil {
			break
		}
		w.run(t)
	}
	done = true
}

// next returns the next task, waiting for one; nil when the pool is drained.
func (w *worker) next() *task {
	c := w.core
	t, closed := w.take()
	if t != nil {
		if closed {
			c.passOn() // this may have been the last
		}
		return t
	}
	runtime.Gosched() // a producer at work is likely to come by; parking costs ten times as much
	for {
		if t, _ := w.take(); t != nil {
			c.passOn()
			return t
		}
		w.current.Store(nil) // an idle worker keeps nothing of its last task
		w.ending.Store(nil)
		c.idle.push(w)
		// Whoever pushes a task looks at the stack after that, so either it
		// finds w there or w finds the task here.
		t, _ := w.take()
		if t == nil && !c.queue.drained() {
			<-w.wake
			continue
		}
		if !c.idle.remove(w) {
			<-w.wake // somebody has taken w off the stack and is about to wake it
		}
		c.passOn()
		return t
	}
}

// take is core.take for w, which then holds no place but the new task's.
func (w *worker) take() (t *task, closed bool) {
	t, closed = w.core.take(w.holding)
	w.holding = false
	return t, closed
}

// passOn wakes one more worker if there is a reason: a wake-up stands for one
// task, and whoever took it may have found another.
func (c *core) passOn() {
	if c.idle.n.Load() > 0 && (c.queue.ready() || c.queue.drained()) {
		c.idle.wakeOne()
	}
}

// idle is a stack of parked workers, the one that ran last on top: its stack
// and caches are warm.
type idle struct {
	n   atomic.Int32 // its height
	_   [60]byte
	mu  sync.Mutex
	top *worker
}

func (s *idle) push(w *worker) {
	s.mu.Lock()
	w.below, s.top = s.top, w
	s.n.Add(1)
	s.mu.Unlock()
}

// remove takes w off the stack; false if it was not there any more.
func (s *idle) remove(w *worker) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := &s.top; *at != nil; at = &(*at).below {
		if *at == w {
			*at, w.below = w.below, nil
			s.n.Add(-1)
			return true
		}
	}
	return false
}

// wakeOne wakes the worker on top, if there is one.
func (s *idle) wakeOne() {
	if s.n.Load() == 0 {
		return
	}
	s.mu.Lock()
	w := s.top
	if w != nil {
		s.top, w.below = w.below, nil
		s.n.Add(-1)
	}
	s.mu.Unlock()
	if w != nil {
		w.wake <- struct{}{} // never blocks: one token for each time on the stack
	}
}
