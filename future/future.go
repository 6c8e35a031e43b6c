package future

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/cadre-go/cadre/internal/frame"
)

// Outcome is what a future settled with: a value, or an error and the zero
// value.
type Outcome[T any] struct {
	Value T
	Err   error
}

// Canceled reports whether the future was canceled or abandoned, itself or, if
// it is derived from others, by way of one of them.
//
// An error that merely wraps a [*CanceledError] is a failure: the panic of a
// function that was handed one, the joined errors of [Any], what a caller made
// of the cancellation of something else.
func (o Outcome[T]) Canceled() bool {
	_, ok := o.Err.(*CanceledError)
	return ok
}

// The states of a future. It leaves pending once and changes no more.
const (
	pending   uint32 = iota
	completed        // with a value
	failed           // with an error; abandoned ones too
	canceled         // by a Cancel that won
)

// Future is the read side of one value that arrives later. All methods may be
// called from any goroutine. The zero Future is one that failed with
// [ErrNoValue].
type Future[T any] struct {
	// state is written under mu and read without it: a reader who sees it
	// settled also sees value and err, which never change again.
	state atomic.Uint32
	made  bool // by a Completer; never changes

	// mu protects the fields below while the future is pending. Nothing
	// foreign is called while it is held.
	mu   sync.Mutex
	subs *sub[T]     // a ring
	link *frame.Link // the producer; nil if it needs to learn nothing

	dispose func(T) // of WithDispose; never changes
	err     error   // Invariant: nil or a doneChan while pending
	value   T
}

// doneChan is the Done channel of a pending future. It stands in the place of
// the error that the future may get: one field more and each future would take
// 80 bytes instead of 64.
type doneChan chan struct{}

func (doneChan) Error() string { return "future: pending" }

// sub is one thing that waits for the outcome.
type sub[T any] struct {
	next, prev *sub[T]
	fn         func(Outcome[T])
	onCancel   bool // runs only if a Cancel won, before the others
}

// leave is the last look at s, and returns its function. s may be part of a
// combinator that lives on, which must not keep its neighbors.
func (s *sub[T]) leave() func(Outcome[T]) {
	fn := s.fn
	s.next, s.prev, s.fn = nil, nil, nil
	return fn
}

// settled reports whether the outcome is there.
func (f *Future[T]) settled() bool {
	if f.state.Load() != pending {
		return true
	}
	if f.made {
		return false
	}
	f.mu.Lock()
	if f.state.Load() == pending {
		f.err = ErrNoValue
		f.state.Store(failed)
	}
	f.mu.Unlock()
	return true
}

// Outcome returns what the future settled with, and false while it is pending.
func (f *Future[T]) Outcome() (Outcome[T], bool) {
	if !f.settled() {
		return Outcome[T]{}, false
	}
	return Outcome[T]{f.value, f.err}, true
}

// Done returns a channel that is closed once the future has settled.
func (f *Future[T]) Done() <-chan struct{} {
	if !f.settled() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.state.Load() == pending {
			return f.doneLocked()
		}
	}
	return closed
}

// closed is the Done channel of whatever has settled before anybody asked.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (f *Future[T]) doneLocked() chan struct{} {
	if f.err == nil {
		f.err = make(doneChan)
	}
	return f.err.(doneChan)
}

// linkLocked puts s at the end of the ring.
func (f *Future[T]) linkLocked(s *sub[T]) {
	if f.subs == nil {
		s.next, s.prev = s, s
		f.subs = s
		return
	}
	first := f.subs
	s.next, s.prev = first, first.prev
	s.prev.next, first.prev = s, s
}

// subscribe adds s, and returns false if the future has settled already.
func (f *Future[T]) subscribe(s *sub[T]) bool {
	if f.settled() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.Load() != pending {
		return false
	}
	f.linkLocked(s)
	return true
}

// unsubscribe takes s out, if the future is pending and s still in it.
func (f *Future[T]) unsubscribe(s *sub[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state.Load() != pending || s.next == nil {
		return
	}
	if s.next == s {
		f.subs = nil
	} else {
		s.prev.next, s.next.prev = s.next, s.prev
		if f.subs == s {
			f.subs = s.next
		}
	}
	s.leave()
}

// producerLocked returns what stands behind the future while it is pending.
func (f *Future[T]) producerLocked() frame.Producer {
	if f.link == nil || f.state.Load() != pending {
		return nil
	}
	return f.link.Producer
}

// find returns a queued task of pool that the future depends on.
func (f *Future[T]) find(pool any) any {
	f.mu.Lock()
	p := f.producerLocked()
	f.mu.Unlock()
	if p != nil {
		return p.Find(pool)
	}
	return nil
}

// Await returns the value, or the identical error that the future failed with.
//
// If ctx ends first it returns an [*InterruptedError], and the future stays
// pending and can be awaited again. A settled future wins over an ended ctx.
// A nil ctx is a [*ConfigError].
//
// Under the context of a task of an executor.Pool, Await lends that task's
// slot to a task of the same pool that the future depends on and that is still
// queued, so that waiting inside a pool cannot starve it.
func (f *Future[T]) Await(ctx context.Context) (T, error) {
	var zero T
	if ctx == nil {
		return zero, nilContext()
	}
	if f.settled() {
		return f.value, f.err
	}
	f.mu.Lock()
	if f.state.Load() != pending {
		f.mu.Unlock()
		return f.value, f.err
	}
	p, done := f.producerLocked(), f.doneLocked()
	f.mu.Unlock()
	wait(ctx, p, done)
	if f.settled() {
		return f.value, f.err
	}
	return zero, interrupted(ctx)
}

// wait returns when done is closed or ctx has ended; p, which may be nil, is
// what will close done.
func wait(ctx context.Context, p frame.Producer, done <-chan struct{}) {
	if p != nil {
		if host := frame.HostOf(ctx); host != nil {
			host.Await(ctx, p, done)
			return
		}
	}
	end := ctx.Done()
	if end == nil { // a plain receive costs a third of a select
		<-done
		return
	}
	select {
	case <-done:
	case <-end:
	}
}

// OnSettle has fn called exactly once with the outcome: now, on this
// goroutine, if the future has settled, else on the goroutine that settles it,
// after the functions that were registered before.
//
// If functions of one future panic, all the others run all the same and then
// the first panic goes on, on the settling goroutine; likewise for
// [runtime.Goexit]. A nil fn panics.
func (f *Future[T]) OnSettle(fn func(Outcome[T])) {
	if fn == nil {
		panic("future: OnSettle with a nil function")
	}
	if !f.subscribe(&sub[T]{fn: fn}) {
		fn(Outcome[T]{f.value, f.err})
	}
}

// Cancel settles a pending future as canceled and asks its producer to stop.
// It returns false, and does nothing, if the future has settled. A nil cause
// stands for [context.Canceled].
//
// The functions of OnCancel and OnSettle have run when Cancel returns.
func (f *Future[T]) Cancel(cause error) bool { return f.cancel(canceled, cause) }

// Abandon settles a pending future as canceled and leaves its producer
// running: what that completes the future with later is disposed of. It
// returns false, and does nothing, if the future has settled.
func (f *Future[T]) Abandon(cause error) bool { return f.cancel(failed, cause) }

func (f *Future[T]) cancel(to uint32, cause error) bool {
	if f.settled() {
		return false
	}
	if cause == nil {
		cause = context.Canceled
	}
	var zero T
	return f.settle(to, zero, &CanceledError{cause})
}
