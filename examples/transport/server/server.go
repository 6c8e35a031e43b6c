// Package server is the far end: a real net/http server on loopback.
package server

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/examples/transport/client"
)

// A Server answers
//
//   - /hello?name=x with a greeting,
//   - /flaky with two failures, and then with a 200, over and over,
//   - /slow never: it ends when its client has gone,
//   - /late when it is told to.
type Server struct {
	URL string

	Arrived chan string   // gets the path of a /slow or a /late that has arrived
	Left    chan struct{} // gets a value when the client of a /slow has gone
	Answer  chan struct{} // a value lets one /late answer

	http  *http.Server
	log   *slog.Logger
	tries atomic.Int32 // of /flaky
}

// Start returns a server that listens. Close ends it.
func Start(log *slog.Logger) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		URL: "http://" + l.Addr().String(), log: log,
		Arrived: make(chan string, 1), Left: make(chan struct{}, 1), Answer: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello ", r.URL.Query().Get("name"))
	})
	mux.HandleFunc("/flaky", func(w http.ResponseWriter, r *http.Request) {
		if s.tries.Add(1)%3 != 0 {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "at last")
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		tell(s.Arrived, r.URL.Path)
		<-r.Context().Done() // ends when the client hangs up
		tell(s.Left, struct{}{})
	})
	mux.HandleFunc("/late", func(w http.ResponseWriter, r *http.Request) {
		tell(s.Arrived, r.URL.Path)
		select {
		case <-s.Answer:
			fmt.Fprint(w, "too late")
		case <-r.Context().Done():
		}
	})
	s.http = &http.Server{Handler: s.traced(mux)}
	go func() { _ = s.http.Serve(l) }()
	return s, nil
}

// Close ends the server and its connections.
func (s *Server) Close() error { return s.http.Close() }

// tell sends v to whoever listens, and to nobody if nobody does.
func tell[T any](ch chan T, v T) {
	select {
	case ch <- v:
	default:
	}
}

// traced puts the trace id of a request into its context, so that the server's
// records carry it too.
func (s *Server) traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := diagnostics.With(r.Context(), slog.String("trace", r.Header.Get(client.TraceHeader)))
		s.log.InfoContext(ctx, "server handles", "path", r.URL.Path)
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
