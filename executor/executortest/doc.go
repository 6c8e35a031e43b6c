// Package executortest is for tests of code that is handed an
// [executor.Executor], and of executors.
//
// [Manual] runs tasks when the test says so, on the test's goroutine.
// [Saturated] and [Closed] accept nothing, each for its own reason.
// [Conformance] is a suite of what every executor has to keep.
package executortest
