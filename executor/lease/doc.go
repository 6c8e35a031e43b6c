// Package lease lends a fixed number of slots, each with one resource, to
// callers who take turns: connections behind a transport, in the main.
//
// What it promises:
//
//   - A slot's resource is connected when it is first needed, one Connect at a
//     time, and is disposed of exactly once, unless it was detached.
//   - A permit is either free, or somebody's: of a lease, of an Acquire on its
//     way to one, or in the owner's hand for one step. No cancellation, panic or
//     runtime.Goexit loses or doubles one.
//   - Whoever waits is served in order: handle by handle ([RoundRobin]) or first
//     come, first served ([FIFO]). A newcomer overtakes nobody.
//   - A resource that an operation may have left in an unknown state is not lent
//     on: see [Lease.Run], [Lease.MarkDirty] and [Lease.Arm]. One that is sound is
//     lent on as it is: a deadline that was set on a connection, or bytes that
//     were not read, are there for the next lease.
//   - A release waits for nobody, and works on a pool that was closed or has
//     failed as it does on an open one.
//   - A panic in a hook or in the pool fails it for good, and everybody is told.
//
// Less formally: acquire a lease, use its Value, release it; or let [Pool.Do] do
// all three. Give each client of its own a [Handle], so that one with a long
// queue does not crowd out the others. Close the pool when done.
//
// What it refuses to do: read or write on a resource, change the number of slots,
// weigh one handle more than another, keep a handle to one slot, connect ahead
// of need, try a Connect again. A Connect that retries, or a Validate that pings,
// is the caller's to write.
//
// One goroutine per pool, its owner, holds all of the scheduling state, and
// callers reach it through a mailbox. Ahead of it lies one atomic word, the
// gate, that counts the free permits: while nobody waits, an Acquire and a
// Release are one atomic operation on it each, beside the slot's own lock, and
// the owner sleeps. A lock that every caller enters would do as well for
// correctness, and leave no single series of decisions to supervise, to fail
// for good or to replay in tests; a message to the owner for each call would
// cost two switches of goroutine even when nothing else goes on.
//
// A Pool that is dropped closes itself when the garbage collector notices,
// which may be never: Close is the contract. Hooks must not capture the Pool or
// a Handle.
package lease
