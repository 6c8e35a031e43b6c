// Command quickstart runs a pool's whole life: post, submit, delay, await,
// close.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) (err error) {
	// Every record shows the context of the job that it is about.
	logger := slog.New(diagnostics.NewHandler(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: withoutTime})))

	// Two workers, and room for eight tasks that wait for one.
	pool, err := executor.New(executor.Config{Size: 2, QueueLimit: 8, Name: "quickstart", Logger: logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()

	ctx := diagnostics.With(context.Background(), slog.String("request", "r-17"))

	// Post: fire and forget. A full queue is an error, here and now.
	posted := make(chan struct{})
	if err := pool.Post(ctx, func(ctx context.Context) {
		logger.InfoContext(ctx, "posted task runs")
		close(posted)
	}); err != nil {
		return err
	}
	<-posted

	// Submit: the result comes as a future.
	sum := executor.Submit(ctx, pool, func(context.Context) (int, error) { return 19 + 23, nil })
	n, err := sum.Await(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "submitted task returned", n)

	// Delay: a retry's backoff, on one timer goroutine however many there are.
	const backoff = 10 * time.Millisecond
	if _, err := pool.Delay(ctx, backoff).Await(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "delay of", backoff, "is over")

	// Cancel: the task's context ends, with the cause.
	slow := executor.Submit(ctx, pool, func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	slow.Cancel(errors.New("the user left"))
	_, err = slow.Await(ctx)
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("canceled task: got %v", err)
	}
	fmt.Fprintln(out, "canceled task:", err)
	return nil
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
