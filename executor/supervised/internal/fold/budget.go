package fold

import (
	"fmt"
	"time"
)

// Budget bounds the restarts of the whole pool: at most Max of them within any
// Window, both ends included.
type Budget struct {
	Max    int
	Window time.Duration
}

// BudgetError denies a restart.
type BudgetError struct {
	Active int // charges in the window
	Max    int
	Window time.Duration
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("restart budget spent: %d of %d within %v", e.Active, e.Max, e.Window)
}

// charges are the instants of the restarts in the window.
//
// Invariant: they never decrease, are at most Budget.Max, and lie in the window
// of the newest.
type charges []time.Duration

// instant is the instant of a charge for an exit at at. Roles are served in
// declaration order, so an exit may be older than one that has been charged;
// that must not look like a clock that runs backwards.
func (c charges) instant(at time.Duration) time.Duration {
	if n := len(c); n > 0 {
		return max(at, c[n-1])
	}
	return at
}

// active returns how many charges count at that instant. A charge made at t
// still counts at t + window.
func (c charges) active(at, window time.Duration) int {
	for i, t := range c {
		if at-t <= window {
			return len(c) - i
		}
	}
	return 0
}

// charge adds a charge, and drops those that it puts outside the window.
func (c *charges) charge(at, window time.Duration) {
	n := copy(*c, (*c)[len(*c)-c.active(at, window):])
	*c = append((*c)[:n], at)
}
