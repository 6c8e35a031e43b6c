// Package future provides one value, later, with typed errors.
//
// A producer holds a [Completer] and settles it once; everybody else holds its
// [Future] and awaits it, attaches functions to it, or cancels it.
//
// What the package promises:
//
//   - A future settles exactly once, with one value or one error. Every later
//     Complete, Fail, Cancel and Abandon returns false and changes nothing.
//   - [Future.Await] returns the identical error that Fail was given.
//   - A value that nobody can receive any more, because the future had been
//     canceled, is disposed of exactly once. A value that was delivered never
//     is.
//   - No goroutine waits for a pending future, whatever is attached to it.
//   - No lock is held while a callback runs, so a callback may call anything.
//   - Settling happens before every return of Await, every close of Done and
//     every callback that shows the outcome.
//
// Less formally: it is a channel of one value that many can read, that can be
// canceled from the far end, and that cannot be left hanging by a panic.
//
// Callbacks ([Future.OnSettle], [Completer.OnCancel], the functions given to
// [Then] and [Recover]) run on the goroutine that settles the future, or on
// the caller's if it has settled already. A settle that the end of a context
// brings about runs them on a goroutine that package context starts for it.
//
// The package starts no goroutine, schedules nothing and retries nothing: work
// that has to run somewhere belongs to package executor, delays belong to
// package timer.
package future
