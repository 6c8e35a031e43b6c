// Package pools has the ways of running tasks that the workloads compare: this
// module's pool, those of other libraries, and what one would write by hand.
package pools

import "runtime"

// Kind is one way of running tasks on a number of goroutines.
type Kind struct {
	Name  string
	Peer  bool   // somebody's package, as opposed to a few lines of one's own
	Full  string // what a producer meets when there is no room
	Lacks string // what this module's pool does for a task and this one does not
	Queue bool   // tasks that have no goroutine yet wait in a queue of its own

	Start func(workers, queue int) Pool
}

// Pool is a started Kind.
type Pool struct {
	// Load makes tasks what the kind runs, which is not part of any figure. Post
	// then has tasks[i] run; it returns when that is accepted. One task may be
	// posted many times.
	Load func(tasks []func()) (post func(i int))
	// Close lets go of the pool when all that was posted has run.
	Close func()
}

// rejecting makes a Pool of one that says no when it is full: the producer
// yields and tries again.
func rejecting[T any](convert func(func()) T, try func(T) bool, closing func()) Pool {
	return blocking(convert, func(task T) {
		for !try(task) {
			runtime.Gosched()
		}
	}, closing)
}

// blocking makes a Pool of one whose producers wait in it, or for which there
// is always room.
func blocking[T any](convert func(func()) T, put func(T), closing func()) Pool {
	return Pool{
		Load: func(tasks []func()) func(int) {
			converted := make([]T, len(tasks))
			for i, task := range tasks {
				converted[i] = convert(task)
			}
			return func(i int) { put(converted[i]) }
		},
		Close: closing,
	}
}

// plain is the conversion of a kind that runs functions as they are.
func plain(task func()) func() { return task }

// check panics with an error that no workload can go on after.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
