// Command soak keeps all packages together under load for as long as it is told,
// on real goroutines, real sockets and the real clock, and demands that nothing
// grows.
//
// A run alternates between load and rest. Under load, clients put more on each
// subject than it has room for, in a steady mix of work, failures, panics,
// cancels and crashes; a sampler checks what holds at every instant, and how
// much is queued. At rest all that was begun has ended: the books balance to the
// last entry, and memory and goroutines are measured where the load does not
// blur them. What is measured has to be flat from the first third of the rests to
// the last.
//
// There is a desk for each subject, with its clients and its [book]: tasks, an
// HTTP client and its server, leases of TCP connections, jobs of workers that
// crash, delays and tickers, and whole sets of all these that are made and shut
// down. A desk of plain time.AfterFunc and channels is the reference for latency:
// what slows that down is the machine's.
package main
