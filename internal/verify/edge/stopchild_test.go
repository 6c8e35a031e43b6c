package edge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/executor/supervised"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/timer"
)

// book counts things of one kind: those that were accepted, and each outcome.
type book map[string]int

// stopLedger is what a child says when it has stopped.
type stopLedger struct {
	Tasks, Delays, Leases, Jobs book

	Twice      int   // things with a second outcome
	Connected  int64 // resources that were not disposed of
	FromLeases int64 // tasks that the lease pool has posted

	PoolLeft, DelaysLeft, LeasesLeft, JobsLeft string // what the shutdowns said

	Stats      executor.Stats
	Lease      lease.Stats
	Supervised supervised.Stats
}

// service is a process at work: producers feed a pool, a timer, a lease pool
// and a supervised pool until it is told to stop.
type service struct {
	pool   *executor.Pool
	timer  *timer.Timer
	leases *lease.Pool[int]
	jobs   *supervised.Pool[int, int]

	connected, fromLeases atomic.Int64

	mu     sync.Mutex
	ledger stopLedger
	total  int           // accepted
	after  int           // how many are accepted before full is closed
	full   chan struct{} //
}

func newService(after int) (s *service, err error) {
	s = &service{after: after, full: make(chan struct{})}
	s.ledger.Tasks, s.ledger.Delays, s.ledger.Leases, s.ledger.Jobs = book{}, book{}, book{}, book{}
	if s.pool, err = executor.New(executor.Config{Size: 4, QueueLimit: 500}); err != nil {
		return nil, err
	}
	if s.timer, err = timer.New(timer.Config{Limit: 500}); err != nil {
		return nil, err
	}
	s.leases, err = lease.New(lease.Config[int]{
		Slots: 2, Executor: forLeases{s},
		Connect: func(context.Context) (int, error) { return int(s.connected.Add(1)), nil },
		Dispose: func(int) { s.connected.Add(-1) },
	})
	if err != nil {
		return nil, err
	}
	s.jobs, err = supervised.New(context.Background(), supervised.Config[int, int]{
		Roles: []supervised.Role{"a", "b"}, Backlog: 500, Activations: 1, Interruption: supervised.Retry,
		Recovery: supervised.Permanent(supervised.Budget{Max: 1 << 20, Window: time.Hour},
			supervised.Constant(time.Millisecond), supervised.RetireRole),
		OnDiagnostic: func(supervised.Diagnostic) {},
		Factory: func(context.Context, supervised.Role) (supervised.Worker[int, int], error) {
			return supervised.HandlerFunc[int, int](func(ctx context.Context, a supervised.Assignment[int, int]) error {
				if a.Job()%97 == 0 && time.Now().UnixNano()%2 == 0 {
					panic("a job that kills its worker, now and then")
				}
				effort()
				return a.Complete(a.Job())
			}), nil
		},
	})
	return s, err
}

// forLeases is the pool, and counts what it accepts.
type forLeases struct{ *service }

func (s forLeases) Post(ctx context.Context, task func(context.Context)) error {
	err := s.pool.Post(ctx, task)
	if err == nil {
		s.fromLeases.Add(1)
	}
	return err
}

// effort is what a task, a job and a lease take, so that others wait.
func effort() { time.Sleep(time.Millisecond) }

// accepted notes a thing, and returns what to call with its outcome, once.
func (s *service) accepted(b book) (ended func(outcome string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b["accepted"]++
	if s.total++; s.total == s.after {
		close(s.full)
	}
	over := false
	return func(outcome string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if over {
			s.ledger.Twice++
		}
		over = true
		b[outcome]++
	}
}

// pending reports whether something of b has no outcome.
func (s *service) pending(b book) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return b.outcomes() < b["accepted"]
}

func (b book) outcomes() (n int) {
	for outcome, m := range b {
		if outcome != "accepted" {
			n += m
		}
	}
	return n
}

