package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/cadre-go/cadre/diagnostics"
)

// server is the far end: a real net/http server on loopback.
type server struct {
	http  *http.Server
	url   string
	log   *slog.Logger
	flaky atomic.Int32 // failures that /flaky still owes

	slowBegan, slowLeft chan struct{} // /slow was entered; its client has gone
	lateBegan, lateGo   chan struct{} // /late was entered; may answer
}

func startServer(log *slog.Logger) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{
		url: "http://" + l.Addr().String(), log: log,
		slowBegan: make(chan struct{}), slowLeft: make(chan struct{}),
		lateBegan: make(chan struct{}), lateGo: make(chan struct{}),
	}
	s.flaky.Store(2)
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello ", r.URL.Query().Get("name"))
	})
	mux.HandleFunc("/flaky", func(w http.ResponseWriter, r *http.Request) {
		if s.flaky.Add(-1) >= 0 {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "at last")
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		close(s.slowBegan)
		<-r.Context().Done() // ends when the client hangs up
		close(s.slowLeft)
	})
	mux.HandleFunc("/late", func(w http.ResponseWriter, r *http.Request) {
		close(s.lateBegan)
		<-s.lateGo
		fmt.Fprint(w, "too late")
	})
	s.http = &http.Server{Handler: s.traced(mux)}
	go func() { _ = s.http.Serve(l) }()
	return s, nil
}

// traced puts the trace id of a request into its context, so that the server's
// records carry it too.
func (s *server) traced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := diagnostics.With(r.Context(), slog.String("trace", r.Header.Get(traceHeader)))
		s.log.InfoContext(ctx, "server handles", "path", r.URL.Path)
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
