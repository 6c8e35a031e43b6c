package supervised_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/supervised"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

// What the tests from outside of the package share.

var errTest = errors.New("test")

type (
	pool       = supervised.Pool[int, int]
	config     = supervised.Config[int, int]
	worker     = supervised.Worker[int, int]
	inbox      = supervised.Inbox[int, int]
	assignment = supervised.Assignment[int, int]
	settled    = future.Outcome[supervised.Completion[int]]
)

// serve is a worker that is a function.
type serve func(ctx context.Context, in *inbox) error

func (f serve) Serve(ctx context.Context, in *inbox) error { return f(ctx, in) }

// obedient serves nothing and ends when it is asked to.
var obedient = serve(func(ctx context.Context, _ *inbox) error {
	<-ctx.Done()
	return nil
})

// failing ends at once.
var failing = serve(func(context.Context, *inbox) error { return errTest })

// handing is a worker that passes each assignment on to the test, and waits for
// its end.
func handing(to chan<- assignment) worker {
	return serve(func(_ context.Context, in *inbox) error {
		for {
			// By its own ctx it could end in the middle of being asked to stop,
			// which gives a notice.
			a, err := in.Next(context.Background())
			if err != nil {
				return nil
			}
			to <- a
			<-a.Context().Done()
		}
	})
}

// always is a factory that makes the same worker each time, and first one that
// makes another before that.
func always(w worker) supervised.Factory[int, int] { return first(w, w) }

func first(once, then worker) supervised.Factory[int, int] {
	var calls atomic.Int64
	return func(context.Context, supervised.Role) (worker, error) {
		if calls.Add(1) == 1 {
			return once, nil
		}
		return then, nil
	}
}

// permanent is a config of one role, a, whose workers are restarted at once.
func permanent(factory supervised.Factory[int, int]) config {
	return config{
		Factory: factory, Roles: []supervised.Role{"a"}, Activations: 1, Interruption: supervised.Fail,
		Recovery: restarting(supervised.Immediate()), OnDiagnostic: func(supervised.Diagnostic) {},
	}
}

func restarting(b supervised.Backoff) supervised.Recovery {
	return supervised.Permanent(supervised.Budget{Max: 100, Window: time.Hour}, b, supervised.RetireRole)
}

// open makes a pool that has to end with the test.
func open(t *testing.T, cfg config) *pool {
	t.Helper()
	p, err := supervised.New(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		p.Stop()
		testwait.Done(t, p.Done())
	})
	return p
}

func give(t *testing.T, p *pool, job int) *supervised.Ticket[int] {
	t.Helper()
	ticket, err := p.Submit(context.Background(), job)
	require.NoError(t, err)
	return ticket
}

// bounded is a context for calls that return long before its end.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), testwait.Bound)
	t.Cleanup(cancel)
	return ctx
}

func stands(t *testing.T, p *pool, role int, phase string) {
	t.Helper()
	testwait.Until(t, func() bool { return p.Stats().Roles[role].Phase == phase })
}

// noted collects diagnostics.
type noted struct {
	mu  sync.Mutex
	all []supervised.Diagnostic
}

func (n *noted) take(d supervised.Diagnostic) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, d)
}

func (n *noted) faults() (causes []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range n.all {
		if d.Severity == supervised.Fault {
			causes = append(causes, d.Kind.String()+": "+d.Cause.Error())
		}
	}
	return causes
}

func (n *noted) cause(kind supervised.DiagnosticKind) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range n.all {
		if d.Kind == kind {
			return d.Cause
		}
	}
	return nil
}

// written is a log.
type written struct {
	mu sync.Mutex
	b  strings.Builder
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

func (w *written) logger() *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// hooked is a clock that calls a function before it answers.
type hooked struct {
	timer.Clock
	onNow   atomic.Pointer[func()]
	onTimer atomic.Pointer[func()]
}

func (c *hooked) Now() time.Time {
	if on := c.onNow.Load(); on != nil {
		(*on)()
	}
	return c.Clock.Now()
}

func (c *hooked) NewTimer(d time.Duration) timer.ClockTimer {
	if on := c.onTimer.Load(); on != nil {
		(*on)()
	}
	return c.Clock.NewTimer(d)
}

// once sets a hook that is gone when it is called.
func once(hook *atomic.Pointer[func()], fn func()) {
	var set *func()
	call := func() {
		if hook.CompareAndSwap(set, nil) {
			fn()
		}
	}
	set = &call
	hook.Store(set)
}

// wall is package time as a clock.
type wall struct{}

func (wall) Now() time.Time                            { return time.Now() }
func (wall) NewTimer(d time.Duration) timer.ClockTimer { return wallTimer{time.NewTimer(d)} }

type wallTimer struct{ *time.Timer }

func (t wallTimer) C() <-chan time.Time { return t.Timer.C }
