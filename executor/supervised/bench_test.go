package supervised_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/supervised"
)

// load has submitters submit no-op jobs, one after the other, and reports
// throughput and latency.
func load(b *testing.B, submitters int, one func() error) {
	latencies := make([][]time.Duration, submitters)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for i := range submitters {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				start := time.Now()
				if err := one(); err != nil {
					b.Error(err)
					return
				}
				latencies[i] = append(latencies[i], time.Since(start))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	every := slices.Concat(latencies...)
	slices.Sort(every)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64(every[len(every)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(every[len(every)*99/100].Nanoseconds()), "p99-ns")
}

// BenchmarkEndToEnd submits a job and waits until its future has settled,
// through goroutines, beside the same on an executor.Pool and on a bare
// channel.
func BenchmarkEndToEnd(b *testing.B) {
	ctx := context.Background()
	procs := runtime.GOMAXPROCS(0)
	widths := []int{1, 4, procs}
	slices.Sort(widths)
	for _, n := range slices.Compact(widths) {
		for _, submitters := range []int{procs, 2 * procs} {
			size := fmt.Sprintf("%d workers, %d submitters", n, submitters)
			b.Run("supervised "+size, func(b *testing.B) {
				cfg := supervised.Config[int, int]{
					Factory: func(context.Context, supervised.Role) (supervised.Worker[int, int], error) {
						return supervised.HandlerFunc[int, int](func(_ context.Context, a supervised.Assignment[int, int]) error {
							return a.Complete(1)
						}), nil
					},
					Backlog: 2 * submitters, Activations: 1, Interruption: supervised.Fail,
					Recovery: supervised.Temporary(supervised.RetireRole),
				}
				for i := range n {
					cfg.Roles = append(cfg.Roles, supervised.Role(fmt.Sprint(i)))
				}
				p, err := supervised.New(ctx, cfg)
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = p.Shutdown(ctx) }()
				load(b, submitters, func() error {
					ticket, err := p.Submit(ctx, 1)
					if err != nil {
						return err
					}
					_, err = ticket.Outcome.Await(ctx)
					return err
				})
			})
			b.Run("executor "+size, func(b *testing.B) {
				p, err := executor.New(executor.Config{Size: n, QueueLimit: 2 * submitters})
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = p.Shutdown(ctx) }()
				load(b, submitters, func() error {
					_, err := executor.Submit(ctx, p, func(context.Context) (int, error) { return 1, nil }).Await(ctx)
					return err
				})
			})
			b.Run("channel "+size, func(b *testing.B) {
				type job struct{ done chan int }
				jobs := make(chan job, 2*submitters)
				var all sync.WaitGroup
				for range n {
					all.Go(func() {
						for j := range jobs {
							j.done <- 1
						}
					})
				}
				load(b, submitters, func() error {
					j := job{make(chan int, 1)}
					jobs <- j
					<-j.done
					return nil
				})
				close(jobs)
				all.Wait()
			})
		}
	}
}
