package executor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/testwait"
)

var (
	bg       = context.Background()
	errCause = errors.New("the cause")
)

// newPool makes a pool that the end of the test closes, and waits for.
func newPool(t testing.TB, cfg executor.Config) *executor.Pool {
	t.Helper()
	p, err := executor.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = p.Close()
		testwait.Done(t, p.Done())
	})
	return p
}

// gate is a channel that the test closes, at its end if not before.
type gate struct {
	C    chan struct{}
	once sync.Once
}

func newGate(t testing.TB) *gate {
	g := &gate{C: make(chan struct{})}
	t.Cleanup(g.Open)
	return g
}

func (g *gate) Open() { g.once.Do(func() { close(g.C) }) }

// occupy gives n workers of p a task that lasts until the gate opens.
func occupy(t testing.TB, p executor.Executor, n int) *gate {
	t.Helper()
	g := newGate(t)
	started := make(chan struct{}, n)
	for range n {
		require.NoError(t, p.Post(bg, func(context.Context) { started <- struct{}{}; <-g.C }))
	}
	for range n {
		testwait.Done(t, started)
	}
	return g
}

// barrier returns when everything posted to p, a pool of one worker, has ended,
// a task of its own included.
func barrier(t testing.TB, p *executor.Pool) {
	t.Helper()
	testwait.Until(t, func() bool {
		_, err := executor.Submit(bg, p, func(context.Context) (int, error) { return 0, nil }).Await(bg)
		return !errors.Is(err, executor.ErrQueueFull)
	})
}

// closeAll closes p and waits for its last goroutine.
func closeAll(t testing.TB, p *executor.Pool) {
	t.Helper()
	require.NoError(t, p.Close())
	testwait.Done(t, p.Done())
}

// custody checks what holds at every instant.
func custody(t testing.TB, s executor.Stats) {
	t.Helper()
	if err := custodyError(s); err != nil {
		t.Fatal(err)
	}
}

func custodyError(s executor.Stats) error {
	sum := uint64(s.Queued+s.Running) + s.Finished + s.Panicked + s.Exited + s.Skipped + s.Discarded
	switch {
	case s.Accepted != sum,
		s.Attempted != s.Accepted+s.Rejected,
		s.Queued < 0 || s.Queued > s.QueueLimit,
		s.Lent < 0 || s.Running < s.Lent || s.Running-s.Lent > s.Size,
		s.Workers < 0 || s.Workers > s.Size:
		return fmt.Errorf("custody: %+v", s)
	}
	return nil
}

// ended returns a context that has ended.
func ended(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(bg)
	cancel(cause)
	return ctx
}

func with(kv ...any) context.Context { return withIn(bg, kv...) }

func withIn(ctx context.Context, kv ...any) context.Context {
	for i := 0; i < len(kv); i += 2 {
		ctx = diagnostics.With(ctx, slog.Any(kv[i].(string), kv[i+1]))
	}
	return ctx
}

// attr returns what ctx carries for key, or "absent".
func attr(ctx context.Context, key string) string {
	v, ok := diagnostics.Value(ctx, key)
	if !ok {
		return "absent"
	}
	return v.String()
}

// record is one log record.
type record struct {
	Level   slog.Level
	Message string
	Attrs   map[string]slog.Value
	Context string // its context's diagnostics
	Labels  string // of the goroutine that wrote it
}

// logs is a handler that keeps the records.
type logs struct {
	mu      sync.Mutex
	list    []record
	labeled bool          // note the labels too
	wrote   chan struct{} // receives once for each record
}

func newLogs() *logs { return &logs{wrote: make(chan struct{}, 10000)} }

func (l *logs) Logger() *slog.Logger { return slog.New(l) }

func (*logs) Enabled(context.Context, slog.Level) bool { return true }
func (l *logs) WithAttrs([]slog.Attr) slog.Handler     { panic("not used by the module") }
func (l *logs) WithGroup(string) slog.Handler          { panic("not used by the module") }

func (l *logs) Handle(ctx context.Context, r slog.Record) error {
	rec := record{Level: r.Level, Message: r.Message, Attrs: map[string]slog.Value{}}
	r.Attrs(func(a slog.Attr) bool { rec.Attrs[a.Key] = a.Value; return true })
	var b strings.Builder
	for a := range diagnostics.Capture(ctx).All() {
		fmt.Fprintf(&b, "%s=%v ", a.Key, a.Value)
	}
	rec.Context = strings.TrimSpace(b.String())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.labeled {
		rec.Labels = labelsHere()
	}
	l.list = append(l.list, rec)
	l.wrote <- struct{}{}
	return nil
}

func (l *logs) Records() []record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

// Of returns the records of one level.
func (l *logs) Of(level slog.Level) []record {
	return slices.DeleteFunc(l.Records(), func(r record) bool { return r.Level != level })
}

// defaultLogs stands in for slog.Default until the test ends.
func defaultLogs(t testing.TB) *logs {
	l, old := newLogs(), slog.Default()
	slog.SetDefault(l.Logger())
	t.Cleanup(func() { slog.SetDefault(old) })
	return l
}

// labelsHere returns the pprof labels of the calling goroutine as the goroutine
// profile shows them, "" for none. One goroutine at a time may call it.
//
//go:noinline
func labelsHere() string {
	var buf bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&buf, 1); err != nil {
		panic(err)
	}
	for block := range strings.SplitSeq(buf.String(), "\n\n") {
		if !strings.Contains(block, "executor_test.labelsHere+") {
			continue
		}
		for line := range strings.Lines(block) {
			if labels, ok := strings.CutPrefix(line, "# labels: "); ok {
				return strings.TrimSpace(labels)
			}
		}
		return ""
	}
	panic("the goroutine profile does not show its caller:\n" + buf.String())
}

const idleLabels = `{"executor":"executor"}` // of a worker of a pool without a name

func labeledCtx(ctx context.Context, kv ...string) context.Context {
	return pprof.WithLabels(ctx, pprof.Labels(kv...))
}

func isClosed(err error) bool { return errors.Is(err, executor.ErrClosed) }

// onTimer has fn called on the pool's timer goroutine.
func onTimer(p *executor.Pool, fn func()) {
	testwait.Later(func(d time.Duration, callback func()) {
		p.Delay(bg, d).OnSettle(func(future.Outcome[time.Time]) { callback() })
	}, fn)
}
