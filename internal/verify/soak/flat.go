package main

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// A trend is a series over the rests of a run and how far its last third may
// exceed its first: by a factor, and by an amount besides. One that other
// programs of the machine disturb grows only if it also rises.
type trend struct {
	name   string
	unit   string
	values []float64
	factor float64
	beside float64
	noisy  bool
}

// ends are the medians of the first and of the last third.
func (t trend) ends() (first, last float64) {
	third := len(t.values) / 3
	return median(t.values[:third]), median(t.values[len(t.values)-third:])
}

// grows reports whether t is not flat.
func (t trend) grows() bool {
	first, last := t.ends()
	return last > first*t.factor+t.beside && (!t.noisy || rises(t.values))
}

// rises is the Mann-Kendall test for a trend upward (Mann, Econometrica 13, 1945;
// Kendall, Rank Correlation Methods, 1975), at one in a thousand: noise alone has
// as many pairs that fall as pairs that rise.
func rises(values []float64) bool {
	balance := 0
	for i, v := range values {
		for _, later := range values[i+1:] {
			balance += cmp.Compare(later, v)
		}
	}
	n := float64(len(values))
	deviation := math.Sqrt(n * (n - 1) * (2*n + 5) / 18)
	return float64(balance-1) > 3.09*deviation
}

func (t trend) String() string {
	first, last := t.ends()
	verdict := "flat"
	if t.grows() {
		verdict = "GROWS"
	}
	return fmt.Sprintf("%-28s %10.4g -> %-10.4g %-14s allowed: %.4g  %s", t.name, first, last, t.unit, first*t.factor+t.beside, verdict)
}

// leastRests is how many it takes for a trend: with fewer even a series that
// always rises could be noise.
const leastRests = 9

// trends are what has to be flat. A latency is compared with the reference's of
// the same spell: what slows down a plain timer and a channel is the machine.
func (r *run) trends() []trend {
	series := func(value func(rest) float64) (out []float64) {
		for _, at := range r.rests {
			out = append(out, value(at))
		}
		return out
	}
	out := []trend{
		{"memory at rest", "bytes", series(func(at rest) float64 { return float64(at.heap) }), 1.05, 256 << 10, false},
		{"goroutines at rest", "", series(func(at rest) float64 { return float64(at.goroutines) }), 1, 0, false},
		{"goroutines under load", "", series(func(at rest) float64 { return float64(at.most) }), 1.25, 16, true},
	}
	reference := -1
	for i, d := range r.desks {
		if d.name == referenceName {
			reference = i
		}
	}
	for i, d := range r.desks {
		if i == reference {
			continue
		}
		out = append(out, trend{"queue of " + d.name, "", series(func(at rest) float64 { return at.desks[i].depth }), 1.5, 4, true})
		if reference < 0 {
			continue
		}
		relative := func(at rest, of func(reading) time.Duration) float64 {
			return float64(of(at.desks[i])) / float64(max(of(at.desks[reference]), 1))
		}
		out = append(out,
			trend{"median latency of " + d.name, "x reference", series(func(at rest) float64 {
				return relative(at, func(r reading) time.Duration { return r.p50 })
			}), 2, 0, true},
			trend{"99 % latency of " + d.name, "x reference", series(func(at rest) float64 {
				return relative(at, func(r reading) time.Duration { return r.p99 })
			}), 3, 0, true})
	}
	return out
}
