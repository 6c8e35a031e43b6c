package edge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// bound is how long a wait may last. No test waits for it to pass.
const bound = 2 * time.Minute

func TestMain(m *testing.M) {
	if mode := os.Getenv("EDGE_CHILD"); mode != "" {
		os.Exit(child(mode))
	}
	goleak.VerifyTestMain(m)
}

// full reports whether everything is to be tried at its full size.
func full() bool { return os.Getenv("EDGE_SIZE") == "full" }

// sizes returns two numbers of things, the larger of which is n, or a tenth of
// that.
func sizes(n int) [2]int {
	if !full() {
		n /= 10
	}
	return [2]int{n / 10, n}
}

// bounded is a context that ends when a wait has lasted too long.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	t.Cleanup(cancel)
	return ctx
}

// await waits until ch is closed or gives a value.
func await[T any](t *testing.T, what string, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(bound):
		t.Fatalf("%s: still waiting after %v", what, bound)
	}
	return v
}

// until gives way to others until cond is true.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !cond(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%s: still not so after %v", what, bound)
		}
	}
}

// waiting is the number of goroutines that wait for something.
func waiting() int {
	s := []metrics.Sample{{Name: "/sched/goroutines/waiting:goroutines"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}

// goroutines waits until there are no more than n of them: one that has ended
// may be counted a little longer, then and in n.
func goroutines(t *testing.T, n int) {
	t.Helper()
	until(t, fmt.Sprintf("%d goroutines", n), func() bool { return runtime.NumGoroutine() <= n })
}

// memory is what lives on the heap, and what the stacks take.
func memory() int64 {
	runtime.GC()
	runtime.GC() // what had a finalizer or lay in a sync.Pool
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// as returns err as an E.
func as[E error](t *testing.T, err error) (e E) {
	t.Helper()
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v, want %T", err, err, e)
	}
	return e
}

// matches demands that err is target.
func matches(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got %v, want %v", err, target)
	}
}
