package diagnostics_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/cadre-go/cadre/diagnostics"
)

// newLogger writes records without the time, for the sake of the output.
func newLogger(keys ...string) *slog.Logger {
	inner := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
			if len(groups) == 0 && attr.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return attr
		},
	})
	return slog.New(diagnostics.NewHandler(inner, keys...))
}

// A logger shows the trace id of the context that a record is written under.
func ExampleNewHandler() {
	logger := newLogger().WithGroup("db")

	ctx := diagnostics.With(context.Background(), slog.String("trace", "4bf92f"))
	logger.InfoContext(ctx, "query", "rows", 3)
	// Output:
	// level=INFO msg=query trace=4bf92f db.rows=3
}

// Only some attributes go to the log.
func ExampleNewHandler_keys() {
	logger := newLogger("trace")

	ctx := diagnostics.With(context.Background(),
		slog.String("trace", "4bf92f"), slog.String("user", "jane@example.com"))
	logger.InfoContext(ctx, "signed in")
	// Output:
	// level=INFO msg="signed in" trace=4bf92f
}

func ExampleWith() {
	ctx := diagnostics.With(context.Background(), slog.String("tenant", "A"))
	child := diagnostics.With(ctx, slog.String("tenant", "B"), slog.Int("try", 1))

	fmt.Println(diagnostics.Value(ctx, "tenant"))
	fmt.Println(diagnostics.Value(child, "tenant"))
	fmt.Println(diagnostics.Value(child, "user"))
	// Output:
	// A true
	// B true
	// <nil> false
}

// A task adds to its log lines what it finds out as it goes along. The
// executors of this module open the scope for every task.
func ExampleSet() {
	logger := newLogger()
	caller := diagnostics.With(context.Background(), slog.String("trace", "4bf92f"))

	task := diagnostics.Capture(caller).Install(caller)
	diagnostics.Set(task, slog.Int("order", 7))

	logger.InfoContext(task, "shipped")
	logger.InfoContext(caller, "answered")
	fmt.Println(diagnostics.Set(caller, slog.Int("order", 7)))
	// Output:
	// level=INFO msg=shipped trace=4bf92f order=7
	// level=INFO msg=answered trace=4bf92f
	// false
}

// A snapshot carries attributes to where the caller's context does not reach.
func ExampleSnapshot() {
	caller := diagnostics.With(context.Background(),
		slog.String("trace", "4bf92f"), slog.String("tenant", "A"))
	snapshot := diagnostics.Capture(caller)

	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx := snapshot.Install(context.Background())
		for attr := range diagnostics.Capture(ctx).All() {
			fmt.Println(attr)
		}
	}()
	<-done
	// Output:
	// trace=4bf92f
	// tenant=A
}
