package main

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

// traceHeader carries the trace id to the server.
const traceHeader = "X-Trace"

// client is the adapter: a blocking *http.Client made asynchronous. It gets its
// pool from whoever made it and does not close it.
type client struct {
	http *http.Client
	pool *executor.Pool
	log  *slog.Logger
	get  func(context.Context, string) *future.Future[*http.Response]
}

// newClient returns a client that runs its requests on pool. unread is told of
// each response that nobody received, after its body was closed.
func newClient(transport *http.Transport, pool *executor.Pool, log *slog.Logger, unread func(*http.Response)) *client {
	c := &client{http: &http.Client{Transport: transport}, pool: pool, log: log}
	c.get = executor.Async(pool, c.do, future.WithDispose(func(resp *http.Response) {
		_ = resp.Body.Close()
		unread(resp)
	}))
	return c
}

// do is the blocking call. It runs on a worker, under the caller's diagnostic
// context; when the future is canceled its ctx ends, and with it the request.
func (c *client) do(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if trace, ok := diagnostics.Value(ctx, "trace"); ok {
		req.Header.Set(traceHeader, trace.String())
	}
	c.log.InfoContext(ctx, "client sends", "path", req.URL.Path)
	return c.http.Do(req)
}

// text returns the body of a 200.
func text(_ context.Context, resp *http.Response) (string, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", statusError(resp.StatusCode)
	}
	return string(body), nil
}

type statusError int

func (e statusError) Error() string { return fmt.Sprintf("status %d", int(e)) }

// retry gets url until it answers 200, waiting longer each time.
func (c *client) retry(ctx context.Context, url string, attempts int, backoff time.Duration) (string, error) {
	for attempt := 1; ; attempt++ {
		body, err := future.Then(ctx, c.get(ctx, url), text).Await(ctx)
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
