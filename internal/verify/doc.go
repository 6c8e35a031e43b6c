// Package verify is the part of the tests that looks for faults between the
// packages, through their public API alone. It is a module of its own, so that
// what it needs stays out of the library's go.mod.
//
//   - sim runs histories: operations and faults that a seed fixes, over all
//     packages together, with ledgers that are balanced after every step.
//   - linear records what real goroutines see, and checks it against
//     sequential models.
//   - planted has patches, each of which breaks the library in one place, and a
//     test that sees to it that sim finds them.
//   - soak keeps everything under load for long, and demands that nothing grows.
//   - edge goes to the bounds: a million of one thing, a full disk, a limit of
//     memory, a process that is told to stop.
//
// docs/reliability.md says what was run and what came of it.
package verify
