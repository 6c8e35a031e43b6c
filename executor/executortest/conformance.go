package executortest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/internal/testwait"
)

// Conformance checks what every [executor.Executor] has to keep, in a subtest
// for each rule. make is called in each of them and returns a fresh executor,
// which it has the subtest's Cleanup close.
//
// An executor that needs somebody to run its tasks has a method RunAll() int,
// as [Manual] has: the suite calls it whenever it waits. A task that the
// executor refuses with [executor.ErrQueueFull] is posted again until there is
// room, so any bound will do. The suite calls Post from several goroutines.
func Conformance(t *testing.T, make func(t *testing.T) executor.Executor) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { c.run(newSuite(t, make(t))) })
	}
}

// checks are the rules. Each leaves nothing running.
var checks = []struct {
	name string
	run  func(*suite)
}{
	{"EXEC-2 a nil context or task is a ConfigError", (*suite).nilArguments},
	{"EXEC-2 a context that is done is rejected with its cause", (*suite).endedContext},
	{"EXEC-2 an accepted task runs once", (*suite).once},
	{"EXEC-2 a task may post", (*suite).nested},
	{"EXEC-4 a task sees the caller's values", (*suite).values},
	{"EXEC-4 the end of the caller's context does not end the task's", (*suite).lifetime},
	{"EXEC-4 a child of the task's context costs no goroutine", (*suite).children},
	{"DIAG-3 a task has a scope of its own that starts as the snapshot", (*suite).scope},
	{"DIAG-4 labels do not outlive their task", (*suite).labels},
	{"EXEC-7 a panic ends the task alone", (*suite).panics},
	{"EXEC-7 a Goexit ends the task alone", (*suite).goexits},
	{"EXEC-9 Submit settles with what the function did", (*suite).submit},
	{"EXEC-11 Submit's function is canceled with its caller's context", (*suite).cancel},
	{"EXEC-11 Submit's function does not start after a Cancel", (*suite).cancelQueued},
}

// suite is one check's view of its test.
type suite struct {
	testing.TB
	ex   executor.Executor
	home uint64 // the test's own goroutine
}

func newSuite(t testing.TB, ex executor.Executor) *suite { return &suite{t, ex, goid.ID()} }

// fatalf fails the test and ends the calling goroutine. FailNow may only be
// called on the test's own; see apart.
func (s *suite) fatalf(format string, args ...any) {
	s.Helper()
	s.Errorf(format, args...)
	if goid.ID() == s.home {
		s.FailNow()
	}
	runtime.Goexit()
}

// pump has an executor that runs nothing by itself run what is queued.
func (s *suite) pump() (pumped bool) {
	m, ok := s.ex.(interface{ RunAll() int })
	if ok {
		m.RunAll()
	}
	return ok
}

// bounded returns a function that fails the test when it is called too late.
func (s *suite) bounded(what string) func() {
	end := time.Now().Add(testwait.Bound)
	return func() {
		s.Helper()
		if time.Now().After(end) {
			s.fatalf("%s: still not so after %v; all goroutines:\n\n%s", what, testwait.Bound, testwait.Stacks())
		}
		runtime.Gosched()
	}
}

// post posts task, again and again while there is no room.
func (s *suite) post(ctx context.Context, task func(context.Context)) {
	s.Helper()
	again := s.bounded("room for a task")
	for {
		err := s.ex.Post(ctx, task)
		switch {
		case err == nil:
			return
		case !errors.Is(err, executor.ErrQueueFull):
			s.fatalf("Post: %v", err)
		}
		s.pump()
		again()
	}
}

// run posts task and waits until it has returned.
func (s *suite) run(ctx context.Context, task func(context.Context)) {
	s.Helper()
	done := make(chan struct{})
	s.post(ctx, func(ctx context.Context) {
		defer close(done)
		task(ctx)
	})
	s.pump()
	testwait.Done(s, done)
}

