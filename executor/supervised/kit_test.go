package supervised

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
)

var errTest = errors.New("test")

type (
	pool       = Pool[int, int]
	config     = Config[int, int]
	worker     = Worker[int, int]
	inbox      = Inbox[int, int]
	assignment = Assignment[int, int]
	handler    = HandlerFunc[int, int]
	outcome    = future.Outcome[Completion[int]]
)

// serveFunc is a worker that is a function.
type serveFunc func(ctx context.Context, in *inbox) error

func (f serveFunc) Serve(ctx context.Context, in *inbox) error { return f(ctx, in) }

// tenfold completes each job with ten times its number.
func tenfold(_ context.Context, a assignment) error { return a.Complete(10 * a.Job()) }

// making returns a factory that makes the same worker each time.
func making(w worker) Factory[int, int] {
	return func(context.Context, Role) (worker, error) { return w, nil }
}

// plain is a pool of some roles whose workers are restarted at once.
func plain(roles int, w worker) config {
	cfg := config{
		Factory: making(w), Activations: 1, Interruption: Fail,
		Recovery: Permanent(Budget{Max: 100, Window: time.Minute}, Immediate(), RetireRole),
	}
	for i := range roles {
		cfg.Roles = append(cfg.Roles, Role(rune('a'+i)))
	}
	return cfg
}

// sink collects diagnostics.
type sink struct {
	mu   sync.Mutex
	got  []Diagnostic
	news chan struct{} // replaced and closed with each
}

func newSink() *sink { return &sink{news: make(chan struct{})} }

func (s *sink) take(d Diagnostic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, d)
	close(s.news)
	s.news = make(chan struct{})
}

// find waits for the first diagnostic of a kind.
func (s *sink) find(t *testing.T, kind DiagnosticKind) Diagnostic {
	t.Helper()
	for {
		s.mu.Lock()
		for _, d := range s.got {
			if d.Kind == kind {
				s.mu.Unlock()
				return d
			}
		}
		news := s.news
		s.mu.Unlock()
		testwait.Done(t, news)
	}
}

func (s *sink) count(kind DiagnosticKind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, d := range s.got {
		if d.Kind == kind {
			n++
		}
	}
	return n
}

// start makes a pool that the test stops at its end, and whose goroutines must
// all have ended then.
func start(t *testing.T, cfg config) (*pool, *sink) {
	t.Helper()
	s := newSink()
	if cfg.OnDiagnostic == nil {
		cfg.OnDiagnostic = s.take
	}
	p, err := New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { stop(t, p) })
	return p, s
}

func stop(t *testing.T, p *pool) {
	t.Helper()
	p.Stop()
	testwait.Done(t, p.Done())
}

func submit(t *testing.T, p *pool, job int) *Ticket[int] {
	t.Helper()
	ticket, err := p.Submit(context.Background(), job)
	require.NoError(t, err)
	return ticket
}

// result is what a job was completed with.
func result(t *testing.T, ticket *Ticket[int]) int {
	t.Helper()
	done := futuretest.Await(t, ticket.Outcome)
	require.Equal(t, ticket.ID, done.Job)
	return done.Result
}

// returned is the error that a job came back with.
func returned(t *testing.T, ticket *Ticket[int]) *ReturnedError[int] {
	t.Helper()
	testwait.Done(t, ticket.Outcome.Done())
	o, _ := ticket.Outcome.Outcome()
	var e *ReturnedError[int]
	require.ErrorAs(t, o.Err, &e)
	require.Equal(t, ticket.ID, e.ID)
	return e
}

// within bounds a context for calls that should return long before.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testwait.Bound)
	t.Cleanup(cancel)
	return ctx
}

// counters has the incarnations of a pool begin there.
func counters(incarnation uint64) fold.Counters {
	return fold.Counters{Incarnation: fold.Incarnation(incarnation)}
}
