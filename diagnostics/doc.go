// Package diagnostics carries what a log line should say about its caller
// (a trace id, a tenant, a request) from the code that starts a piece of work
// to the goroutine that does it.
//
// Attributes live in the context. [With] makes a child that carries more.
// [Capture] takes what a context carries, as a [Snapshot]; whoever runs the
// work elsewhere calls [Snapshot.Install], which opens a task scope: a place of
// the task's own that starts as exactly the snapshot and that [Set] writes to.
// The executors of this module do both for every task that they accept.
// [NewHandler] puts the attributes on log records.
//
// # What it promises
//
//   - A snapshot is taken by the call that names the logical caller (each
//     Post, Submit, Delay, Then and Every of this module), never when a pool,
//     a timer or an adapter is built. An object that is used again under
//     another context picks up that context.
//   - A snapshot never changes. A later With or Set, by the caller or by the
//     task, does not alter it.
//   - A task scope starts as exactly its snapshot. A key that is absent there
//     is absent in the task, whatever the context below carries; a key that is
//     present with an empty value is present.
//   - What a task Sets is seen by the task and by what it goes on to submit,
//     and by nobody else.
//   - With under a scope hides the key from then on, in the child that it
//     returns. Set writes to the innermost scope, below any With: a key that a
//     With has hidden stays hidden.
//   - Each key is there once. A key that is written again takes the new value
//     and keeps its place in [Snapshot.All], where what the scope holds comes
//     before what With has laid over it.
//   - No attributes is an ordinary case: [Capture] copies no entries and
//     allocates nothing, and installing an empty snapshot hides everything
//     below it.
//
// Everything here may be used by any number of goroutines at once. Set
// happens before a Value, Capture or log record that sees what it wrote.
//
// # What it refuses
//
//   - Values are shared, not copied. A pointer, a slice or a map in an
//     attribute is the same one for the caller, the snapshot and the task; who
//     changes what it points to needs a lock of their own.
//   - There is no way to delete a key, and no ambient state: nothing is kept
//     per goroutine, so code without a context sees no attributes.
//   - A [log/slog.LogValuer] is kept as it is and asked each time that a
//     record is written.
//   - The package starts no goroutine, holds no default logger and keeps
//     profiler labels alone; those are the executors' business.
//
// A nil context is a programming error: every function here panics and says
// which one it was.
package diagnostics
