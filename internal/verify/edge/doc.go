// Package edge goes to where the library's bounds are, or where those of the
// machine come first, and measures what is there.
//
//   - tasks, delays, waiters, posters, workers and crashes are large numbers of
//     one thing: a million tasks in one queue, a million delays, 100,000 waiters,
//     10,000 workers that die at once.
//   - logger is a log that is full, closed, slow or broken.
//   - memory is a process that has reached its GOMEMLIMIT.
//   - stop is a process that is told to stop in the middle of its work.
//
// Asserted are counts, outcomes, memory, goroutines, and that everything ends.
// Time is printed and not asserted, except that every wait has a bound. What a
// thing costs is taken at two sizes, ten times apart: the ratio of both shows a
// cost that grows with the number of things.
//
// The processes of memory and stop are the test binary again; see child.
// EDGE_SIZE=full, which "make edge" sets, has the numbers above; without it they
// are a tenth.
package edge
