package fold

// Identities. Each kind has a counter of its own, begins at 1 and is never used
// again; zero names nothing, but for [DrainTimer].
type (
	JobID        uint64 // public name of an accepted job
	Ordinal      uint64 // its place in the total order of admissions
	AssignmentID uint64 // one dispatch of one job to one incarnation
	Incarnation  uint64 // one goroutine serving one role
	PrepID       uint64 // one call of the factory
	TimerID      uint64 // one restart delay, or the drain timer
	StopID       uint64 // one request to stop
)

// DrainTimer is the reserved identity of the timer that bounds a drain. No
// restart timer ever has it.
const DrainTimer TimerID = 0

// None stands for no role where an index is asked for.
const None = -1

// counter issues identities in order, its last one once, and is exhausted from
// then on.
//
// Invariant: next is the next identity, or zero when all have been issued.
type counter[T ~uint64] struct{ next T }

// issue returns the next identity, or false if there is none left. It never
// wraps around.
func (c *counter[T]) issue() (T, bool) {
	id := c.next
	if id == 0 {
		return 0, false
	}
	c.next++ // from the largest value to zero: exhausted
	return id, true
}

// left reports whether issue would succeed.
func (c *counter[T]) left() bool { return c.next != 0 }

// issued reports whether id has been issued.
func (c *counter[T]) issued(id T) bool { return id != 0 && (c.next == 0 || id < c.next) }

// Counters are the first identities that a state issues. A zero stands for 1;
// tests begin close to the end.
type Counters struct {
	Job         JobID
	Ordinal     Ordinal
	Assignment  AssignmentID
	Incarnation Incarnation
	Prep        PrepID
	Timer       TimerID
	Stop        StopID
	Recovery    uint64 // of each role
}

func from[T ~uint64](first T) counter[T] { return counter[T]{max(first, 1)} }
