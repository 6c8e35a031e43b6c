package edge

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/cadre-go/cadre/future"
)

// TestFuture has 100,000 wait for one future.
func TestFuture(t *testing.T) {
	t.Run("goroutines", func(t *testing.T) { atTwoSizes(t, 100_000, awaitOne) })
	t.Run("callbacks", func(t *testing.T) { atTwoSizes(t, 100_000, listenToOne) })
	t.Run("derived futures", func(t *testing.T) { atTwoSizes(t, 100_000, deriveFromOne) })
}

// awaitOne has half of those that wait lose patience before the value comes.
func awaitOne(c *costs) {
	t, before, empty := c.t, runtime.NumGoroutine(), memory()
	completer := future.NewCompleter[int]()
	f := completer.Future()
	patience, cancel := context.WithCancel(context.Background())
	defer cancel()
	var values, interrupted atomic.Int64
	impatient, patient := newCrowd(t), newCrowd(t)
	wait := func(ctx context.Context) {
		switch v, err := f.Await(ctx); {
		case err == nil && v == 7:
			values.Add(1)
		case errors.As(err, new(*future.InterruptedError)) && errors.Is(err, context.Canceled):
			interrupted.Add(1)
		}
	}
	c.took("one future: Await", func() {
		patient.add(c.n/2, func(int) { wait(context.Background()) })
		impatient.add(c.n/2, func(int) { wait(patience) })
		impatient.settle(c.n)
	})
	c.holds("goroutines that await one future", empty, memory(), 4096)
	c.took("one future: end of the contexts of half", func() {
		cancel()
		impatient.gone()
	})
	equal(t, "interrupted", interrupted.Load(), int64(c.n/2))
	c.took("one future: value for the others", func() {
		equal(t, "Complete", completer.Complete(7), true)
		patient.gone()
	})
	equal(t, "values", values.Load(), int64(c.n/2))
	goroutines(t, before)
}

func listenToOne(c *costs) {
	t, empty := c.t, memory()
	completer := future.NewCompleter[int]()
	next, wrong := 0, 0
	c.took("one future: OnSettle", func() {
		for i := range c.n {
			completer.Future().OnSettle(func(o future.Outcome[int]) {
				if i != next || o.Value != 7 {
					wrong++
				}
				next = i + 1
			})
		}
	})
	c.holds("callbacks of one future", empty, memory(), 256)
	c.took("one future: callbacks", func() { completer.Complete(7) })
	equal(t, "the last callback", next, c.n)
	equal(t, "callbacks out of order", wrong, 0)
	c.back("callbacks of one future", empty, nothing)
}

// deriveFromOne has what is derived from a future that lives on come and go.
func deriveFromOne(c *costs) {
	t, empty := c.t, memory()
	completer := future.NewCompleter[int]()
	source := future.Shield(completer.Future())
	derived := make([]*future.Future[int], c.n)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	bare := memory()
	c.took("one future: Then", func() {
		for i := range derived {
			derived[i] = future.Then(ctx, future.Shield(source), func(_ context.Context, v int) (int, error) { return v, nil })
		}
	})
	c.holds("futures derived from one", bare, memory(), 2048)
	c.took("one future: the end of what was derived", cancel)
	until(t, "all are canceled", func() bool {
		for i := len(derived) - 1; i >= 0; i-- {
			if o, ok := derived[i].Outcome(); !ok {
				return false
			} else if !o.Canceled() {
				t.Fatalf("%d: %v", i, o)
			}
			derived = derived[:i]
		}
		return true
	})
	derived = nil
	c.back("futures derived from one that lives on", empty, nothing)
	equal(t, "Complete", completer.Complete(1), true)
	runtime.KeepAlive(source)
}
