// Command testing retries an operation that fails twice, with the real clock.
// The point is in its tests: they run the same code with a mock clock and in a
// testing/synctest bubble, without waiting for a single backoff.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/executor"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testing:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) (err error) {
	pool, err := executor.New(executor.Config{Size: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()

	ctx := context.Background()
	greeting, err := retry(ctx, pool, 3, 10*time.Millisecond, failing(2)).Await(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, greeting)
	return nil
}

// failing returns an operation that is unavailable n times.
func failing(n int32) func(context.Context) (string, error) {
	var calls atomic.Int32
	return func(context.Context) (string, error) {
		if c := calls.Add(1); c <= n {
			return "", errUnavailable
		}
		return fmt.Sprintf("available after %d failures", n), nil
	}
}
