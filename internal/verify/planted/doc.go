// Package planted has patches, each of which breaks the library in one place,
// and a test that sees to it that the simulation finds each of them. The first
// line of a patch says what it breaks. `make sim-planted` runs the test.
package planted
