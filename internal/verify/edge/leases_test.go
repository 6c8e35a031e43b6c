package edge

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/cadre-go/cadre/executor/lease"
)

// TestLeases has 100,000 wait for the one permit of a pool.
func TestLeases(t *testing.T) {
	for _, play := range []struct {
		name string
		n    int
		fn   func(*costs)
	}{
		{"first come, first served", 10_000, inArrival},
		{"handle by handle", 100_000, inTurns},
		{"half lose patience, the rest see the close", 100_000, closedOn},
		{"as many handles", 100_000, manyHandles},
	} {
		t.Run(play.name, func(t *testing.T) { atTwoSizes(t, play.n, play.fn) })
	}
}

// besieged is a pool whose only permit is taken.
type besieged struct {
	*lease.Pool[int]
	held lease.Lease[int]
	w    *crowd
	base int   // goroutines
	mem  int64 // before

	mu     sync.Mutex
	errs   []error // of the Acquires that failed
	grants []int   // who got a lease, in order
}

func besiege(c *costs, fairness lease.Fairness) *besieged {
	b := &besieged{w: newCrowd(c.t), base: runtime.NumGoroutine(), mem: memory()}
	var err error
	b.Pool, err = lease.New(lease.Config[int]{
		Slots: 1, MaxWaiters: c.n, Fairness: fairness,
		Connect: func(context.Context) (int, error) { return 1, nil },
	})
	check(c.t, err)
	b.held, err = b.Acquire(context.Background())
	check(c.t, err)
	return b
}

// lessor is a pool or a handle.
type lessor interface {
	Acquire(context.Context) (lease.Lease[int], error)
}

// acquire waits for a lease as whoever, and hands it on.
func (b *besieged) acquire(ctx context.Context, whoever int, from lessor) {
	l, err := from.Acquire(ctx)
	b.mu.Lock()
	if err != nil {
		b.errs = append(b.errs, err)
	} else {
		b.grants = append(b.grants, whoever)
	}
	b.mu.Unlock()
	if err == nil {
		_ = l.Release()
	}
}

// queued waits until n wait, and tries one more.
func (b *besieged) queued(c *costs, n int) {
	c.t.Helper()
	until(c.t, "all wait", func() bool { return b.Stats().Waiters == n })
	if n == c.n {
		_, err := b.Acquire(context.Background())
		matches(c.t, err, lease.ErrSaturated)
		equal(c.t, "the limit of the refusal", as[*lease.SaturatedError](c.t, err).Limit, n)
	}
}

// end closes the pool, and looks at what is left.
func (b *besieged) end(c *costs, what string) {
	t := c.t
	check(t, b.Shutdown(bounded(t)))
	s := b.Stats()
	equal(t, "waiters", s.Waiters, 0)
	equal(t, "leases", s.Leases, uint64(len(b.grants))+1)
	equal(t, "answers", len(b.grants)+len(b.errs), c.n)
	goroutines(t, b.base)
	b.errs, b.grants = nil, nil
	c.back(what, b.mem, goroutine)
}

// inArrival knows of each waiter that it waits before the next one comes.
func inArrival(c *costs) {
	b := besiege(c, lease.FIFO)
	c.took("leases, FIFO: Acquire", func() {
		for i := range c.n {
			b.w.add(1, func(int) { b.acquire(context.Background(), i, b) })
			until(c.t, "it waits", func() bool { return b.Stats().Waiters == i+1 })
		}
	})
	b.queued(c, c.n)
	c.took("leases, FIFO: grants", func() {
		check(c.t, b.held.Release())
		b.w.gone()
	})
	for i, who := range b.grants {
		equal(c.t, "the next grant", who, i)
	}
	b.end(c, "waiters, first come, first served")
}

// inTurns has ten handles with as many waiters each.
func inTurns(c *costs) {
	const handles = 10
	b := besiege(c, lease.RoundRobin)
	for who := range handles {
		h := b.Handle()
		b.w.add(c.n/handles, func(int) { b.acquire(context.Background(), who, h) })
	}
	b.queued(c, c.n)
	equal(c.t, "handles that wait", b.Stats().WaitingHandles, handles)
	c.took("leases, round robin: grants", func() {
		check(c.t, b.held.Release())
		b.w.gone()
	})
	for i, who := range b.grants {
		equal(c.t, "whose turn it is", who, b.grants[i%handles])
	}
	b.end(c, "waiters, handle by handle")
}

func closedOn(c *costs) {
	t, b := c.t, besiege(c, lease.FIFO)
	patience, cancel := context.WithCancel(context.Background())
	defer cancel()
	rest := newCrowd(t)
	c.took("leases: Acquire", func() {
		for range c.n / 2 { // every other one
			b.w.add(1, func(i int) { b.acquire(patience, i, b) })
			rest.add(1, func(i int) { b.acquire(context.Background(), i, b) })
		}
		b.queued(c, c.n)
	})
	c.holds("waiters for a lease", b.mem, memory(), 8192)
	c.took("leases: end of the contexts of half", func() { cancel(); b.w.gone() })
	b.queued(c, c.n/2)
	c.took("leases: Close on the rest", func() {
		check(t, b.Close())
		rest.gone()
	})
	canceled, closed := 0, 0
	for _, err := range b.errs {
		switch {
		case errors.Is(err, lease.ErrClosed):
			closed++
		case errors.Is(err, context.Canceled) && as[*lease.CanceledError](t, err).Stage == lease.StageQueued:
			canceled++
		}
	}
	equal(t, "canceled", canceled, c.n/2)
	equal(t, "closed", closed, c.n/2)
	check(t, b.held.Release())
	b.end(c, "waiters, canceled and closed")
}

// manyHandles has every waiter come with a handle of its own; half of these are
// closed, and the others served.
func manyHandles(c *costs) {
	t, b := c.t, besiege(c, lease.RoundRobin)
	handles := make([]*lease.Handle[int], c.n)
	for i := range handles {
		handles[i] = b.Handle()
		b.w.add(1, func(int) { b.acquire(context.Background(), i, handles[i]) })
	}
	b.queued(c, c.n)
	equal(t, "handles that wait", b.Stats().WaitingHandles, c.n)
	c.took("leases, many handles: Close of half", func() {
		for i := 0; i < c.n; i += 2 {
			check(t, handles[i].Close())
		}
		b.queued(c, c.n/2)
	})
	c.took("leases, many handles: grants", func() {
		check(t, b.held.Release())
		b.w.gone()
	})
	barred := 0
	for _, err := range b.errs {
		if errors.Is(err, lease.ErrHandleClosed) {
			barred++
		}
	}
	equal(t, "handles closed", barred, c.n/2)
	equal(t, "served", len(b.grants), c.n/2)
	for _, h := range handles {
		check(t, h.Close())
	}
	clear(handles)
	b.end(c, "waiters with a handle each")
}
