package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/examples/transport/client"
	"github.com/cadre-go/cadre/examples/transport/server"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
)

// errLeft is the cause of a request that is given up.
var errLeft = errors.New("the user left")

// requests is the client and the server of examples/transport: greetings,
// retries with backoff, requests that are canceled in flight, and responses
// that come when nobody wants them any more.
type requests struct {
	*book
	server  *server.Server
	pool    *executor.Pool
	http    *http.Transport
	client  *client.Client
	bodies  bodies
	stopped chan struct{} // ends answer
	answers sync.WaitGroup
}

func newRequests() (*desk, error) {
	r := &requests{book: newBook("requests"), stopped: make(chan struct{})}
	log := slog.New(diagnostics.NewHandler(slog.NewTextHandler(io.Discard, nil)))
	var err error
	if r.server, err = server.Start(log); err != nil {
		return nil, err
	}
	r.pool, err = executor.New(executor.Config{Name: "requests", Size: 8, QueueLimit: 16, Logger: log})
	if err != nil {
		return nil, errors.Join(err, r.server.Close())
	}
	r.http = &http.Transport{MaxIdleConnsPerHost: 8}
	r.bodies.next = r.http
	r.client = client.New(&r.bodies, r.pool, log, func(*http.Response) { r.enter("response nobody received") })
	r.answers.Go(r.answer)
	return &desk{book: r.book, subject: r, clients: 32, pace: 120 * time.Millisecond}, nil
}

// answer lets the server's late answers go, each a moment later.
func (r *requests) answer() {
	for {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-r.stopped:
			return
		}
		select {
		case r.server.Answer <- struct{}{}:
		case <-r.stopped:
			return
		}
	}
}

func (r *requests) play(c *player) {
	ctx, id := stamped(c)
	ctx = diagnostics.With(ctx, slog.String("trace", fmt.Sprint(id)))
	switch c.IntN(6) {
	case 0, 1, 2:
		name := fmt.Sprint(id)
		start := time.Now()
		body, err := future.Then(ctx, r.client.Get(ctx, r.server.URL+"/hello?name="+name), client.Text).Await(c)
		if r.entered("hello", err) {
			r.since(start)
			if body != "hello "+name {
				r.bad("%s got the answer %q", name, body)
			}
		}
	case 3:
		_, err := r.client.Retry(ctx, r.server.URL+"/flaky", 4, time.Millisecond)
		r.entered("retry", err)
	case 4:
		f := r.client.Get(ctx, r.server.URL+"/slow")
		settledWithin(f, time.Duration(c.IntN(10))*time.Millisecond)
		f.Cancel(errLeft)
		_, err := f.Await(c)
		r.entered("slow", err)
	case 5:
		f := r.client.Get(ctx, r.server.URL+"/late")
		settledWithin(f, time.Duration(c.IntN(4))*time.Millisecond)
		f.Abandon(errLeft)
		resp, err := f.Await(c)
		if r.entered("late", err) {
			_ = resp.Body.Close() // it was faster
		}
	}
}

// settledWithin waits for f, for a while.
func settledWithin(f *future.Future[*http.Response], d time.Duration) {
	select {
	case <-time.After(d):
	case <-f.Done():
	}
}

// entered counts how a request ended, and reports whether it has an answer.
func (r *requests) entered(verb string, err error) bool {
	var status client.StatusError
	switch {
	case err == nil:
		r.enter(verb + " answered")
		return true
	case errors.Is(err, executor.ErrRejected):
		r.enter(verb + " rejected")
	case errors.Is(err, errLeft):
		r.enter(verb + " given up")
	case errors.As(err, &status):
		r.enter(verb + " refused by the server")
	default:
		r.bad("%s: %v", verb, err)
	}
	return false
}

func (r *requests) watch() int { return r.addsUp(r.pool) }

func (r *requests) rest(ctx context.Context) {
	r.comesToRest(ctx, r.pool)
	r.equal("bodies closed", r.bodies.closed.Load(), r.bodies.opened.Load())
	r.equal("panics", r.pool.Stats().Panicked, 0)
	r.http.CloseIdleConnections()
}

func (r *requests) end(ctx context.Context) {
	if err := r.pool.Shutdown(ctx); err != nil {
		r.bad("shutdown: %v", err)
	}
	r.rest(ctx)
	close(r.stopped)
	r.answers.Wait()
	if err := r.server.Close(); err != nil {
		r.bad("server: %v", err)
	}
}

// bodies counts the responses that come and the bodies that are closed.
type bodies struct {
	next           http.RoundTripper
	opened, closed atomic.Uint64
}

func (b *bodies) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	if err == nil {
		b.opened.Add(1)
		resp.Body = &body{ReadCloser: resp.Body, of: b}
	}
	return resp, err
}

type body struct {
	io.ReadCloser
	of     *bodies
	closed atomic.Bool
}

func (b *body) Close() error {
	if !b.closed.Swap(true) {
		b.of.closed.Add(1)
	}
	return b.ReadCloser.Close()
}