// outcome names what became of something.
func outcome(err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, executor.ErrClosed), errors.Is(err, lease.ErrClosed):
		return "refused or discarded at the end"
	case errors.As(err, new(*supervised.ReturnedError[int])):
		return "returned"
	case errors.As(err, new(*future.CanceledError)), errors.Is(err, context.Canceled):
		return "canceled"
	}
	return fmt.Sprintf("%T %v", err, err)
}

// produce has each subject be fed until ctx ends.
func (s *service) produce(ctx context.Context) (all *sync.WaitGroup) {
	all = new(sync.WaitGroup)
	feed := func(burst int, step func(i int)) {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				step(i)
				if i%burst == 0 {
					time.Sleep(time.Millisecond) // a pace, not a wait
				}
			}
		})
	}
	feed(20, func(i int) {
		f := executor.Submit(context.Background(), s.pool, func(context.Context) (int, error) { effort(); return i, nil })
		if o, ok := f.Outcome(); ok && errors.Is(o.Err, executor.ErrRejected) {
			return
		}
		ended := s.accepted(s.ledger.Tasks)
		f.OnSettle(func(o future.Outcome[int]) { ended(outcome(o.Err)) })
	})
	feed(10, func(i int) {
		d := time.Millisecond * time.Duration(1+i%3*1000) // some are long
		f := s.timer.Delay(context.Background(), d)
		if o, ok := f.Outcome(); ok && o.Err != nil {
			return
		}
		ended := s.accepted(s.ledger.Delays)
		f.OnSettle(func(o future.Outcome[time.Time]) { ended(outcome(o.Err)) })
	})
	for range 4 {
		feed(1, func(int) {
			ended := s.accepted(s.ledger.Leases)
			ended(outcome(s.leases.Do(ctx, func(context.Context, int) error { effort(); return nil })))
		})
	}
	feed(10, func(i int) {
		tk, err := s.jobs.Submit(context.Background(), i)
		if err != nil {
			return
		}
		ended := s.accepted(s.ledger.Jobs)
		tk.Outcome.OnSettle(func(o future.Outcome[supervised.Completion[int]]) { ended(outcome(o.Err)) })
	})
	return all
}

// stopChild works until it gets a SIGTERM, and ends in order: first what brings
// work in, then the supervised pool, the delays and the leases, and last the
// pool that the leases connect and dispose on. Another SIGTERM ends the
// patience.
func stopChild() int {
	after, _ := strconv.Atoi(os.Getenv("EDGE_AFTER"))
	s, err := newService(after)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	work, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	stuck := os.Getenv("EDGE_STUCK") != ""
	if stuck {
		began := make(chan struct{})
		if err := s.pool.Post(context.Background(), func(context.Context) { close(began); select {} }); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		<-began
	}
	producers := s.produce(work)
	<-s.full
	fmt.Printf("%d things were accepted\n", after)
	<-work.Done()
	stop()
	patience, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	patience, cancel2 := context.WithTimeout(patience, bound/2)
	defer cancel2()
	producers.Wait()

	l := &s.ledger
	l.JobsLeft = left(s.jobs.Shutdown(patience))
	l.DelaysLeft = left(s.timer.Shutdown(patience))
	l.LeasesLeft = left(s.leases.Shutdown(patience))
	if stuck {
		for s.pending(l.Tasks) || s.pool.Stats().Running > 1 {
			time.Sleep(time.Millisecond)
		}
		fmt.Println("only a task that is stuck is left")
	}
	l.PoolLeft = left(s.pool.Shutdown(patience))
	<-s.jobs.Done()
	if !stuck {
		<-s.pool.Done()
	}
	l.Stats, l.Lease, l.Supervised = s.pool.Stats(), s.leases.Stats(), s.jobs.Stats()
	l.Connected, l.FromLeases = s.connected.Load(), s.fromLeases.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	return report(l)
}

func left(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
