// Package timer fires delays and periodic functions from one parked goroutine,
// by a clock that can be injected.
//
// What the package promises:
//
//   - A timer has one goroutine, started by the first delay or ticker, parked
//     until the nearest deadline. It never polls, and a delay costs no
//     goroutine.
//   - Nothing fires early by the timer's clock. Delays fire in the order of
//     their deadlines, those of one deadline in the order of the calls.
//   - A delay that is canceled, abandoned or whose context ends leaves the timer
//     at once. A Cancel that returned true means that it never fires.
//   - A panic or Goexit of a callback is reported once, with the context that
//     the delay was made under, and the others are served.
//   - Each callback runs under the pprof labels of its own delay's context, and
//     leaves none behind.
//   - Shutdown settles every outstanding delay, whatever the callbacks do, and
//     a Delay that races it settles too.
//   - No lock is held while a callback, a logger or a clock is called, so each
//     may call anything on the same timer; on the timer's own goroutine Close
//     and Shutdown do not wait, and Sync returns an error.
//   - With a mock clock, moving it and then calling [Timer.Sync] means that
//     every due entry has fired. With a nil Clock the timer works in a
//     testing/synctest bubble.
//
// What it refuses to do: it has no second goroutine for slow callbacks, so one
// that is stuck delays all later ones, and one that waits for another delay of
// the same timer waits for ever. Work of any length belongs on an
// executor.Pool, whose Every runs on its workers. It makes up for no tick that
// was missed, retries nothing, and does not follow a wall clock that is set: a
// deadline is a number of nanoseconds on the clock that the timer was made
// with.
//
// Less formally: it is time.AfterFunc with a future for a handle, one goroutine
// for everything, and an owner that can close it.
package timer
