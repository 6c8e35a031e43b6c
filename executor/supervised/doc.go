// Package supervised runs jobs on a fixed number of supervised workers behind
// one bounded first-in-first-out backlog, and loses none of them: every
// accepted job ends in exactly one outcome, whatever order deliveries, results,
// worker exits, restarts and shutdown arrive in.
//
// A worker is an object with state (an open index, a connection, a device) that
// a [Factory] makes for a [Role]. It serves jobs until it ends, by returning,
// failing, panicking, calling runtime.Goexit or being told to stop; the pool
// then resolves the job that it had, and looks after the role.
//
// What the package promises:
//
//   - A job is accepted or rejected at once. A rejected one comes back with the
//     error; an accepted one completes, or comes back in a [*ReturnedError].
//   - Jobs are assigned in the order of their admission, to the roles in turn.
//     A job that goes back to the backlog keeps its place.
//   - An incarnation has at most one assignment. Completing it succeeds at most
//     once, and never after its job was seen to come back.
//   - Restarts follow a policy, at most a budget of them within any window, each
//     after its delay. Start, activation, exit and the factory are watched, so
//     none of them can hang the others.
//   - Shutdown returns what is queued and assigned, asks each worker to stop
//     once, and waits for all of them, or for as long as [Config].DrainWithin
//     says; then it lists who has not ended.
//   - No panic is lost, and no lock is held while foreign code runs.
//   - In every order in which things can happen each job has one outcome. Which
//     one that is may depend on the order: a job that is submitted just before
//     its worker ends and one just after may fare differently.
//
// What it refuses to do: it does not run a job exactly once (under [Retry] a job
// may have had its effect before its worker died, so an idempotency key belongs
// in J), does not persist anything, kill a goroutine, wait for room, or give a
// job to a particular worker.
//
// Under Retry, a job that kills its worker is tried again until
// [Config].MaxAttempts or the restart budget is spent.
//
// Unless [Config].Clone is set, a worker shares the payload with the pool: a job
// that is returned or retried may show what a worker did to it through pointers.
//
// # Where foreign code runs
//
// Callbacks of a returned job's future, OnDiagnostic, and Discard of a worker
// that was never started run on one goroutine of the pool's, in the order in
// which things were decided: one that is stuck delays the others, and
// [Pool.Done]. A worker that was started and is not to serve any more is
// discarded on its own goroutine. What comes up after the pool has ended, as by
// a late Complete, is run on such a goroutine too, for which that call waits.
//
// Callbacks of a completed job's future run on the goroutine that called
// Complete, which mostly is the worker's. The worker gets its next job when they
// have run: that one is assigned by then, and waits for this worker even if
// another is idle. So a callback that waits for another job of the pool blocks
// both, for ever, if that job has fallen to this worker.
//
// # At shutdown
//
// Shutdown returns the jobs that are running. A worker that completes one after
// that gets [ErrStaleAssignment], and the pool a [StaleCompletion] fault with the
// result. A worker that looks at the assignment's context before it completes
// avoids both:
//
//	if ctx.Err() != nil {
//		return nil // the job has been returned
//	}
//	return a.Complete(result)
//
// A [HandlerFunc] that returns the error of such a late Complete as it is ends
// normally. A Serve of one's own returns nil for that, as it does for
// [ErrInboxClosed]: every other error of Serve is an abnormal exit.
//
// Diagnostics can arrive after Shutdown has returned. After [Pool.Done] only a
// Complete that comes too late leads to one.
//
// Less formally: it is a supervisor that knows what its workers were doing.
// For users of OTP: the budget is for the whole pool, the strategy always one
// for one. For users of suture: Serve(ctx) error is familiar, but nil is a
// normal stop, and when the budget is spent the role is lost instead of pausing.
package supervised
