// Command supervised answers queries with workers that each hold an inverted
// index in memory, built from a directory of text files. Some queries crash
// their worker: it is restarted under a budget, until that is spent and its
// role is lost. Then the pool is shut down with queries still queued. In the
// end every query is accounted for.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cadre-go/cadre/executor/supervised"
)

// patience bounds the whole story.
const patience = 20 * time.Second

// query is one job. A slow one takes until it is told to stop.
type query struct {
	words string
	slow  bool
}

type pool = supervised.Pool[query, []string]

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "supervised:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	news := make(chan supervised.Diagnostic, 64)
	p, err := newPool(ctx, news)
	if err != nil {
		return err
	}
	defer func() { // on every way out: nothing is left behind
		p.Stop()
		<-p.Done()
	}()

	var l ledger
	fmt.Fprintln(out, "two workers, each with its index:")
	for _, words := range []string{"tide", "rope market", "lantern fog", "submarine"} {
		l.submit(ctx, p, query{words: words})
		if err := l.settle(ctx, out); err != nil {
			return err
		}
	}

	fmt.Fprintln(out, "a query without a word crashes one worker, then the other:")
	l.submit(ctx, p, query{words: "?!"})
	if err := l.settle(ctx, out); err != nil {
		return err
	}
	if err := hear(ctx, out, news, supervised.WorkerRestarted, 2); err != nil {
		return err
	}

	fmt.Fprintln(out, "and again, which the budget of 3 restarts does not cover:")
	l.submit(ctx, p, query{words: "..."})
	if err := l.settle(ctx, out); err != nil {
		return err
	}
	if err := hear(ctx, out, news, supervised.RecoveryFailed, 1); err != nil {
		return err
	}

	fmt.Fprintln(out, "the worker that is left serves on:")
	l.submit(ctx, p, query{words: "water"})
	if err := l.settle(ctx, out); err != nil {
		return err
	}

	fmt.Fprintln(out, "it gets a query that takes for ever, and others queue up, up to the bound of 4:")
	l.submit(ctx, p, query{words: "storm", slow: true})
	for _, words := range []string{"river", "mill", "boats", "gulls", "clock", "horn"} {
		l.submit(ctx, p, query{words: words})
	}
	stats := p.Stats()
	fmt.Fprintf(out, "  %d assigned, %d queued\n", stats.Assigned, stats.Queued)

	fmt.Fprintln(out, "the pool is shut down:")
	if err := p.Shutdown(ctx); err != nil {
		return err
	}
	if err := l.settle(ctx, out); err != nil {
		return err
	}
	l.submit(ctx, p, query{words: "too late"})
	return l.balance(out, p.Stats())
}

func newPool(ctx context.Context, news chan<- supervised.Diagnostic) (*pool, error) {
	return supervised.New(ctx, supervised.Config[query, []string]{
		Roles:   []supervised.Role{"index-a", "index-b"},
		Factory: newWorker,
		Backlog: 4, Activations: 1,
		Interruption: supervised.Retry, MaxAttempts: 2,
		Recovery: supervised.Permanent(supervised.Budget{Max: 3, Window: time.Hour},
			supervised.Immediate(), supervised.RetireRole),
		OnDiagnostic: func(d supervised.Diagnostic) { news <- d },
	})
}

// newWorker makes a worker with an index of its own.
func newWorker(context.Context, supervised.Role) (supervised.Worker[query, []string], error) {
	x, err := openIndex(texts, "texts")
	if err != nil {
		return nil, err
	}
	return supervised.HandlerFunc[query, []string](
		func(ctx context.Context, a supervised.Assignment[query, []string]) error {
			if a.Job().slow {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return a.Complete(x.search(a.Job().words))
		}), nil
}

// hear shows the notices and faults up to the last of n of a kind.
func hear(ctx context.Context, out io.Writer, news <-chan supervised.Diagnostic, kind supervised.DiagnosticKind, n int) error {
	for n > 0 {
		select {
		case d := <-news:
			fmt.Fprintf(out, "  %v: %v of %s", d.Severity, d.Kind, d.Role)
			var spent *supervised.BudgetError
			if errors.As(d.Cause, &spent) {
				fmt.Fprintf(out, " (%d of %d restarts used)", spent.Active, spent.Max)
			}
			fmt.Fprintln(out)
			if d.Kind == kind {
				n--
			}
		case <-ctx.Done():
			return fmt.Errorf("waiting for news of %v: %w", kind, ctx.Err())
		}
	}
	return nil
}
