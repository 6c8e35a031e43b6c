package edge

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/timer"
)

// TestDelays has a million outstanding delays, and ends them in each way.
func TestDelays(t *testing.T) {
	for _, end := range []struct {
		name string
		play func(*costs, *outstanding)
	}{{"fired", fireAll}, {"canceled", cancelAll}, {"shut down", shutDown}} {
		t.Run(end.name, func(t *testing.T) {
			atTwoSizes(t, 1_000_000, func(c *costs) {
				before, empty := runtime.NumGoroutine(), memory()
				end.play(c, schedule(c, end.name))
				goroutines(t, before)
				c.back("delays, "+end.name, empty, nothing)
			})
		})
	}
}

// outstanding is a timer with delays, two of each deadline.
type outstanding struct {
	timer    *timer.Timer
	clock    *clock
	futures  []*future.Future[time.Time]
	deadline []int32 // in milliseconds
	settled  []uint8 // calls of OnSettle
	last     int     // the delay that settled last
	disorder int
}

// schedule makes c.n delays, in no order.
func schedule(c *costs, name string) *outstanding {
	t, before := c.t, runtime.NumGoroutine()
	o := &outstanding{
		clock:    newClock(),
		futures:  make([]*future.Future[time.Time], c.n),
		deadline: make([]int32, c.n),
		settled:  make([]uint8, c.n),
	}
	o.last = -1
	for i, d := range rand.New(rand.NewPCG(1, 2)).Perm(c.n) {
		o.deadline[i] = int32(d)/2 + 1
	}
	var err error
	o.timer, err = timer.New(timer.Config{Clock: o.clock})
	check(t, err)
	bare := memory()
	c.took(name+": Delay", func() {
		for i := range o.futures { // those of one deadline fire in this order
			o.futures[i] = o.timer.Delay(context.Background(), time.Duration(o.deadline[i])*time.Millisecond)
		}
	})
	c.holds("delays", bare, memory(), 512)
	equal(t, "outstanding", o.timer.Len(), c.n)
	goroutines(t, before+1)
	for i, f := range o.futures {
		f.OnSettle(func(future.Outcome[time.Time]) {
			o.settled[i]++
			if o.last >= 0 && cmp.Or(cmp.Compare(o.deadline[i], o.deadline[o.last]), cmp.Compare(i, o.last)) < 0 {
				o.disorder++
			}
			o.last = i
		})
	}
	return o
}

// ended checks that each delay has settled once, as it should have.
func (o *outstanding) ended(t *testing.T, right func(future.Outcome[time.Time]) bool) {
	t.Helper()
	equal(t, "outstanding", o.timer.Len(), 0)
	for i, f := range o.futures {
		out, ok := f.Outcome()
		if !ok || !right(out) || o.settled[i] != 1 {
			t.Fatalf("delay %d: settled %v, as %v, and told %d times", i, ok, out, o.settled[i])
		}
	}
}

func fireAll(c *costs, o *outstanding) {
	c.took("fired: fire", func() {
		o.clock.add(time.Duration(c.n) * time.Millisecond)
		check(c.t, o.timer.Sync(bounded(c.t)))
	})
	equal(c.t, "delays out of order", o.disorder, 0)
	o.ended(c.t, func(out future.Outcome[time.Time]) bool { return out.Err == nil })
	check(c.t, o.timer.Shutdown(bounded(c.t)))
}

func cancelAll(c *costs, o *outstanding) {
	held := memory()
	for i := range c.n / 2 { // the memory of half of them comes back with no end of the others
		if !o.futures[i].Cancel(nil) {
			c.t.Fatalf("delay %d was not canceled", i)
		}
		equal(c.t, "outstanding", o.timer.Len(), c.n-1-i)
	}
	half := o.futures[:c.n/2]
	for i, f := range half {
		if out, _ := f.Outcome(); !out.Canceled() || o.settled[i] != 1 {
			c.t.Fatalf("delay %d is not canceled", i)
		}
	}
	clear(half)
	freed := held - memory()
	c.t.Logf("%9d delays: canceling half of them gives back %d%%", c.n, 100*freed/held)
	if freed < held/4 {
		c.t.Errorf("canceling half of %d delays gave back %d of %d bytes", c.n, freed, held)
	}
	rest := o.futures[c.n/2:]
	c.took("canceled: Cancel of half", func() {
		for _, f := range rest {
			f.Cancel(nil)
		}
	})
	o.futures, o.settled = rest, o.settled[c.n/2:]
	o.ended(c.t, future.Outcome[time.Time].Canceled)
	check(c.t, o.timer.Shutdown(bounded(c.t)))
}

func shutDown(c *costs, o *outstanding) {
	c.took("shut down: Shutdown", func() { check(c.t, o.timer.Shutdown(bounded(c.t))) })
	o.ended(c.t, func(out future.Outcome[time.Time]) bool { return errors.Is(out.Err, timer.ErrClosed) })
}