// apart calls fn, which may not return, on a goroutine of its own: an executor
// may run a task on its caller's stack.
func (s *suite) apart(fn func()) {
	s.Helper()
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		fn()
	}()
	if v := testwait.Value(s, done); v != nil {
		s.fatalf("a panic reached the caller of Post: %v", v)
	}
	if s.Failed() {
		s.FailNow()
	}
}

func (s *suite) nilArguments() {
	var ran atomic.Bool
	check := func(what string, post func() error) {
		var err error
		s.apart(func() { err = post() })
		var bad *executor.ConfigError
		if !errors.As(err, &bad) || !errors.Is(err, executor.ErrConfig) {
			s.Errorf("Post with %s: got %v, want a *ConfigError", what, err)
		}
	}
	check("a nil context", func() error {
		var none context.Context
		return s.ex.Post(none, func(context.Context) { ran.Store(true) })
	})
	check("a nil task", func() error { return s.ex.Post(context.Background(), nil) })
	s.apart(func() { s.pump() })
	s.run(context.Background(), func(context.Context) {})
	if ran.Load() {
		s.Errorf("a task that was refused ran")
	}
}

func (s *suite) endedContext() {
	var ran atomic.Bool
	task := func(context.Context) { ran.Store(true) }
	cause := errors.New("the cause")
	canceled, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	expired, stop := context.WithDeadlineCause(context.Background(), time.Unix(0, 0), cause)
	defer stop()
	for _, ctx := range []context.Context{canceled, expired} {
		err := s.ex.Post(ctx, task)
		var rejected *executor.RejectedError
		if !errors.As(err, &rejected) {
			s.Errorf("Post under an ended context: got %v, want a *RejectedError", err)
			continue
		}
		for _, target := range []error{executor.ErrRejected, cause, ctx.Err()} {
			if !errors.Is(err, target) {
				s.Errorf("Post under an ended context: %v does not match %v", err, target)
			}
		}
	}
	s.pump()
	s.run(context.Background(), func(context.Context) {})
	if ran.Load() {
		s.Errorf("a task that was refused ran")
	}
}

func (s *suite) once() {
	const posters, tasks = 4, 25
	var counts [posters * tasks]atomic.Int64
	var left atomic.Int64
	left.Store(posters * tasks)
	done := make(chan struct{})
	posted := make(chan error, posters)
	for p := range posters {
		go func() {
			for i := range tasks {
				for {
					err := s.ex.Post(context.Background(), func(context.Context) {
						counts[p*tasks+i].Add(1)
						if left.Add(-1) == 0 {
							close(done)
						}
					})
					if err == nil {
						break
					}
					if !errors.Is(err, executor.ErrQueueFull) {
						posted <- err
						return
					}
					runtime.Gosched()
				}
			}
			posted <- nil
		}()
	}
	again := s.bounded("every task has been posted")
	for n := 0; n < posters; {
		select {
		case err := <-posted:
			if err != nil {
				s.fatalf("Post: %v", err)
			}
			n++
		default:
			s.pump()
			again()
		}
	}
	s.pump()
	testwait.Done(s, done)
	s.run(context.Background(), func(context.Context) {}) // whatever comes twice has come
	for i := range counts {
		if n := counts[i].Load(); n != 1 {
			s.Errorf("task %d ran %d times", i, n)
		}
	}
}

func (s *suite) nested() {
	var err error
	end := make(chan struct{})
	s.run(context.Background(), func(ctx context.Context) {
		err = s.ex.Post(ctx, func(context.Context) { close(end) })
	})
	s.pump()
	switch {
	case errors.Is(err, executor.ErrQueueFull):
	case err != nil:
		s.Errorf("Post in a task: %v", err)
	default:
		testwait.Done(s, end)
	}
}

func (s *suite) values() {
	type key struct{}
	ctx := context.WithValue(context.Background(), key{}, "value")
	var got any
	s.run(ctx, func(ctx context.Context) { got = ctx.Value(key{}) })
	if got != "value" {
		s.Errorf("the task's context has the value %v, want that of the caller", got)
	}
}

