// Package executor runs tasks on a fixed number of goroutines behind one
// bounded queue.
//
// What a [Pool] promises:
//
//   - Post never blocks: a task is accepted, or refused with a typed error, at
//     once. Capacity is exact.
//   - Accepted tasks leave the queue in the order of acceptance, and each has
//     exactly one outcome: it ran to its end, panicked, called
//     [runtime.Goexit], was canceled before it began, or was discarded by a
//     shutdown that ran out of time. [Pool.Stats] accounts for all of them at
//     every instant.
//   - A worker cannot die, and nothing that one task leaves behind reaches the
//     next: no context, diagnostics or pprof labels.
//   - A task gets its caller's values, a diagnostic scope of its own, and the
//     pool's lifetime; see [Submit] for what ends one early.
//   - A task that awaits, under its own context, a future that depends on a
//     queued task of the same pool lends its slot to it: nesting cannot starve
//     a pool, whatever its size.
//   - Shutdown drains; when its context ends it discards what has not started,
//     cancels what has, and says what was left. Close may be called from
//     anywhere, a task of the pool included.
//   - No lock is held while foreign code runs.
//
// What happened before a Post happens before its task; what happened in a
// submitted function happens before whatever shows its outcome.
//
// What it refuses to do: it does not grow or shrink, has no priorities, and
// retries nothing. It cannot see a wait that is not an Await under the task's
// own context: a task that blocks on a channel, or awaits under
// [context.Background], holds its worker. Two pools whose tasks wait for one
// another can starve each other.
//
// Less formally: a channel of functions with a few goroutines behind it, which
// says no instead of blocking, keeps the books, and can be closed.
package executor
