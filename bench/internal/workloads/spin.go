package workloads

import (
	"sync"
	"time"
)

// spin computes for a number of rounds, without system calls or memory other
// than to, which gets the result. Inlined, it would be measured without its
// loop, as nobody reads that result.
//
//go:noinline
func spin(rounds int, to *uint32) {
	x := uint32(1)
	for range rounds {
		x = x*1664525 + 1013904223
	}
	*to = x
}

// spinRate is how many rounds take a millisecond when nothing disturbs them.
var spinRate = sync.OnceValue(func() float64 {
	const rounds = 1 << 16
	var result uint32
	best := time.Hour
	for range 50 {
		began := time.Now()
		spin(rounds, &result)
		best = min(best, time.Since(began))
	}
	return rounds * float64(time.Millisecond) / float64(best)
})

// spinRounds returns how many rounds take d.
func spinRounds(d time.Duration) int {
	return int(spinRate() * d.Seconds() * 1000)
}