func (s *suite) lifetime() {
	cause := errors.New("the cause")
	caller, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var before, after, got error
	s.run(caller, func(ctx context.Context) {
		child, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		before = ctx.Err()
		cancel(cause)
		after = ctx.Err()
		stop(errors.New("of the child"))
		got = context.Cause(child)
	})
	if before != nil || after != nil {
		s.Errorf("the task's context ended with that of the caller: %v, %v", before, after)
	}
	if got == nil || got.Error() != "of the child" {
		s.Errorf("a child of the task's context has the cause %v, want its own", got)
	}
}

func (s *suite) children() {
	const n = 64
	var cost int
	watching := func() int { return bytes.Count(testwait.Stacks(), []byte("context.(*cancelCtx).propagateCancel.")) }
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.run(ctx, func(ctx context.Context) {
		before := watching()
		for range n {
			_, stop := context.WithCancel(ctx)
			defer stop()
		}
		cost = watching() - before
	})
	if cost >= n/2 { // tests beside this one may start some
		s.Errorf("%d child contexts cost %d goroutines", n, cost)
	}
}

func (s *suite) scope() {
	value := func(ctx context.Context, key string) string {
		v, ok := diagnostics.Value(ctx, key)
		if !ok {
			return "absent"
		}
		return v.String()
	}
	// A caller with a scope, as a task is, and something laid over it.
	scope := diagnostics.Capture(context.Background()).Install(context.Background())
	diagnostics.Set(scope, slog.String("scope", "1"))
	caller := diagnostics.With(scope, slog.String("with", "1"))

	var got string
	var set bool
	done := make(chan struct{})
	s.post(caller, func(ctx context.Context) {
		defer close(done)
		got = fmt.Sprint(value(ctx, "scope"), value(ctx, "with"), value(ctx, "late"))
		set = diagnostics.Set(ctx, slog.String("with", "2"), slog.String("left", "behind"))
		got += fmt.Sprint(value(ctx, "with"))
	})
	diagnostics.Set(scope, slog.String("late", "1"))
	s.pump()
	testwait.Done(s, done)
	if want := "1" + "1" + "absent" + "2"; got != want || !set {
		s.Errorf("the task saw %q (Set: %v), want %q: its snapshot, and what it wrote", got, set, want)
	}
	if left := value(caller, "left"); left != "absent" {
		s.Errorf("what the task wrote was seen by its caller: %s", left)
	}
	s.run(context.Background(), func(ctx context.Context) { got = value(ctx, "with") + value(ctx, "left") })
	if got != "absentabsent" {
		s.Errorf("a later task, posted without attributes, saw %q", got)
	}
}

func (s *suite) labels() {
	// A caller's goroutine is not the executor's to label.
	here := goid.ID()
	labeled := pprof.WithLabels(context.Background(), pprof.Labels("conformance", "caller"))
	own := pprof.WithLabels(context.Background(), pprof.Labels("conformance", "own"))
	for range 4 {
		foreign, after := false, ""
		s.run(labeled, func(context.Context) {
			if foreign = goid.ID() == here; !foreign {
				pprof.SetGoroutineLabels(own)
			}
		})
		s.run(context.Background(), func(context.Context) { after = goroutineLabels() })
		if !foreign && strings.Contains(after, "conformance") {
			s.Errorf("a later task ran with the labels %q of an earlier one", after)
		}
	}
}

// goroutineLabels returns the calling goroutine's labels as the profile shows
// them. It is called by one goroutine at a time.
//
//go:noinline
func goroutineLabels() string {
	var profile bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1)
	for block := range strings.SplitSeq(profile.String(), "\n\n") {
		if !strings.Contains(block, "executortest.goroutineLabels+") {
			continue
		}
		for line := range strings.Lines(block) {
			if labels, ok := strings.CutPrefix(line, "# labels: "); ok {
				return strings.TrimSpace(labels)
			}
		}
	}
	return ""
}

