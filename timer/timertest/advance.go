package timertest

import (
	"context"
	"testing"
	"time"

	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/internal/testwait"
)

// Syncer is what [Advance] waits for after each step: a [timer.Timer], or an
// executor.Pool.
type Syncer interface {
	Sync(ctx context.Context) error
}

// Advance moves m by d and stops at every time for which a timer of m is armed,
// those included that come to be armed on the way, to call s.Sync. So delays
// fire in order and each at its own time, also those that the callbacks of
// others make.
//
// It is bounded by the test's deadline, and by 10 s if there is none. When that
// has passed, and when Sync returns an error, it fails the test and shows the
// stacks of all goroutines. A nil m or s panics.
func Advance(t testing.TB, m *Mock, s Syncer, d time.Duration) {
	t.Helper()
	if m == nil || s == nil {
		panic("timertest: Advance without a clock or without a Syncer")
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound(t))
	defer cancel()
	sync := func() {
		t.Helper()
		err := s.Sync(ctx)
		if err == nil {
			err = ctx.Err() // a step takes no time, but there may be too many
		}
		if err != nil {
			t.Fatalf("timertest: Advance: at %v: %v; all goroutines:\n\n%s", m.Now(), err, testwait.Stacks())
		}
	}
	end := m.Now().Add(d)
	sync()
	for {
		at, ok := m.next()
		if !ok || !at.Before(end) {
			break
		}
		m.Set(at)
		sync()
	}
	m.Set(end)
	sync()
}

// bound returns how long t may wait: until a moment before its deadline, so
// that the failure can still be printed.
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
