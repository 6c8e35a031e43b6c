// Package sim plays histories against the library and keeps books on it.
//
// A seed fixes a [History]: how the subjects are made (a pool with its wrappers,
// a timer, futures, a lease pool, a supervised pool, all on one clock) and a
// list of operations, faults among them. [Run] plays it in a synctest bubble,
// each operation until every goroutine has come to rest; then the ledgers are
// balanced. What an operation acts on is an argument modulo what there is, so
// that any part of a history is a history too, and [Shrink] can look for the
// shortest that fails.
//
// Foreign code is played by puppets: a task, a worker, a hook or a callback of
// the simulation stands still until an operation tells it to return, to fail, to
// panic, to exit, or to call back in. So at any step one thing moves, and
// what the library does is all that moves with it.
package sim
