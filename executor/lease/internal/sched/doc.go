// Package sched decides who gets the next free permit of a lease pool.
//
// It is pure: it starts, locks and reads nothing, and calls nobody but the
// [Caller] of a waiter, whose answers are two flags. The pool's owner drives
// it: it hands over one event at a time (Acquire, Deregister, Release, Hint,
// Sweep, Close, Fail; Cancel may come whenever the owner asks for
// cancellations), gets an [Effect] back, carries it out, and reports with
// Took, Committed or Next until the effect is Rest or Calm. Since granting is
// two effects, Take and Grant, a test can place any event between choosing a
// waiter and committing to it.
//
// Beside [Sched], which its owner alone touches, the package holds the content
// of the two things that the owner shares with callers: [Word], the gate, which
// the pool changes by compare-and-swap, and [Box], the mailbox, which the pool
// guards with a lock.
package sched
