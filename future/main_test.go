package future_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/testwait"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(&logs))
	goleak.VerifyTestMain(m)
}

var (
	bg      = context.Background()
	noCtx   context.Context // nil; staticcheck objects to a literal one
	errBoom error           = testErr("boom")
	errWhy  error           = testErr("why")
)

// testErr is an error type whose values are comparable and never confused with
// those of other packages.
type testErr string

func (e testErr) Error() string { return string(e) }

// logs stands behind slog.Default. A record that no test recorded shows on
// standard error.
var logs recorder

type recorder struct {
	mu      sync.Mutex
	on      bool
	records []string
}

func (*recorder) Enabled(context.Context, slog.Level) bool { return true }
func (r *recorder) WithAttrs([]slog.Attr) slog.Handler     { return r }
func (r *recorder) WithGroup(string) slog.Handler          { return r }

func (r *recorder) Handle(ctx context.Context, rec slog.Record) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", rec.Level, rec.Message)
	write := func(a slog.Attr) bool { fmt.Fprintf(&b, " %s=%v", a.Key, a.Value); return true }
	for _, a := range frame.Capture(ctx).List() {
		write(a)
	}
	rec.Attrs(write)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.on {
		_, err := io.WriteString(os.Stderr, b.String()+"\n")
		return err
	}
	r.records = append(r.records, b.String())
	return nil
}

// recordLogs returns a function that returns what has been logged since.
func recordLogs(t *testing.T) func() []string {
	logs.mu.Lock()
	defer logs.mu.Unlock()
	logs.on, logs.records = true, nil
	t.Cleanup(func() {
		logs.mu.Lock()
		defer logs.mu.Unlock()
		logs.on = false
	})
	return func() []string {
		logs.mu.Lock()
		defer logs.mu.Unlock()
		return append([]string(nil), logs.records...)
	}
}

// pending returns n completers and their futures.
func pending(n int) ([]*future.Completer[int], []*future.Future[int]) {
	cs, fs := make([]*future.Completer[int], n), make([]*future.Future[int], n)
	for i := range cs {
		cs[i] = future.NewCompleter[int]()
		fs[i] = cs[i].Future()
	}
	return cs, fs
}

func ended(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(bg)
	cancel(cause)
	return ctx
}

func requireValue[T any](t *testing.T, f *future.Future[T], want T) {
	t.Helper()
	o, ok := f.Outcome()
	require.True(t, ok, "pending")
	require.NoError(t, o.Err)
	require.Equal(t, want, o.Value)
}

// requireErr checks for the identical error.
func requireErr[T any](t *testing.T, f *future.Future[T], want error) {
	t.Helper()
	o, ok := f.Outcome()
	require.True(t, ok, "pending")
	require.True(t, want == o.Err, "want %v, got %v", want, o.Err)
}

func requireCanceled[T any](t *testing.T, f *future.Future[T], cause error) {
	t.Helper()
	o, ok := f.Outcome()
	require.True(t, ok, "pending")
	require.True(t, o.Canceled(), "%v", o.Err)
	require.Equal(t, &future.CanceledError{Cause: cause}, o.Err)
}

func requirePending[T any](t *testing.T, f *future.Future[T]) {
	t.Helper()
	o, ok := f.Outcome()
	require.False(t, ok, "%v", o)
}

// ending is how a function ended.
type ending struct {
	panicked any
	goexit   bool
}

// end calls fn under a net, on a goroutine of its own.
func end(t *testing.T, fn func()) (e ending) {
	t.Helper()
	testwait.Call(t, func() {
		returned := false
		defer func() {
			e.panicked = recover()
			e.goexit = !returned && e.panicked == nil
		}()
		fn()
		returned = true
	})
	return e
}

// bothEnds is end for a function that panics while a Goexit is on its way:
// recovered, the panic ends and the Goexit goes on.
func bothEnds(t *testing.T, fn func()) (panicked any, goexit bool) {
	t.Helper()
	testwait.Call(t, func() {
		goexit = true
		func() {
			defer func() { panicked = recover() }()
			fn()
		}()
		goexit = false
	})
	return panicked, goexit
}

// countingCtx counts what is registered with it. Package context does not know
// its type, so it offers AfterFunc.
type countingCtx struct {
	context.Context
	cancel context.CancelCauseFunc
	active atomic.Int64
}

func newCountingCtx() *countingCtx {
	c := &countingCtx{}
	c.Context, c.cancel = context.WithCancelCause(bg)
	return c
}

func (*countingCtx) Value(any) any { return nil }

func (c *countingCtx) AfterFunc(fn func()) (stop func() bool) {
	c.active.Add(1)
	stopFn := context.AfterFunc(c.Context, func() { c.active.Add(-1); fn() })
	return func() bool {
		stopped := stopFn()
		if stopped {
			c.active.Add(-1)
		}
		return stopped
	}
}

// closer counts its Close.
type closer struct {
	closed atomic.Int64
	end    func() error
}

func (c *closer) Close() error {
	c.closed.Add(1)
	if c.end != nil {
		return c.end()
	}
	return nil
}

func goexit() { runtime.Goexit() }
