package timer

import (
	"context"
	"slices"

	"github.com/cadre-go/cadre/internal/goid"
)

// syncWait is one Sync.
type syncWait struct {
	look   uint64
	answer chan error // of capacity 1
}

// Sync returns nil when everything that was due at the call has fired, its
// callbacks included, and the goroutine is parked on what is left. A test that
// moves a mock clock calls it after each move. A timer that has not started its
// goroutine has nothing to wait for.
//
// If ctx ends first Sync returns a [*future.InterruptedError]; on a timer that
// is closed, or closes meanwhile, [ErrClosed]; on the timer's own goroutine,
// where it could not return, an error at once. A nil ctx is a [*ConfigError].
func (t *Timer) Sync(ctx context.Context) error {
	if ctx == nil {
		return nilContext()
	}
	c := t.core
	if c == nil {
		return t.error(ErrClosed)
	}
	if c.inside(goid.ID()) {
		return t.error(errSyncInside)
	}
	w, err := c.sync()
	if w == nil {
		return err
	}
	select {
	case err := <-w.answer:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-w.answer:
		return err
	default:
		c.desync(w)
		return interrupted(ctx)
	}
}

// sync registers a wait, or returns none and the answer.
func (c *core) sync() (*syncWait, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		return nil, c.error(ErrClosed)
	}
	if len(c.goroutines) == 0 {
		return nil, nil
	}
	c.looks++
	w := &syncWait{c.looks, make(chan error, 1)}
	c.syncs = append(c.syncs, w)
	c.kickLocked()
	return w, nil
}

func (c *core) desync(w *syncWait) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.syncs, w); i >= 0 {
		c.syncs = slices.Delete(c.syncs, i, i+1)
	}
}

// answer tells the syncs that came before a look that it is over.
func (c *core) answer(looks uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.syncs) > 0 && c.syncs[0].look <= looks {
		c.syncs[0].answer <- nil
		c.syncs = slices.Delete(c.syncs, 0, 1)
	}
}
