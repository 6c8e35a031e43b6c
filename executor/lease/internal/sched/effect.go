package sched

// Kind is what an [Effect] asks the owner to do.
type Kind uint8

const (
	// Rest: nothing; waiters are queued, so the demand stays.
	Rest Kind = iota
	// Calm: clear the demand, unless the mailbox has an acquisition. Nobody
	// is queued.
	Calm
	// Prune: call Cancel for every waiter that has left, then Next.
	Prune
	// Take: take a permit from the gate, then Took.
	Take
	// Grant: settle Waiter with the permit in hand, unless it has left, then
	// Committed.
	Grant
	// Put: return the permit in hand to the gate, then Next.
	Put
	// Reject: settle Waiter with Reason, unless it has left, then Next.
	Reject
	// Drop: Waiter has left and nobody has it any more; then Next.
	Drop
	// Stop: everybody is settled, and this is the last effect but Rest.
	Stop
)

// Effect is the one thing that the owner does next.
type Effect struct {
	Kind   Kind
	Waiter *Waiter // of Grant, Reject and Drop
	Reason Reason  // of Reject
}

// Done reports whether the event has been dealt with.
func (e Effect) Done() bool { return e.Kind <= Calm }

// Reason is why a waiter is rejected.
type Reason uint8

const (
	// Open is the Reason of nothing: the scheduler has not ended.
	Open Reason = iota
	// Closed: the pool was closed.
	Closed
	// Failed: the pool failed.
	Failed
	// Barred: the waiter's handle was closed.
	Barred
	// Saturated: too many wait.
	Saturated
)