func (s *suite) panics() {
	for _, v := range []any{"boom", errors.New("boom"), nil} {
		s.apart(func() {
			s.post(context.Background(), func(context.Context) { panic(v) })
			s.pump()
		})
	}
	s.run(context.Background(), func(context.Context) {})
}

func (s *suite) goexits() {
	for range 3 {
		began := make(chan struct{})
		s.apart(func() {
			s.post(context.Background(), func(context.Context) { close(began); runtime.Goexit() })
			s.pump()
		})
		s.apart(func() { s.pump() }) // what the Goexit kept the first from
		testwait.Done(s, began)      // not later, on this stack
	}
	s.run(context.Background(), func(context.Context) {})
}

// submitted returns the outcome of one Submit that finds room.
func (s *suite) submitted(ctx context.Context, fn func(context.Context) (int, error)) (o future.Outcome[int]) {
	s.Helper()
	again := s.bounded("room for a task")
	for {
		var f *future.Future[int]
		s.apart(func() { f = executor.Submit(ctx, s.ex, fn) })
		if f == nil { // a Goexit on the caller's stack took it along
			return future.Outcome[int]{Err: future.ErrGoexit}
		}
		s.apart(func() { s.pump() })
		testwait.Done(s, f.Done())
		if o, _ = f.Outcome(); !errors.Is(o.Err, executor.ErrQueueFull) {
			return o
		}
		again()
	}
}

func (s *suite) submit() {
	ctx := context.Background()
	if o := s.submitted(ctx, func(context.Context) (int, error) { return 7, nil }); o.Err != nil || o.Value != 7 {
		s.Errorf("Submit: got %v, want 7", o)
	}
	failure := errors.New("failure")
	if o := s.submitted(ctx, func(context.Context) (int, error) { return 0, failure }); o.Err != failure {
		s.Errorf("Submit: got %v, want the identical error", o.Err)
	}
	o := s.submitted(ctx, func(context.Context) (int, error) { panic(failure) })
	var panicked *future.PanicError
	if !errors.As(o.Err, &panicked) || !errors.Is(o.Err, failure) {
		s.Errorf("Submit: got %v, want a *PanicError", o.Err)
	}
	o = s.submitted(ctx, func(context.Context) (int, error) { runtime.Goexit(); return 0, nil })
	if !errors.Is(o.Err, future.ErrGoexit) {
		s.Errorf("Submit: got %v, want ErrGoexit", o.Err)
	}
}

func (s *suite) cancel() {
	cause := errors.New("the cause")
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	seen := make(chan error, 1)
	o := s.submitted(ctx, func(ctx context.Context) (int, error) {
		cancel(cause)
		select {
		case <-ctx.Done():
			seen <- context.Cause(ctx)
		case <-time.After(testwait.Bound):
			seen <- nil
		}
		return 0, nil
	})
	if !errors.Is(o.Err, cause) || !errors.Is(o.Err, context.Canceled) {
		s.fatalf("the future settled with %v, want a cancellation with the cause", o)
	}
	if got := testwait.Value(s, seen); got != cause {
		s.Errorf("the function's context ended with the cause %v, want that of its caller", got)
	}
}

// cancelQueued finds out if there is a moment between Submit and the start:
// only where the suite runs the tasks itself can it tell.
func (s *suite) cancelQueued() {
	var began atomic.Bool
	f := executor.Submit(context.Background(), s.ex, func(context.Context) (int, error) {
		began.Store(true)
		return 7, nil
	})
	early := began.Load()
	if !f.Cancel(nil) {
		return // it has run
	}
	if pumped := s.pump(); pumped && !early && began.Load() {
		s.Errorf("the function started after the future was canceled")
	}
	s.run(context.Background(), func(context.Context) {})
}
