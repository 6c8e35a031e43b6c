package linear

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/timer"
)

// settling is the state of a future: pending, or settled by one of those who
// tried.
type settling struct {
	settled bool
	how     string
	by      int
}

type attempt struct {
	verb string
	by   int
}

// mark is the error that an attempt settles a future with.
type mark struct{ by int }

func (m *mark) Error() string { return "mark" }

// read says what a future settled with.
func read(v int, err error) settling {
	var m *mark
	switch ok := errors.As(err, &m); {
	case err == nil:
		return settling{true, "complete", v}
	case ok && errors.Is(err, context.Canceled):
		return settling{true, "cancel", m.by}
	case ok:
		return settling{true, "fail", m.by}
	case errors.Is(err, timer.ErrClosed):
		return settling{true, "closed", 0}
	}
	return settling{true, err.Error(), 0}
}

// settle is the model: the first attempt wins, and everybody sees that one.
func settle(s settling, in, out any) (bool, settling) {
	a := in.(attempt)
	switch a.verb {
	case "complete", "fail", "cancel":
		if won := out.(bool); won == s.settled {
			return false, s
		}
		if !s.settled {
			s = settling{true, a.verb, a.by}
		}
		return true, s
	case "fire", "closed": // may happen, and nobody is told
		if !s.settled {
			s = settling{true, a.verb, 0}
		}
		return true, s
	case "await":
		return s.settled && out.(settling) == s, s
	default: // outcome
		return out.(settling) == s, s
	}
}

func TestFuture(t *testing.T) {
	rounds(t, func(t *testing.T, rng *rand.Rand) {
		var r recorder
		c := future.NewCompleter[int]()
		f := c.Future()
		var plan [4][]string
		for i := range plan {
			for range 1 + rng.IntN(3) {
				plan[i] = append(plan[i], []string{"complete", "fail", "cancel", "cancel", "await", "outcome"}[rng.IntN(6)])
			}
		}
		plan[0] = append([]string{"outcome"}, "complete") // somebody settles it
		clients(len(plan), func(me int) {
			for i, verb := range plan[me] {
				by := me*10 + i
				r.do(me, attempt{verb, by}, func() any { return try(c, f, verb, by) })
			}
		})
		check(t, &r, settling{}, settle)
	})
}

func try(c *future.Completer[int], f *future.Future[int], verb string, by int) any {
	switch verb {
	case "complete":
		return c.Complete(by)
	case "fail":
		return c.Fail(&mark{by})
	case "cancel":
		return f.Cancel(&mark{by})
	case "await":
		return read(f.Await(context.Background()))
	}
	if o, ok := f.Outcome(); ok {
		return read(o.Value, o.Err)
	}
	return settling{}
}

// TestTimer is a delay that fires while it is canceled and its timer is shut
// down: one of them wins, and a Cancel that returned true means that it never
// fires.
func TestTimer(t *testing.T) {
	rounds(t, func(t *testing.T, rng *rand.Rand) {
		var r recorder
		tm, err := timer.New(timer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer tm.Close()
		read := func(at time.Time, err error) settling {
			if err == nil {
				return settling{true, "fire", 0}
			}
			return read(0, err)
		}
		r.begin(9, attempt{"fire", 0})
		f := tm.Delay(context.Background(), time.Duration(1+rng.IntN(60))*time.Microsecond)
		shut := rng.IntN(2) == 0
		clients(4, func(me int) {
			switch {
			case me == 0 && shut:
				r.begin(8, attempt{"closed", 0})
				_ = tm.Shutdown(context.Background())
			case me < 2:
				r.do(me, attempt{"cancel", me}, func() any { return f.Cancel(&mark{me}) })
			case me == 2:
				r.do(me, attempt{"await", me}, func() any { return read(f.Await(context.Background())) })
			}
			r.do(me, attempt{"outcome", me}, func() any {
				if o, ok := f.Outcome(); ok {
					return read(o.Value, o.Err)
				}
				return settling{}
			})
		})
		check(t, &r, settling{}, settle)
	})
}
