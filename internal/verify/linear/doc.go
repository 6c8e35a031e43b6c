// Package linear records what real goroutines see of the library and checks it
// against sequential models: that every history could have happened one call at
// a time, each at some instant between its call and its return.
package linear
