package timer

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/cadre-go/cadre/timer/internal/schedule"
)

// Check returns an error if an invariant of the timer does not hold.
func Check(t *Timer) error {
	c := t.core
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := []error{c.queue.Check()}
	if n := len(c.goroutines); n > 2 || n > 1 && !c.aborted {
		errs = append(errs, fmt.Errorf("%d goroutines", n))
	}
	if c.queue.Len() > 0 && len(c.goroutines) == 0 {
		errs = append(errs, errors.New("nobody serves the queue"))
	}
	if c.closed.Load() && c.lenLocked() > 0 {
		errs = append(errs, fmt.Errorf("closed with %d entries", c.lenLocked()))
	}
	if c.queue.Next() < c.armed && c.armed != schedule.Never {
		errs = append(errs, errors.New("parked beyond the earliest deadline"))
	}
	for k := range c.aside {
		if !k.series.Running() || k.series.Stopped() {
			errs = append(errs, errors.New("a ticker without a run is aside"))
		}
	}
	if c.limit > 0 && c.lenLocked() > c.limit {
		errs = append(errs, fmt.Errorf("%d entries, limit %d", c.lenLocked(), c.limit))
	}
	return errors.Join(errs...)
}

// EntrySize is the size of the one allocation of a delay.
const EntrySize = unsafe.Sizeof(entry{})

// Syncs returns how many Syncs wait.
func Syncs(t *Timer) int {
	t.core.mu.Lock()
	defer t.core.mu.Unlock()
	return len(t.core.syncs)
}
