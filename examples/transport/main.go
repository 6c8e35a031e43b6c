// Command transport makes a blocking HTTP client asynchronous over a real
// net/http server on loopback: concurrent requests, a retry with backoff, a
// cancel in flight, a response that nobody received, and the trace id of each
// request in the logs of both sides.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/examples/transport/client"
	"github.com/cadre-go/cadre/examples/transport/server"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
)

// patience bounds each step of the story.
const patience = 10 * time.Second

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "transport:", err)
		os.Exit(1)
	}
}

func run(w io.Writer) (err error) {
	out := &lockedWriter{w: w} // the logs of both sides and the story share it
	log := slog.New(diagnostics.NewHandler(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: withoutTime})))

	srv, err := server.Start(log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	pool, err := executor.New(executor.Config{Size: 4, QueueLimit: 16, Name: "http", Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	unread := make(chan string, 1)
	c := client.New(transport, pool, log, func(resp *http.Response) { unread <- resp.Status })

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, step := range []func(context.Context, io.Writer, *client.Client, *server.Server, <-chan string) error{
		concurrent, retrying, canceled, abandoned,
	} {
		if err := step(ctx, out, c, srv, unread); err != nil {
			return err
		}
	}
	return nil
}

func traced(ctx context.Context, id string) context.Context {
	return diagnostics.With(ctx, slog.String("trace", id))
}

// concurrent sends eight requests at once over four workers.
func concurrent(ctx context.Context, out io.Writer, c *client.Client, srv *server.Server, _ <-chan string) error {
	var greetings []*future.Future[string]
	for i := range 8 {
		ctx := traced(ctx, fmt.Sprintf("hello-%d", i))
		resp := c.Get(ctx, fmt.Sprintf("%s/hello?name=%d", srv.URL, i))
		greetings = append(greetings, future.Then(ctx, resp, client.Text))
	}
	all, err := future.All(ctx, greetings...).Await(ctx)
	if err != nil {
		return fmt.Errorf("concurrent requests: %w", err)
	}
	fmt.Fprintf(out, "== concurrent: %d replies, in order: %s\n", len(all), strings.Join(all, ", "))
	return nil
}

// retrying meets two failures, and backs off after each.
func retrying(ctx context.Context, out io.Writer, c *client.Client, srv *server.Server, _ <-chan string) error {
	body, err := c.Retry(traced(ctx, "retry"), srv.URL+"/flaky", 5, 5*time.Millisecond)
	if err != nil {
		return fmt.Errorf("retry: %w", err)
	}
	fmt.Fprintf(out, "== retry: %q after two failures\n", body)
	return nil
}

// canceled gives up a request in flight: the server sees it go.
func canceled(ctx context.Context, out io.Writer, c *client.Client, srv *server.Server, _ <-chan string) error {
	resp := c.Get(traced(ctx, "cancel"), srv.URL+"/slow")
	if err := wait(ctx, srv.Arrived); err != nil {
		return fmt.Errorf("cancel: the request did not arrive: %w", err)
	}
	resp.Cancel(errors.New("the user left"))
	if err := wait(ctx, srv.Left); err != nil {
		return fmt.Errorf("cancel: the server did not notice: %w", err)
	}
	_, err := resp.Await(ctx)
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("cancel: got %v", err)
	}
	fmt.Fprintf(out, "== cancel: %v; the server saw the client go\n", err)
	return nil
}

// abandoned stops waiting for a request and lets it run: its response, which
// nobody can receive, is closed.
func abandoned(ctx context.Context, out io.Writer, c *client.Client, srv *server.Server, unread <-chan string) error {
	resp := c.Get(traced(ctx, "abandon"), srv.URL+"/late")
	if err := wait(ctx, srv.Arrived); err != nil {
		return fmt.Errorf("abandon: the request did not arrive: %w", err)
	}
	resp.Abandon(errors.New("no longer needed"))
	select {
	case srv.Answer <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("abandon: the server does not wait: %w", context.Cause(ctx))
	}
	select {
	case status := <-unread:
		fmt.Fprintf(out, "== abandon: the response %q came too late, and was closed\n", status)
		return nil
	case <-ctx.Done():
		return fmt.Errorf("abandon: the late response was not closed: %w", context.Cause(ctx))
	}
}

func wait[T any](ctx context.Context, ch <-chan T) error {
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lockedWriter lets two loggers and the story write whole lines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(p)
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
