// Package fold decides everything that a supervised pool decides: who gets a
// job, what a job's outcome is, who is restarted, and when the pool has ended.
//
// A [State] is moved by [State.Step], one event at a time, and answers with the
// actions that the event calls for. It starts nothing, waits for nothing, reads
// no clock and calls no foreign code; payloads, results, customers and workers
// are opaque to it, so a test drives it with numbers. The same state and event
// give the same actions.
//
// The package around it, supervised, is the shell: it performs the actions and
// feeds back what becomes of them. The fold assumes no order between facts of
// different kinds, even where the shell has one.
//
// An event is refused if its ids or the phase it speaks of do not match: then
// nothing changes, and the one action is a diagnostic.
package fold
