package pools

import (
	"context"
	"log/slog"
	"runtime/pprof"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor"
)

// Cadre and Labeled are the names of this module's pool, posted to under a bare
// context and under one that carries diagnostics and labels.
const (
	Cadre   = "cadre"
	Labeled = "cadre, ctx with diagnostics and labels"
)

func cadre(ctx context.Context) func(workers, queue int) Pool {
	return func(workers, queue int) Pool {
		pool, err := executor.New(executor.Config{Size: workers, QueueLimit: queue})
		check(err)
		convert := func(task func()) func(context.Context) {
			return func(context.Context) { task() }
		}
		try := func(task func(context.Context)) bool { return pool.Post(ctx, task) == nil }
		return rejecting(convert, try, func() { check(pool.Close()) })
	}
}

// LabeledContext carries what a request's context would: two attributes and
// two pprof labels.
func LabeledContext() context.Context {
	ctx := diagnostics.With(context.Background(), slog.String("request", "r-17"), slog.String("tenant", "t-4"))
	return pprof.WithLabels(ctx, pprof.Labels("request", "r-17", "tenant", "t-4"))
}
