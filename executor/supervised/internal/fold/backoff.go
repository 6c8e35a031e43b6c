package fold

import (
	"math"
	"math/bits"
	"time"
)

// BackoffKind says how restart delays grow.
type BackoffKind uint8

const (
	Immediate BackoffKind = iota + 1
	Constant
	Linear
	Exponential
)

// Backoff is the delay before each restart of a role.
type Backoff struct {
	Kind    BackoffKind
	Initial time.Duration // unless Immediate
	Max     time.Duration // of Linear and Exponential
}

// Delay returns the delay before a role's restart of that ordinal, which
// begins at 1. Growth stops at the maximum.
func (b Backoff) Delay(ordinal uint64) time.Duration {
	switch b.Kind {
	case Constant:
		return b.Initial
	case Linear:
		hi, lo := bits.Mul64(uint64(b.Initial), ordinal)
		if hi != 0 || lo > uint64(b.Max) {
			return b.Max
		}
		return time.Duration(lo)
	case Exponential:
		// Doubling ordinal-1 times stays below Max only if Max shifted
		// back as far is still as large as Initial.
		if ordinal > 63 || b.Max>>(ordinal-1) < b.Initial {
			return b.Max
		}
		return b.Initial << (ordinal - 1)
	default:
		return 0
	}
}

// Total returns the sum of the first n delays; the longest duration stands for
// all that is longer.
func (b Backoff) Total(n uint64) time.Duration {
	switch b.Kind {
	case Constant:
		return times(n, b.Initial)
	case Linear:
		growing := min(n, uint64(b.Max/b.Initial)) // the delays that are below or at Max by themselves
		return sum(times(triangle(growing), b.Initial), times(n-growing, b.Max))
	case Exponential:
		total := time.Duration(0)
		for i := uint64(1); i <= n; i++ {
			d := b.Delay(i)
			if d == b.Max {
				return sum(total, times(n-i+1, d))
			}
			total = sum(total, d)
		}
		return total
	default:
		return 0
	}
}

// triangle returns 1 + 2 + ... + n, or the largest number.
func triangle(n uint64) uint64 {
	a, b := n, n+1
	if a%2 == 0 {
		a /= 2
	} else {
		b = n/2 + 1
	}
	hi, lo := bits.Mul64(a, b)
	if hi != 0 {
		return math.MaxUint64
	}
	return lo
}

func times(n uint64, d time.Duration) time.Duration {
	hi, lo := bits.Mul64(n, uint64(d))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(lo)
}

func sum(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
