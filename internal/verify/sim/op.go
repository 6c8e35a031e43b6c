package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Op is one step of a history. Site chooses who takes it: 0 is a goroutine of
// its own, anything else a puppet that stands inside of the library. A, B and C
// mean what the kind makes of them.
type Op struct {
	Kind    Kind
	Site    uint8
	A, B, C uint16
}

func (o Op) String() string {
	return fmt.Sprintf("%-16s site=%d a=%d b=%d c=%d", o.Kind, o.Site, o.A, o.B, o.C)
}

// History is what a seed stands for: the shape of the subjects, and what is
// done to them.
type History struct {
	Seed  uint64
	Shape Shape
	Ops   []Op
}

func (h History) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\nshape %+v\n", h.Seed, h.Shape)
	for i, op := range h.Ops {
		fmt.Fprintf(&b, "%3d %v\n", i, op)
	}
	return b.String()
}

// Shape is how the subjects of a history are made.
type Shape struct {
	Focus     subject // what most operations are about
	JumpClock bool    // a clock that the history sets back and forth

	Size, Queue int // of the pool; Queue is a QueueLimit
	Parallel    int // of the Limit over the pool
	Waiting     int // its own queue

	Slots, Permits, MaxWaiters int
	FIFO, PreferWarm           bool
	AcquireTimeout, Aging      bool // bounds on waiting, and on age and idleness
	LeaseOnPool                bool // Connect and Dispose run on the pool

	Roles, Backlog int
	Retry          bool
	MaxAttempts    int
	Policy         uint8 // permanent, transient, temporary
	BudgetMax      int
	Backoff        uint8
	StopOnLoss     bool
	Activate       bool
	Drain          bool
}

// Generate makes the history of a seed. Each history leaves out some kinds of
// operation and does others often: so the rare mixtures come up, which a
// uniform choice would hardly ever produce.
func Generate(seed uint64) History {
	r := rand.New(rand.NewPCG(seed, 0x5ca1ab1e))
	h := History{Seed: seed, Shape: shape(r)}
	weights := make([]int, len(kinds))
	total := 0
	for k, info := range kinds {
		w := info.weight * 4
		switch {
		case h.Shape.Focus == everything || info.subject == everything:
		case info.subject != h.Shape.Focus:
			w /= 12
		}
		w = w * []int{0, 1, 1, 2, 5}[r.IntN(5)]
		if info.rare {
			w = min(w, 2*info.weight)
		}
		if known[Kind(k)] {
			w = 0
		}
		weights[k] = w
		total += w
	}
	if total == 0 {
		return h
	}
	for range 16 + r.IntN(72) {
		n := r.IntN(total)
		k := 0
		for ; n >= weights[k]; k++ {
			n -= weights[k]
		}
		op := Op{Kind: Kind(k), A: uint16(r.IntN(1 << 10)), B: uint16(r.IntN(1 << 10)), C: uint16(r.IntN(1 << 10))}
		if r.IntN(3) == 0 {
			op.Site = uint8(1 + r.IntN(8))
		}
		h.Ops = append(h.Ops, op)
	}
	return h
}

// foci are the subjects to choose from; those whose order takes many operations
// to show come up twice.
var foci = []subject{everything, pools, timers, futures, leases, leases, supervision, supervision}

func shape(r *rand.Rand) Shape {
	return Shape{
		Focus:          foci[r.IntN(len(foci))],
		JumpClock:      r.IntN(3) == 0,
		Size:           1 + r.IntN(3),
		Queue:          []int{-1, 1, 2, 4, 0}[r.IntN(5)],
		Parallel:       1 + r.IntN(2),
		Waiting:        r.IntN(4),
		Slots:          []int{1, 1, 2}[r.IntN(3)],
		Permits:        []int{1, 1, 2}[r.IntN(3)],
		MaxWaiters:     []int{-1, 1, 3, 8, 8}[r.IntN(5)],
		FIFO:           r.IntN(5) < 2,
		PreferWarm:     r.IntN(2) == 0,
		AcquireTimeout: r.IntN(4) == 0,
		Aging:          r.IntN(4) == 0,
		LeaseOnPool:    r.IntN(4) == 0,
		Roles:          []int{1, 2, 2, 3}[r.IntN(4)],
		Backlog:        r.IntN(5),
		Retry:          r.IntN(3) != 0,
		MaxAttempts:    []int{0, 0, 1, 2, 3}[r.IntN(5)],
		Policy:         []uint8{0, 0, 1, 1, 2}[r.IntN(5)],
		BudgetMax:      []int{0, 1, 2, 50, 50, 50, 50}[r.IntN(7)],
		Backoff:        []uint8{0, 1, 1, 2}[r.IntN(4)],
		StopOnLoss:     r.IntN(3) == 0,
		Activate:       r.IntN(4) == 0,
		Drain:          r.IntN(2) == 0,
	}
}
