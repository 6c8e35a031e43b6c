package executor_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cadre-go/cadre/executor"
)

// BenchmarkNested is the cost of one level of Submit and Await inside a task,
// on a pool of one worker.
func BenchmarkNested(b *testing.B) {
	for _, depth := range []int{1, 10, 1000, 10000} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			p, err := executor.New(executor.Config{Size: 1})
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			var nest func(ctx context.Context, depth int) (int, error)
			nest = func(ctx context.Context, depth int) (int, error) {
				if depth == 0 {
					return 0, nil
				}
				n, err := executor.Submit(ctx, p, func(ctx context.Context) (int, error) {
					return nest(ctx, depth-1)
				}).Await(ctx)
				return n + 1, err
			}
			b.ReportAllocs()
			for left := b.N; left > 0; left -= depth {
				n, err := executor.Submit(b.Context(), p, func(ctx context.Context) (int, error) {
					return nest(ctx, depth)
				}).Await(b.Context())
				if n != depth || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
}
