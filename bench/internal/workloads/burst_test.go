package workloads

import (
	"testing"
	"time"
)

func TestOvertakings(t *testing.T) {
	for _, c := range []struct {
		name    string
		order   []int
		workers int
		want    int
	}{
		{"in order, one worker", []int{0, 1, 2, 3}, 1, 0},
		{"swapped by one worker", []int{1, 0, 2, 3}, 1, 1},
		{"swapped by two", []int{1, 0, 3, 2}, 2, 0},
		{"one worker of two is late for long", []int{1, 2, 3, 0}, 2, 0},
		{"two of two are late", []int{2, 0, 1, 3}, 2, 1},
		{"last in, first out", []int{3, 2, 1, 0}, 2, 2},
		{"last in, first out of four", []int{3, 2, 1, 0}, 4, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := overtakings(c.order, c.workers); got != c.want {
				t.Errorf("%d tasks started too early, not %d", got, c.want)
			}
		})
	}
}

func TestSpinTakesItsTime(t *testing.T) {
	one, ten := spinRounds(time.Microsecond), spinRounds(10*time.Microsecond)
	if one < 1 || ten < 9*one {
		t.Errorf("%d rounds a microsecond, %d for ten", one, ten)
	}
	// No core multiplies three times in a nanosecond, each time what came of the
	// time before: then the loop is gone.
	if one > 3000 {
		t.Errorf("%d rounds a microsecond", one)
	}
}
