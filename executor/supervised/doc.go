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
//   - No panic is lost, no lock is held while foreign code runs, and no outcome
//     depends on the order in which goroutines happen to run.
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
// Callbacks of a returned job's future, Discard methods and OnDiagnostic run on
// one goroutine of the pool's, in the order in which things were decided: one
// that is stuck delays the others, and [Pool.Done]. Callbacks of a completed
// job's future run on the goroutine that called Complete.
//
// Less formally: it is a supervisor that knows what its workers were doing.
// For users of OTP: the budget is for the whole pool, the strategy always one
// for one. For users of suture: Serve(ctx) error is familiar, but nil is a
// normal stop, and when the budget is spent the role is lost instead of pausing.
package supervised
