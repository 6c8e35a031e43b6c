package edge

import (
	"fmt"
	"testing"
	"time"
)

// What may be kept of a thing that has ended.
const (
	nothing   = 8
	goroutine = 1024
)

// costs has what the stages of a case take of the processors a thing, at one
// number of things.
type costs struct {
	t     *testing.T
	n     int
	names []string
	each  map[string]float64 // ns, the collector's included
}

// took runs one stage, and notes what it took.
func (c *costs) took(stage string, fn func()) {
	started := cpu()
	fn()
	c.note(stage, cpu()-started)
}

func (c *costs) note(stage string, took time.Duration) {
	c.names = append(c.names, stage)
	c.each[stage] = float64(took) / float64(c.n)
}

// holds fails the test if n things take more than most bytes each.
func (c *costs) holds(what string, before, after, most int64) {
	c.t.Helper()
	each := (after - before) / int64(c.n)
	c.t.Logf("%9d %s: %d bytes each", c.n, what, each)
	if each > most {
		c.t.Errorf("%d %s take %d bytes each, more than %d", c.n, what, each, most)
	}
}

// back fails the test if more than each byte a thing, and some slack, is not
// given back. The runtime keeps what describes a goroutine for the next one.
func (c *costs) back(what string, before, each int64) {
	c.t.Helper()
	kept := memory() - before
	c.t.Logf("%9d %s: %d KiB kept in the end", c.n, what, kept>>10)
	if kept > 1<<20+each*int64(c.n) {
		c.t.Errorf("%s: %d bytes were not given back", what, kept)
	}
}

// atTwoSizes plays a case with a tenth of n things and with n, and prints what
// they took.
func atTwoSizes(t *testing.T, n int, play func(c *costs)) {
	t.Helper()
	var both [2]*costs
	for i, n := range sizes(n) {
		both[i] = &costs{t: t, n: n, each: map[string]float64{}}
		play(both[i])
		if t.Failed() {
			return
		}
	}
	for _, stage := range both[1].names {
		small, large := both[0].each[stage], both[1].each[stage]
		t.Logf("%-40s %8s each of %d, %8s each of %d: ratio %.1f",
			stage, nanos(small), both[0].n, nanos(large), both[1].n, large/small)
	}
}

func nanos(ns float64) string {
	if ns >= 10_000 {
		return fmt.Sprintf("%.1f µs", ns/1000)
	}
	return fmt.Sprintf("%.0f ns", ns)
}
