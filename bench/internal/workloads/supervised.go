package workloads

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/bench/internal/pools"
	"github.com/cadre-go/cadre/bench/internal/sampling"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/supervised"
)

const (
	rowSupervised = "supervised: end to end"
	supervision   = "cadre, supervised"
	poolSubmit    = "cadre, executor.Pool Submit"
	jobRate       = "jobs/s"
	tripMedian    = "trip p50 ns"
	tripTail      = "trip p99 ns"
)

// service runs a job that does nothing and returns its outcome.
type service struct {
	do    func(ctx context.Context, job int) int
	close func()
}

type serviceKind struct {
	name  string
	lacks string
	start func(roles int) service
}

// services has submitters hand over a job each and await its outcome.
func services() []sampling.Workload {
	procs := runtime.GOMAXPROCS(0)
	roles := slices.Compact(slices.Sorted(slices.Values([]int{1, 4, procs})))
	var all []sampling.Workload
	for _, roles := range roles {
		for _, submitters := range []int{1, 2 * procs} {
			w := sampling.Workload{
				Name:      fmt.Sprintf("supervised/roles=%d/submitters=%d", roles, submitters),
				Title:     fmt.Sprintf("supervised: end to end, %d roles, %d submitters", roles, submitters),
				Ops:       60_000,
				Unit:      submitters,
				Reference: poolSubmit,
				Shown:     []string{sampling.Nanoseconds, sampling.CPU, sampling.Allocs, sampling.Bytes, jobRate, tripMedian, tripTail},
				Budgets: []sampling.Budget{
					{Row: rowSupervised, Subject: supervision, Against: []string{poolSubmit}, Most: 2},
				},
			}
			for _, kind := range serviceKinds() {
				w.Subjects = append(w.Subjects, sampling.Subject{Name: kind.name, Lacks: kind.lacks, Run: func(ops int) sampling.Sample {
					return serveJobs(kind.start(roles), submitters, ops)
				}})
			}
			all = append(all, w)
		}
	}
	return all
}

func serviceKinds() []serviceKind {
	return []serviceKind{
		{supervision, "nothing", serveSupervised},
		{poolSubmit, "workers with state, restarts, the job back with its failure", servePool},
		{pools.Channel, "as executor.Pool; also what a channel lacks", serveChannel},
	}
}

func serveSupervised(roles int) service {
	names := make([]supervised.Role, roles)
	for i := range names {
		names[i] = supervised.Role(fmt.Sprint("r", i))
	}
	pool, err := supervised.New(context.Background(), supervised.Config[int, int]{
		Roles: names,
		Factory: func(context.Context, supervised.Role) (supervised.Worker[int, int], error) {
			return supervised.HandlerFunc[int, int](func(_ context.Context, a supervised.Assignment[int, int]) error {
				return a.Complete(a.Job())
			}), nil
		},
		Backlog:      queueLimit,
		Activations:  1,
		Interruption: supervised.Fail,
		Recovery:     supervised.Temporary(supervised.RetireRole),
	})
	check(err)
	return service{
		do: func(ctx context.Context, job int) int {
			ticket, err := pool.Submit(ctx, job)
			for errors.Is(err, supervised.ErrBacklogFull) {
				runtime.Gosched()
				ticket, err = pool.Submit(ctx, job)
			}
			check(err)
			done, err := ticket.Outcome.Await(ctx)
			check(err)
			return done.Result
		},
		close: func() { check(pool.Close()) },
	}
}

func servePool(roles int) service {
	pool, err := executor.New(executor.Config{Size: roles, QueueLimit: queueLimit})
	check(err)
	return service{
		do: func(ctx context.Context, job int) int {
			v, err := executor.Submit(ctx, pool, func(context.Context) (int, error) { return job, nil }).Await(ctx)
			check(err)
			return v
		},
		close: func() { check(pool.Close()) },
	}
}

func serveChannel(roles int) service {
	type request struct {
		job   int
		reply chan int
	}
	requests := make(chan request, queueLimit)
	var running sync.WaitGroup
	for range roles {
		running.Go(func() {
			for r := range requests {
				r.reply <- r.job
			}
		})
	}
	return service{
		do: func(_ context.Context, job int) int {
			r := request{job, make(chan int, 1)}
			requests <- r
			return <-r.reply
		},
		close: func() { close(requests); running.Wait() },
	}
}

func serveJobs(svc service, submitters, ops int) sampling.Sample {
	defer svc.close()
	ctx := context.Background()
	svc.do(ctx, 0)
	each := ops / submitters
	trips := make([][]time.Duration, submitters)
	for i := range trips {
		trips[i] = make([]time.Duration, 0, each)
	}
	var ran atomic.Int64
	s := sampling.Measure(ops, func() {
		var running sync.WaitGroup
		for i := range trips {
			running.Go(func() {
				for job := range each {
					began := time.Now()
					if svc.do(ctx, job) == job {
						ran.Add(1)
					}
					trips[i] = append(trips[i], time.Since(began))
				}
			})
		}
		running.Wait()
	})
	s.Ran = int(ran.Load())
	sorted := slices.Sorted(slices.Values(slices.Concat(trips...)))
	return s.With(jobRate, float64(time.Second)/s.Figures[sampling.Nanoseconds]).
		With(tripMedian, float64(sampling.Quantile(sorted, 0.50))).
		With(tripTail, float64(sampling.Quantile(sorted, 0.99)))
}
