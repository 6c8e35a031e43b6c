package linear

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cadre-go/cadre/executor/lease"
)

// lent is the state of a lease pool: how many permits are taken, and whether it
// was closed. Which slot a permit is of is found later in the call.
type lent struct {
	taken  int
	closed bool
}

// TestLease is Acquire or TryAcquire against Release and Close: no resource is
// lent twice, a permit that was given back is there, and nothing is granted
// after the close.
func TestLease(t *testing.T) {
	for _, verb := range []string{"acquire", "try"} {
		t.Run(verb, func(t *testing.T) {
			rounds(t, func(t *testing.T, rng *rand.Rand) { playLease(t, rng, verb) })
		})
	}
}

func playLease(t *testing.T, rng *rand.Rand, verb string) {
	var r recorder
	slots := 1 + rng.IntN(2)
	pool, err := lease.New(lease.Config[*atomic.Int32]{
		Slots:   slots,
		Connect: func(context.Context) (*atomic.Int32, error) { return new(atomic.Int32), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	closes := rng.IntN(2) == 0
	ctx := context.Background()
	clients(4, func(me int) {
		if me == 3 && closes {
			r.do(me, "close", func() any { return pool.Close() == nil })
			return
		}
		for range 3 {
			var l lease.Lease[*atomic.Int32]
			r.do(me, verb, func() any {
				var err error
				if verb == "try" {
					l, err = pool.TryAcquire(ctx)
				} else {
					l, err = pool.Acquire(ctx)
				}
				switch {
				case err == nil:
					return "lent"
				case errors.Is(err, lease.ErrNoCapacity):
					return "none free"
				case errors.Is(err, lease.ErrClosed):
					return "closed"
				}
				return err.Error()
			})
			if !l.Held() {
				continue
			}
			if n := l.Value().Add(1); n != 1 {
				t.Errorf("a resource is lent to %d at once", n)
			}
			l.Value().Add(-1)
			r.do(me, "release", func() any { return l.Release() == nil })
			r.do(me, "again", func() any { return errors.Is(l.Release(), lease.ErrReleased) })
		}
	})
	if err := pool.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	check(t, &r, lent{}, func(s lent, in, out any) (bool, lent) {
		switch in {
		case "release":
			return out == true && s.taken > 0, lent{s.taken - 1, s.closed}
		case "close":
			return out == true, lent{s.taken, true}
		case "again":
			return out == true, s
		}
		switch out {
		case "lent":
			return s.taken < slots && !s.closed, lent{s.taken + 1, s.closed}
		case "none free":
			// A permit may be with one who gets no lease, as the pool closes.
			return (s.taken == slots || closes) && !s.closed, s
		}
		return out == "closed" && s.closed, s
	})
}
