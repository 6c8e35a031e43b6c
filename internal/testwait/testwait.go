// Package testwait bounds the waits of this module's tests: one that expires
// fails the test and shows what every goroutine was doing.
//
// Each function has to be called on the test's own goroutine, since it may end
// the test.
package testwait

import (
	"runtime"
	"testing"
	"time"

	"github.com/cadre-go/cadre/internal/goid"
)

// Bound is how long a wait may last. No test waits for it to pass.
//
// In a testing/synctest bubble it is [BubbleBound]: there time passes only when
// every goroutine is stuck, and then at once, while what a test waits for may
// well be an hour away.
const (
	Bound       = 10 * time.Second
	BubbleBound = 365 * 24 * time.Hour
)

func bound() time.Duration {
	if goid.Bubbled() {
		return BubbleBound
	}
	return Bound
}

// Done waits until ch is closed or gives a value.
func Done[T any](t testing.TB, ch <-chan T) {
	t.Helper()
	Value(t, ch)
}

// Value waits for a value of ch; the zero value if ch is closed.
func Value[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	d := bound()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case v := <-ch:
		return v
	case <-timer.C:
	}
	t.Fatalf("still waiting after %v; all goroutines:\n\n%s", d, Stacks())
	panic("unreachable unless t is a fake")
}

// Call runs fn on a goroutine of its own and waits until that has ended, be it
// by a return or by runtime.Goexit. A panic in fn is not recovered.
func Call(t testing.TB, fn func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fn()
	}()
	Done(t, ended)
}

// Until calls cond again and again, giving way to other goroutines in between,
// until it is true. It is for what has no channel to wait on, such as a count
// of goroutines or an object that the garbage collector has to find; whatever
// else can be awaited is awaited. It does not work in a bubble, whose time
// stands still while it runs.
func Until(t testing.TB, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(Bound); !cond(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("still not so after %v; all goroutines:\n\n%s", Bound, Stacks())
		}
	}
}

// Stacks returns the stack traces of all goroutines.
func Stacks() []byte {
	for size := 1 << 16; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size {
			return buf[:n]
		}
	}
}
