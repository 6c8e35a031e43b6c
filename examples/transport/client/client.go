// Package client makes a blocking HTTP client asynchronous.
package client

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
)

// TraceHeader carries the trace id to the server.
const TraceHeader = "X-Trace"

// A Client is the adapter: a blocking *http.Client made asynchronous. It gets its
// pool from whoever made it and does not close it.
type Client struct {
	// Get sends a request. The response's body is the receiver's to close.
	Get func(ctx context.Context, url string) *future.Future[*http.Response]

	http *http.Client
	pool *executor.Pool
	log  *slog.Logger
}

// New returns a client that runs its requests on pool. unread is told of each
// response that nobody received, after its body was closed.
func New(transport http.RoundTripper, pool *executor.Pool, log *slog.Logger, unread func(*http.Response)) *Client {
	c := &Client{http: &http.Client{Transport: transport}, pool: pool, log: log}
	c.Get = executor.Async(pool, c.do, future.WithDispose(func(resp *http.Response) {
		_ = resp.Body.Close()
		unread(resp)
	}))
	return c
}

// do is the blocking call. It runs on a worker, under the caller's diagnostic
// context; when the future is canceled its ctx ends, and with it the request.
func (c *Client) do(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if trace, ok := diagnostics.Value(ctx, "trace"); ok {
		req.Header.Set(TraceHeader, trace.String())
	}
	c.log.InfoContext(ctx, "client sends", "path", req.URL.Path)
	return c.http.Do(req)
}

// Text returns the body of a 200, and a [StatusError] for anything else.
func Text(_ context.Context, resp *http.Response) (string, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", StatusError(resp.StatusCode)
	}
	return string(body), nil
}

// A StatusError is the status of a response that is not 200.
type StatusError int

func (e StatusError) Error() string { return fmt.Sprintf("status %d", int(e)) }

// Retry gets url until it answers 200, waiting longer each time.
func (c *Client) Retry(ctx context.Context, url string, attempts int, backoff time.Duration) (string, error) {
	for attempt := 1; ; attempt++ {
		body, err := future.Then(ctx, c.Get(ctx, url), Text).Await(ctx)
		if err == nil || attempt == attempts {
			return body, err
		}
		c.log.InfoContext(ctx, "client backs off", "attempt", attempt, "error", err, "for", backoff)
		if _, err := c.pool.Delay(ctx, backoff).Await(ctx); err != nil {
			return "", err
		}
		backoff *= 2
	}
}
