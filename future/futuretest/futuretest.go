// Package futuretest helps tests to wait for futures.
//
// A wait ends with the test's own deadline, a moment before it so that the
// failure can still be printed, or after 10 s if the test has none. A failure
// shows the stacks of all goroutines: the one that should have settled the
// future is among them. The functions may end the test, so they have to be
// called on the test's goroutine, as FailNow has to be.
//
// In a testing/synctest bubble, where a test has no deadline, a wait is bounded
// by a year of the bubble's time. That passes at once when every goroutine of
// the bubble is blocked for good, and leaves room for delays of any length that
// a test would use.
package futuretest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/internal/testwait"
)

// Await waits for f and returns its value. It fails the test if f fails or
// does not settle in time.
func Await[T any](t testing.TB, f *future.Future[T]) T {
	t.Helper()
	o, ok := outcome(t, f)
	if ok && o.Err != nil {
		t.Fatalf("the future failed: %v\n\nall goroutines:\n\n%s", o.Err, testwait.Stacks())
	}
	return o.Value
}

// RequireError waits for f, which has to fail with an error that matches
// target by errors.Is, and returns that error. It fails the test if f completes
// with a value, fails otherwise or does not settle in time.
func RequireError[T any](t testing.TB, f *future.Future[T], target error) error {
	t.Helper()
	o, ok := outcome(t, f)
	switch {
	case !ok:
	case o.Err == nil:
		t.Fatalf("the future completed with %+v; want an error that matches %v\n\nall goroutines:\n\n%s",
			o.Value, target, testwait.Stacks())
	case !errors.Is(o.Err, target):
		t.Fatalf("the future failed with %v; want an error that matches %v\n\nall goroutines:\n\n%s",
			o.Err, target, testwait.Stacks())
	}
	return o.Err
}

// RequirePending fails the test if f has settled. It does not wait.
func RequirePending[T any](t testing.TB, f *future.Future[T]) {
	t.Helper()
	if f == nil {
		t.Fatalf("the future is nil")
		return
	}
	o, ok := f.Outcome()
	switch {
	case !ok:
	case o.Err != nil:
		t.Fatalf("the future is not pending; it failed: %v\n\nall goroutines:\n\n%s", o.Err, testwait.Stacks())
	default:
		t.Fatalf("the future is not pending; it completed with %+v\n\nall goroutines:\n\n%s", o.Value, testwait.Stacks())
	}
}

// RequireSettled returns the outcome of f, which has to have settled by now. It
// fails the test if f is pending, and does not wait: Await and RequireError do.
func RequireSettled[T any](t testing.TB, f *future.Future[T]) future.Outcome[T] {
	t.Helper()
	if f == nil {
		t.Fatalf("the future is nil")
		return future.Outcome[T]{}
	}
	o, ok := f.Outcome()
	if !ok {
		t.Fatalf("the future is pending; all goroutines:\n\n%s", testwait.Stacks())
	}
	return o
}

// outcome waits for f. It returns false, having failed the test, if f does not
// settle in time.
func outcome[T any](t testing.TB, f *future.Future[T]) (o future.Outcome[T], ok bool) {
	t.Helper()
	if f == nil {
		t.Fatalf("the future is nil")
		return o, false
	}
	d := bound(t)
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	_, _ = f.Await(ctx) // of its error nobody knows whose it is
	if o, ok = f.Outcome(); !ok {
		t.Fatalf("the future is still pending after %v; all goroutines:\n\n%s", d, testwait.Stacks())
	}
	return o, ok
}

// bound returns how long a wait of t may last.
func bound(t testing.TB) time.Duration {
	if goid.Bubbled() {
		return testwait.BubbleBound // Deadline panics in a bubble
	}
	if t, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := t.Deadline(); ok {
			left := time.Until(end)
			return left - min(left/10, time.Second)
		}
	}
	return testwait.Bound
}
