package linear

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cadre-go/cadre/executor/supervised"
)

// jobs is the state of a supervised pool: which jobs were accepted and which
// were completed, one bit each, and whether it was stopped.
type jobs struct {
	accepted, completed uint16
	stopped             bool
	used                uint16 // whose right to complete was used, and came too late
}

type jobCall struct {
	verb string
	job  uint16
}

// TestSupervised is Submit and Complete against Stop: a job is accepted before
// the stop or refused after it; it is completed before the stop or comes back.
func TestSupervised(t *testing.T) {
	rounds(t, func(t *testing.T, rng *rand.Rand) {
		var r recorder
		serve := func(worker int) supervised.HandlerFunc[uint16, uint16] {
			return func(_ context.Context, a supervised.Assignment[uint16, uint16]) error {
				for range 2 { // the second completion is refused
					r.do(10+worker, jobCall{"complete", a.Job()}, func() any {
						switch err := a.Complete(a.Job()); {
						case err == nil:
							return "done"
						case errors.Is(err, supervised.ErrDuplicateCompletion):
							return "duplicate"
						case errors.Is(err, supervised.ErrStaleAssignment):
							return "stale"
						default:
							return err.Error()
						}
					})
				}
				return nil
			}
		}
		workers := 0
		pool, err := supervised.New(context.Background(), supervised.Config[uint16, uint16]{
			Roles: []supervised.Role{"a", "b"},
			Factory: func(context.Context, supervised.Role) (supervised.Worker[uint16, uint16], error) {
				workers++
				return serve(workers), nil
			},
			Backlog: 16, Activations: 1, Interruption: supervised.Fail,
			Recovery:     supervised.Temporary(supervised.RetireRole),
			OnDiagnostic: func(supervised.Diagnostic) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		stops := rng.IntN(3)
		ctx := context.Background()
		clients(4, func(me int) {
			if me == 3 {
				for range stops {
					pool.Stats()
				}
				r.do(me, jobCall{verb: "stop"}, func() any { pool.Stop(); return nil })
				return
			}
			for i := range 3 {
				job := uint16(1) << (me*3 + i)
				var ticket *supervised.Ticket[uint16]
				r.do(me, jobCall{"submit", job}, func() any {
					var err error
					if ticket, err = pool.Submit(ctx, job); err == nil {
						return "accepted"
					}
					if errors.Is(err, supervised.ErrPoolStopping) {
						return "stopping"
					}
					return err.Error()
				})
				if ticket == nil {
					continue
				}
				r.do(me, jobCall{"await", job}, func() any {
					c, err := ticket.Outcome.Await(ctx)
					var back *supervised.ReturnedError[uint16]
					switch {
					case err == nil && c.Result == job:
						return "result"
					case errors.As(err, &back) && back.Job == job:
						return "back"
					}
					return "neither"
				})
			}
		})
		if err := pool.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
		<-pool.Done()
		check(t, &r, jobs{}, stepJobs)
	})
}

func stepJobs(s jobs, in, out any) (bool, jobs) {
	c := in.(jobCall)
	accepted, completed := s.accepted&c.job != 0, s.completed&c.job != 0
	switch c.verb {
	case "stop":
		s.stopped = true
		return true, s
	case "submit":
		if out == "stopping" {
			return s.stopped, s
		}
		s.accepted |= c.job
		return out == "accepted" && !accepted && !s.stopped, s
	case "await":
		return out == "result" && completed || out == "back" && accepted && !completed && s.stopped, s
	}
	switch out {
	case "done":
		s.completed |= c.job
		return accepted && !completed && !s.stopped, s
	case "duplicate":
		return completed || s.used&c.job != 0, s
	}
	s.used |= c.job
	return out == "stale" && s.stopped && !completed, s
}
