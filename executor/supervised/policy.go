package supervised

import (
	"time"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
)

// Interruption says what becomes of a job whose worker ended while it had it.
// The zero value is invalid.
type Interruption uint8

const (
	// Fail returns the job: it is tried at most once.
	Fail Interruption = iota + 1
	// Retry puts the job back where it stood: it is tried at least once. The
	// worker may have acted before it died.
	Retry
)

// OnLoss says what the pool does when a role has lost its worker for good. The
// zero value is invalid.
type OnLoss uint8

const (
	RetireRole OnLoss = iota + 1 // go on with the other roles
	StopPool                     // shut down
)

// Budget bounds the restarts of the whole pool: at most Max within any Window,
// both ends included. A Max of 0 denies every restart.
//
// A budget that can never be spent is a mistake that [New] reports. Max+1
// restarts, spread evenly over the roles, make k = ceil((Max+1)/roles) of one
// role, of which the last comes after k-1 delays at the earliest; if the
// [Backoff]'s first k-1 delays together exceed Window, the first charge has left
// the window by then. So a long backoff wants a small Max or a long Window.
type Budget struct {
	Max    int
	Window time.Duration
}

// Backoff is the delay before each restart of a role. It is built by
// [Immediate], [Constant], [Linear] or [Exponential]; the zero value is invalid.
type Backoff struct{ b fold.Backoff }

// Immediate is no delay.
func Immediate() Backoff { return Backoff{fold.Backoff{Kind: fold.Immediate}} }

// Constant is the same delay each time.
func Constant(d time.Duration) Backoff {
	return Backoff{fold.Backoff{Kind: fold.Constant, Initial: d, Max: d}}
}

// Linear is initial times the number of the role's restart, up to most.
func Linear(initial, most time.Duration) Backoff {
	return Backoff{fold.Backoff{Kind: fold.Linear, Initial: initial, Max: most}}
}

// Exponential is initial, and twice as long at each restart of the role, up to
// most.
func Exponential(initial, most time.Duration) Backoff {
	return Backoff{fold.Backoff{Kind: fold.Exponential, Initial: initial, Max: most}}
}

// Recovery says which exits lead to a restart, within what budget and after
// which delay, and what a loss means. It is built by [Permanent], [Transient] or
// [Temporary]; the zero value is invalid.
type Recovery struct {
	policy  fold.Policy
	budget  Budget
	backoff Backoff
	onLoss  OnLoss
}

// Permanent restarts a worker however it ended.
func Permanent(budget Budget, backoff Backoff, onLoss OnLoss) Recovery {
	return Recovery{fold.Permanent, budget, backoff, onLoss}
}

// Transient restarts a worker that ended abnormally: by an error, a panic, a
// Goexit, a failed activation, or because it could not be given a job.
func Transient(budget Budget, backoff Backoff, onLoss OnLoss) Recovery {
	return Recovery{fold.Transient, budget, backoff, onLoss}
}

// Temporary restarts no worker.
func Temporary(onLoss OnLoss) Recovery { return Recovery{policy: fold.Temporary, onLoss: onLoss} }
