package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"
)

// A rest is what was measured at one rest, and in the spell of load before it.
type rest struct {
	at         time.Duration // since the beginning
	heap       uint64        // bytes of live objects at rest, after a collection
	goroutines int           // at rest
	most       int           // goroutines under load
	desks      []reading     // in the order of the run's desks
}

// A reading is of one desk and one spell.
type reading struct {
	name     string
	ops      uint64
	p50, p99 time.Duration
	depth    float64 // what was queued, on average
	deepest  int
}

func (r rest) brief() string {
	return fmt.Sprintf("%7.0fs  %6.2f MB, %3d goroutines at rest; %4d under load",
		r.at.Seconds(), float64(r.heap)/1e6, r.goroutines, r.most)
}

// A meter looks at the desks while they are under load. A nil meter only lets
// them check what holds at every instant.
type meter struct {
	desks []*desk
	looks int
	sums  []int
	rest  rest
}

func newMeter(desks []*desk) *meter {
	m := &meter{desks: desks, sums: make([]int, len(desks))}
	for _, d := range desks {
		d.latency.drain()
		m.rest.desks = append(m.rest.desks, reading{name: d.name})
	}
	return m
}

func (m *meter) look() {
	if m == nil {
		return
	}
	m.looks++
	m.rest.most = max(m.rest.most, runtime.NumGoroutine())
	for i, d := range m.desks {
		depth := d.watch()
		m.sums[i] += depth
		m.rest.desks[i].deepest = max(m.rest.desks[i].deepest, depth)
	}
}

// measure reads what there is at rest. Goroutines that are about to end are
// waited for: the count is taken when it has not changed for a while.
func (m *meter) measure(ctx context.Context, at time.Duration) rest {
	if m == nil {
		m = newMeter(nil)
	}
	m.rest.at = at
	m.rest.goroutines = settled(ctx, runtime.NumGoroutine)
	for range 3 { // finalizers and pools let go in the second and third
		runtime.GC()
	}
	m.rest.heap = live()
	for i, d := range m.desks {
		n, q := d.latency.drain(0.5, 0.99)
		r := &m.rest.desks[i]
		r.ops, r.p50, r.p99 = n, q[0], q[1]
		r.depth = float64(m.sums[i]) / float64(max(m.looks, 1))
	}
	return m.rest
}

// settled reads something until it has answered the same fifty times, a
// millisecond apart.
func settled(ctx context.Context, read func() int) int {
	last, same := read(), 0
	eventually(ctx, func() bool {
		if now := read(); now != last {
			last, same = now, 0
		}
		same++
		return same > 50
	})
	return last
}

func live() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// median of a copy; NaN is nobody's business here, since values are counts.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return 0
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
