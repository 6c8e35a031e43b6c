package future

import (
	"context"
	"io"
	"log/slog"
	"runtime/debug"

	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/report"
)

// Completer is the write side of a future, held by its producer alone. All
// methods may be called from any goroutine. The zero Completer belongs to a
// future that failed with [ErrNoValue].
type Completer[T any] struct{ f Future[T] }

// Option configures a future when it is made.
type Option[T any] struct{ dispose func(T) }

// WithDispose has fn called with a value that nobody can receive: one that
// Complete brings after the future was canceled or abandoned. fn runs on the
// goroutine that calls Complete. Without this option such a value is closed if
// it is an [io.Closer], and dropped otherwise.
func WithDispose[T any](fn func(T)) Option[T] { return Option[T]{fn} }

// NewCompleter returns the write side of a new pending future.
func NewCompleter[T any](opts ...Option[T]) *Completer[T] {
	c := &Completer[T]{}
	c.start(nil, opts)
	return c
}

// start makes a zero completer pending, before anybody else sees it.
func (c *Completer[T]) start(l *frame.Link, opts []Option[T]) {
	c.f.link = l
	for _, opt := range opts {
		if opt.dispose != nil {
			c.f.dispose = opt.dispose
		}
	}
	c.f.made = true
}

// Future returns the read side, always the same.
func (c *Completer[T]) Future() *Future[T] { return &c.f }

// Complete settles the future with value. If the future has settled, Complete
// returns false and disposes of value; see [WithDispose].
func (c *Completer[T]) Complete(value T) bool {
	if c.f.settle(completed, value, nil) {
		return true
	}
	c.f.disposeOf(value, c.f.report)
	return false
}

// Fail settles the future with err, which every Await returns as it is. It
// returns false, and changes nothing, if the future has settled. Fail(nil)
// panics.
func (c *Completer[T]) Fail(err error) bool {
	if err == nil {
		panic("future: Fail with a nil error; Complete settles a future that succeeded")
	}
	var zero T
	return c.f.settle(failed, zero, err)
}

// OnCancel has fn called with the cause when a Cancel wins: in the order of
// registration, before any function of OnSettle; now, on this goroutine, if a
// Cancel has won already; never if the future settled in any other way. A nil
// fn panics.
func (c *Completer[T]) OnCancel(fn func(cause error)) {
	if fn == nil {
		panic("future: OnCancel with a nil function")
	}
	s := &sub[T]{onCancel: true, fn: func(o Outcome[T]) { fn(o.Err.(*CanceledError).Cause) }}
	if !c.f.subscribe(s) && c.f.state.Load() == canceled {
		s.fn(Outcome[T]{Err: c.f.err})
	}
}

// disposeOf gets rid of a value that came too late. What goes wrong goes to
// report and no further.
func (f *Future[T]) disposeOf(value T, report func(msg string, err error)) {
	closer, isCloser := any(value).(io.Closer)
	if f.dispose == nil && !isCloser {
		return
	}
	const msg = "future: disposing of a late value failed"
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			report(msg, &PanicError{v, debug.Stack()})
			return
		}
		report(msg, ErrGoexit) // and the Goexit goes on
	}()
	if f.dispose != nil {
		f.dispose(value)
	} else if err := closer.Close(); err != nil {
		report(msg, err)
	}
	returned = true
}

// report tells the producer of a failure, or the log if it knows of none.
func (f *Future[T]) report(msg string, err error) {
	// A kept link does not change, so no lock is needed once f settled.
	if f.settled() && f.link != nil {
		f.link.Producer.Report(msg, err)
		return
	}
	report.Logger{}.Error(context.Background(), msg, slog.Any("error", err))
}

// Completed returns a future that has settled with v.
func Completed[T any](v T) *Future[T] {
	f := &Future[T]{value: v}
	f.state.Store(completed)
	return f
}

// Failed returns a future that has failed with err. A nil err panics.
func Failed[T any](err error) *Future[T] {
	if err == nil {
		panic("future: Failed with a nil error")
	}
	f := &Future[T]{err: err}
	f.state.Store(failed)
	return f
}

// What package link gives to the packages above.

func (c *Completer[T]) fail(err error) (callbacks func()) {
	var zero T
	if s, ok := c.f.publish(failed, zero, err); ok {
		return s.notify
	}
	return nil
}

func (c *Completer[T]) bind(l *frame.Link, opts any) {
	list, _ := opts.([]Option[T])
	c.start(l, list)
}

func (c *Completer[T]) watched() bool {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	return c.f.subs != nil
}

func init() {
	link.Bind = func(c any, l *frame.Link, opts any) {
		c.(interface{ bind(*frame.Link, any) }).bind(l, opts)
	}
	link.Fail = func(c any, err error) func() { return c.(interface{ fail(error) func() }).fail(err) }
	link.Watched = func(c any) bool { return c.(interface{ watched() bool }).watched() }
}
