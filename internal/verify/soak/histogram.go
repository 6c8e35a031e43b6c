package main

import (
	"math"
	"sync/atomic"
	"time"
)

// perOctave is the resolution of a histogram: a bucket is 9 % wide.
const perOctave = 8

// A histogram counts durations in logarithmic buckets. Adding does not wait.
type histogram struct{ buckets [40 * perOctave]atomic.Uint64 }

func (h *histogram) add(d time.Duration) {
	i := 0
	if d > 1 {
		i = int(math.Log2(float64(d)) * perOctave)
	}
	h.buckets[min(i, len(h.buckets)-1)].Add(1)
}

// drain empties h and returns its count and some of its quantiles. What is added
// meanwhile is in this reading or in the next.
func (h *histogram) drain(quantiles ...float64) (uint64, []time.Duration) {
	var counts [len(h.buckets)]uint64
	var total uint64
	for i := range h.buckets {
		counts[i] = h.buckets[i].Swap(0)
		total += counts[i]
	}
	out := make([]time.Duration, len(quantiles))
	for k, q := range quantiles {
		rank, seen := uint64(q*float64(total)), uint64(0)
		for i, n := range counts {
			if seen += n; seen > rank {
				out[k] = time.Duration(math.Exp2((float64(i) + 0.5) / perOctave))
				break
			}
		}
	}
	return total, out
}
