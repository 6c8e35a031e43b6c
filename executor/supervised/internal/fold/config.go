package fold

import "time"

// Interruption says what becomes of a job whose worker ended while it had it.
type Interruption uint8

const (
	Fail  Interruption = iota + 1 // the job is returned
	Retry                         // the job goes back to its place in the backlog
)

// Policy says which exits of a worker lead to a restart.
type Policy uint8

const (
	Permanent Policy = iota + 1 // every exit
	Transient                   // an abnormal exit
	Temporary                   // none
)

// OnLoss says what the pool does when a role has lost its worker for good.
type OnLoss uint8

const (
	RetireRole OnLoss = iota + 1 // go on with the others
	StopPool                     // begin shutdown
)

// Config is what a state is made of. The shell has checked it.
type Config struct {
	Pool        uint64 // tells this pool's assignments from another's
	Roles       int    // at least 1
	Backlog     int    // jobs that may wait when another is admitted
	Activations int    // activations at once, at least 1

	Interruption Interruption
	MaxAttempts  int // under Retry; 0 is no bound

	Policy  Policy
	OnLoss  OnLoss
	Budget  Budget  // unless Temporary
	Backoff Backoff // unless Temporary

	DrainWithin time.Duration // 0 waits for all

	First Counters // for tests
}
