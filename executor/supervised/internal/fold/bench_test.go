package fold

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// cycler repeats a job's way through the fold.
type cycler struct {
	s   *state
	out []action
	ev  event
}

func newCycler(cfg Config) *cycler {
	s, _, _ := New[int, int, int](cfg, make([]int, cfg.Roles))
	c := &cycler{s: s}
	for role := range cfg.Roles {
		c.step(event{Kind: Started, Role: role, Incarnation: Incarnation(role + 1)})
	}
	return c
}

func (c *cycler) step(ev event) {
	c.ev = ev
	_, c.out = c.s.Step(&c.ev, c.out[:0])
}

// cycle submits a job and takes the delivery that results, its own or that of
// an older job, to its end.
func (c *cycler) cycle() {
	c.ev.Kind = Submit
	_, c.out = c.s.Step(&c.ev, c.out[:0])
	c.finish(&c.out[len(c.out)-1])
}

func (c *cycler) finish(delivery *action) {
	c.ev.Role, c.ev.Pool = delivery.Role, 1
	c.ev.Incarnation, c.ev.Assignment = delivery.Incarnation, delivery.Assignment
	c.ev.Kind = DeliveryAccepted
	_, c.out = c.s.Step(&c.ev, c.out[:0])
	c.ev.Kind = Completed
	_, c.out = c.s.Step(&c.ev, c.out[:0])
}

// BenchmarkFoldCycle takes five runs of 100,000 cycles and reports the median,
// beside a loop of as many atomic additions as a calibration of the machine.
func BenchmarkFoldCycle(b *testing.B) {
	const runs, cycles = 5, 100_000
	variants := []struct {
		name           string
		roles, waiting int
		retry          bool
	}{
		{"1 role", 1, 0, false},
		{"4 roles", 4, 0, false},
		{"64 roles", 64, 0, false},
		{"backlog of 1024", 1, 1024, false},
		{"retry storm", 1, 1024, true},
	}
	for _, v := range variants {
		b.Run(v.name, func(b *testing.B) {
			cfg := restarting(v.roles)
			cfg.Backlog = v.waiting + 1
			cfg.Budget = Budget{Max: 8, Window: 1}
			cfg.Interruption = Retry
			c := newCycler(cfg)
			for range v.waiting + v.roles*min(v.waiting, 1) {
				c.step(event{Kind: Submit})
			}
			one := c.cycle
			if v.waiting > 0 {
				one = c.waitingCycle
			}
			if v.retry {
				one = c.retryCycle
			}
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				took = took[:0]
				for range runs {
					start := time.Now()
					for range cycles {
						one()
					}
					took = append(took, time.Since(start))
				}
			}
			slices.Sort(took)
			median := took[runs/2]
			b.ReportMetric(cycles/median.Seconds(), "cycles/s")
			b.ReportMetric(float64(median.Nanoseconds())/cycles, "ns/cycle")
			b.ReportMetric(float64(calibrate(cycles).Nanoseconds())/cycles, "ns/atomic-add")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// waitingCycle finishes the assigned job, whose successor comes out of the
// backlog, and submits another.
func (c *cycler) waitingCycle() {
	m := &c.s.members[0]
	c.ev.Pool, c.ev.Role, c.ev.Incarnation, c.ev.Assignment = 1, 0, m.incarnation, m.assignment
	c.ev.Kind = DeliveryAccepted
	_, c.out = c.s.Step(&c.ev, c.out[:0])
	c.ev.Kind = Completed
	_, c.out = c.s.Step(&c.ev, c.out[:0])
	c.ev.Kind = Submit
	_, c.out = c.s.Step(&c.ev, c.out[:0])
}

// retryCycle lets the worker die with the job, which goes back to the front,
// and be restarted.
func (c *cycler) retryCycle() {
	m := &c.s.members[0]
	c.ev.Pool, c.ev.Role, c.ev.Incarnation, c.ev.Assignment = 1, 0, m.incarnation, m.assignment
	c.ev.At += 1
	c.ev.Exit = Exit{Kind: Normal}
	c.ev.Ending = Prepared
	for _, kind := range [...]EventKind{DeliveryAccepted, Exited, PreparationBegun, PreparationEnded, Started} {
		c.ev.Kind, c.ev.Prep, c.ev.Incarnation = kind, m.prep, m.incarnation
		_, c.out = c.s.Step(&c.ev, c.out[:0])
	}
}

var sink atomic.Uint64

func calibrate(n int) time.Duration {
	start := time.Now()
	for range n {
		sink.Add(1)
	}
	return time.Since(start)
}

func TestNoAllocations(t *testing.T) {
	t.Run("SUP-110 a cycle allocates nothing in steady state", func(t *testing.T) {
		cfg := restarting(2)
		cfg.Budget = Budget{Max: 8, Window: 1}
		c := newCycler(cfg)
		for range 3 {
			c.cycle()
		}
		if n := testing.AllocsPerRun(100, c.cycle); n != 0 {
			t.Fatalf("%v allocations", n)
		}
	})
}
