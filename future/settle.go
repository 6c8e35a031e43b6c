package future

import (
	"context"
	"log/slog"
	"runtime/debug"

	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/report"
)

// settle gives a pending future its outcome and runs what waited for it.
func (f *Future[T]) settle(to uint32, v T, err error) bool {
	s, ok := f.publish(to, v, err)
	if s.link != nil || s.first != nil {
		s.notify()
	}
	return ok
}

// settlement is what is left to do once an outcome is published.
type settlement[T any] struct {
	outcome  Outcome[T]
	link     *frame.Link
	canceled bool
	first    *sub[T] // the ring, now closed to others
}

// publish gives a pending future its outcome and wakes whoever awaits it; it
// calls nothing foreign. Of all callers one gets true, and owes a notify.
func (f *Future[T]) publish(to uint32, v T, err error) (s settlement[T], ok bool) {
	if f.settled() {
		return s, false
	}
	f.mu.Lock()
	if f.state.Load() != pending {
		f.mu.Unlock()
		return s, false
	}
	done, awaited := f.err.(doneChan)
	f.value, f.err = v, err
	s = settlement[T]{Outcome[T]{v, err}, f.link, to == canceled, f.subs}
	f.subs = nil
	if s.canceled && f.link != nil {
		if p, ok := f.link.Producer.(frame.Claimer); ok {
			p.Claim()
		}
	}
	if f.link != nil && !f.link.Keep {
		f.link = nil
	}
	f.state.Store(to)
	f.mu.Unlock()
	if awaited {
		close(done)
	}
	return s, true
}

// notify tells the producer and runs the callbacks.
func (s settlement[T]) notify() {
	s.release()
	s.callbacks()
}

// release has the producer let go of what it no longer needs.
func (s settlement[T]) release() {
	if s.link != nil {
		s.link.Producer.Settled()
	}
}

// callbacks runs, if a Cancel won, the producer's Canceled and the functions of
// OnCancel, then those of OnSettle.
func (s settlement[T]) callbacks() {
	switch first := s.first; {
	case first == nil && s.canceled && s.link != nil:
		s.tellProducer()
	case first == nil:
	case first.next == first && !s.canceled: // there are no others to care for
		if fn := first.leave(); !first.onCancel {
			fn(s.outcome)
		}
	default:
		first.prev.next = nil // the ring becomes a list
		inOrder(&walk[T]{settlement: s, at: first, canceling: s.canceled})
	}
}

func (s settlement[T]) tellProducer() {
	s.link.Producer.Canceled(s.outcome.Err.(*CanceledError).Cause)
}

// walk steps through what a settlement calls. The producer's Canceled may run
// the callbacks of other futures, so it is a step like the others.
type walk[T any] struct {
	settlement[T]
	at        *sub[T]
	canceling bool
	told      bool // the producer knows of the Cancel
}

func (w *walk[T]) step() bool {
	if w.canceling && !w.told {
		w.told = true
		if w.link != nil {
			w.tellProducer()
			return true
		}
	}
	for {
		for w.at != nil {
			s := w.at
			fn := s.fn
			w.at = s.next
			if !w.canceling {
				s.leave()
			}
			if fn != nil && s.onCancel == w.canceling {
				fn(w.outcome)
				return true
			}
		}
		if !w.canceling {
			return false
		}
		w.canceling, w.at = false, w.first
	}
}

// steps is a series of calls of foreign code; step makes the next one and
// returns false when there was none.
type steps interface{ step() bool }

// inOrder makes all the steps. One that ends abnormally does not stop the
// others: these run while the first panic, or Goexit, is on its way up, and
// then it goes on. The panic is raised again within the deferred call that
// stopped it, so the stack trace above still shows where it came from.
func inOrder(s steps) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			afterGoexit(s)
			return
		}
		defer panic(v) // also if one of the others calls Goexit
		contained(context.Background(), func() { inOrder(s) })
	}()
	for s.step() {
	}
	returned = true
}

// afterGoexit makes the steps that are left while a Goexit goes on. A panic of
// one of them goes on too, and would hide the Goexit from the net above.
func afterGoexit(s steps) {
	defer func() {
		if v := recover(); v != nil {
			defer panic(v)
			reportGoexit(context.Background())
		}
	}()
	inOrder(s)
}

func reportGoexit(ctx context.Context) {
	report.Logger{}.Error(ctx, "future: callback called runtime.Goexit", slog.Any("error", ErrGoexit))
}

// contained calls fn where a panic has no way up, because an earlier one is on
// its way or no net is above. A Goexit is reported and goes on.
func contained(ctx context.Context, fn func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			report.Logger{}.Error(ctx, "future: callback panicked",
				slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			return
		}
		reportGoexit(ctx)
	}()
	fn()
	returned = true
}
