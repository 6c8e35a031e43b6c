//lint:file-ignore SA1012 nil contexts are part of what is tested

package executortest_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/executortest"
	"github.com/cadre-go/cadre/internal/testwait"
)

// quiet keeps the records of the suite's panics off standard error.
func quiet(t *testing.T) {
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	t.Cleanup(func() { slog.SetDefault(old) })
}

func newPool(t testing.TB, size, queue int) *executor.Pool {
	t.Helper()
	p, err := executor.New(executor.Config{Size: size, QueueLimit: queue, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, p.Close())
		testwait.Done(t, p.Done())
	})
	return p
}

func must(t testing.TB) func(executor.Executor, error) executor.Executor {
	return func(ex executor.Executor, err error) executor.Executor {
		require.NoError(t, err)
		return ex
	}
}

// pumped is an executor over a Manual.
type pumped struct {
	executor.Executor
	*executortest.Manual
}

func (p pumped) Post(ctx context.Context, task func(context.Context)) error {
	return p.Executor.Post(ctx, task)
}

// naive is the least that conforms, made of public things alone.
type naive struct{}

func (naive) Post(ctx context.Context, task func(context.Context)) error {
	switch {
	case ctx == nil || task == nil:
		return &executor.ConfigError{Field: "ctx or task"}
	case ctx.Err() != nil:
		return &executor.RejectedError{Reason: fmt.Errorf("%w: %w", ctx.Err(), context.Cause(ctx))}
	}
	ctx = diagnostics.Capture(ctx).Install(context.WithoutCancel(ctx))
	go func() {
		defer func() { _ = recover() }()
		pprof.SetGoroutineLabels(ctx)
		task(ctx)
	}()
	return nil
}

// EXEC-20, EXEC-21
func TestConformance(t *testing.T) {
	quiet(t)
	for name, make := range map[string]func(t *testing.T) executor.Executor{
		"Pool":         func(t *testing.T) executor.Executor { return newPool(t, 3, 0) },
		"Pool of one":  func(t *testing.T) executor.Executor { return newPool(t, 1, 1) },
		"Pool NoQueue": func(t *testing.T) executor.Executor { return newPool(t, 2, executor.NoQueue) },
		"Inline":       func(*testing.T) executor.Executor { return executor.Inline() },
		"Go":           func(*testing.T) executor.Executor { return executor.Go() },
		"CallerRuns":   func(t *testing.T) executor.Executor { return executor.CallerRuns(newPool(t, 1, executor.NoQueue)) },
		"CallerRuns of none": func(*testing.T) executor.Executor {
			return executor.CallerRuns(executortest.Saturated())
		},
		"Serial":           func(t *testing.T) executor.Executor { return must(t)(executor.Serial(newPool(t, 2, 4), 8)) },
		"Serial, no queue": func(t *testing.T) executor.Executor { return must(t)(executor.Serial(newPool(t, 1, 1), 0)) },
		"Serial of Go":     func(t *testing.T) executor.Executor { return must(t)(executor.Serial(executor.Go(), 8)) },
		"Serial of Inline": func(t *testing.T) executor.Executor {
			return must(t)(executor.Serial(executor.Inline(), 8))
		},
		"Serial of Serial": func(t *testing.T) executor.Executor {
			return must(t)(executor.Serial(must(t)(executor.Serial(newPool(t, 1, 1), 2)), 8))
		},
		"Limit": func(t *testing.T) executor.Executor { return must(t)(executor.Limit(newPool(t, 3, 1), 2, 4)) },
		"Limit of CallerRuns": func(t *testing.T) executor.Executor {
			return must(t)(executor.Limit(executor.CallerRuns(newPool(t, 1, executor.NoQueue)), 2, 4))
		},
		"Manual": func(*testing.T) executor.Executor { return executortest.NewManual() },
		"Serial of Manual": func(t *testing.T) executor.Executor {
			m := executortest.NewManual()
			return pumped{must(t)(executor.Serial(m, 3)), m}
		},
		"a foreign one": func(*testing.T) executor.Executor { return naive{} },
	} {
		t.Run(name, func(t *testing.T) { executortest.Conformance(t, make) })
	}
}

// broken is an executor with one fault.
type broken func(ctx context.Context, task func(context.Context)) error

func (b broken) Post(ctx context.Context, task func(context.Context)) error { return b(ctx, task) }

// fake is a test that records that it failed.
type fake struct {
	testing.TB
	mu       sync.Mutex
	failures []string
}

func (*fake) Helper() {}

func (f *fake) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = append(f.failures, fmt.Sprintf(format, args...))
}

func (f *fake) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.failures) > 0
}

func (*fake) FailNow() { runtime.Goexit() }

func (f *fake) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	f.FailNow()
}

// failures runs one check against ex and returns how it failed.
func failures(rule string, ex executor.Executor) []string {
	f := &fake{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		executortest.Check(f, rule, ex)
	}()
	<-ended // a check is bounded
	return f.failures
}

func TestConformance_EXEC_21_finds_each_fault(t *testing.T) {
	quiet(t)
	ok := executor.Inline()
	goOn := executor.Go()
	faults := map[string]func(*testing.T) executor.Executor{
		"EXEC-2 a nil context or task is a ConfigError": func(*testing.T) executor.Executor {
			return broken(func(ctx context.Context, task func(context.Context)) error {
				if task == nil {
					return nil
				}
				return ok.Post(ctx, task)
			})
		},
		"EXEC-2 a context that is done is rejected with its cause": func(*testing.T) executor.Executor {
			return broken(func(ctx context.Context, task func(context.Context)) error {
				if ctx.Err() != nil {
					return &executor.RejectedError{Reason: ctx.Err()}
				}
				return ok.Post(ctx, task)
			})
		},
		"EXEC-2 an accepted task runs once": func(*testing.T) executor.Executor {
			return broken(func(ctx context.Context, task func(context.Context)) error {
				_ = goOn.Post(ctx, task)
				return ok.Post(ctx, task)
			})
		},
		"EXEC-2 a task may post": func(*testing.T) executor.Executor {
			busy := false
			return broken(func(ctx context.Context, task func(context.Context)) error {
				if busy {
					return executor.ErrClosed
				}
				busy = true
				defer func() { busy = false }()
				return ok.Post(ctx, task)
			})
		},
		"EXEC-4 a task sees the caller's values": func(*testing.T) executor.Executor {
			return broken(func(_ context.Context, task func(context.Context)) error {
				return ok.Post(context.Background(), task)
			})
		},
		"EXEC-4 the end of the caller's context does not end the task's": func(*testing.T) executor.Executor {
			return broken(func(ctx context.Context, task func(context.Context)) error { task(ctx); return nil })
		},
		"EXEC-4 a child of the task's context costs no goroutine": func(*testing.T) executor.Executor {
			return broken(func(ctx context.Context, task func(context.Context)) error {
				task(&foreign{Context: ctx})
				return nil
			})
		},
		"DIAG-3 a task has a scope of its own that starts as the snapshot": func(*testing.T) executor.Executor {
			return broken(func(ctx context.Context, task func(context.Context)) error {
				task(context.WithoutCancel(ctx))
				return nil
			})
		},
		"DIAG-4 labels do not outlive their task": func(t *testing.T) executor.Executor {
			tasks := make(chan func())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for run := range tasks {
					run()
				}
			}()
			t.Cleanup(func() { close(tasks); <-ended })
			return broken(func(ctx context.Context, task func(context.Context)) error {
				tasks <- func() { _ = ok.Post(ctx, task) }
				return nil
			})
		},
		"EXEC-7 a panic ends the task alone": func(*testing.T) executor.Executor {
			return broken(func(ctx context.Context, task func(context.Context)) error { task(ctx); return nil })
		},
		"EXEC-7 a Goexit ends the task alone": func(*testing.T) executor.Executor {
			var dead bool
			return broken(func(ctx context.Context, task func(context.Context)) error {
				if dead {
					return executor.ErrClosed
				}
				dead = true
				err := ok.Post(ctx, task)
				dead = false
				return err
			})
		},
		"EXEC-9 Submit settles with what the function did": func(*testing.T) executor.Executor {
			return broken(func(ctx context.Context, task func(context.Context)) error {
				executor.Discard(ctx, nil)
				return ok.Post(ctx, task)
			})
		},
		"EXEC-11 Submit's function is canceled with its caller's context": func(*testing.T) executor.Executor {
			return broken(func(ctx context.Context, task func(context.Context)) error {
				executor.Discard(ctx, nil)
				return ok.Post(ctx, task)
			})
		},
		"EXEC-11 Submit's function does not start after a Cancel": nil, // Submit itself sees to it
	}
	for _, rule := range executortest.Rules() {
		t.Run(rule, func(t *testing.T) {
			make, known := faults[rule]
			require.True(t, known, "no executor breaks this rule on purpose")
			if make == nil {
				return
			}
			require.NotEmpty(t, failures(rule, make(t)))
		})
	}
	t.Run("a task that is accepted and never runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { // where the wait is over at once
			lost := broken(func(context.Context, func(context.Context)) error { return nil })
			got := failures("EXEC-4 a task sees the caller's values", lost)
			require.Contains(t, strings.Join(got, "\n"), "still waiting")
		})
	})
}

// foreign is a context that package context does not know.
type foreign struct{ context.Context }

var ends = make(chan struct{})

func (*foreign) Done() <-chan struct{} { return ends }
func (*foreign) Value(any) any         { return nil }

func TestManual(t *testing.T) {
	quiet(t)
	m := executortest.NewManual()
	require.Zero(t, m.RunAll())
	require.False(t, m.RunNext())

	var order []int
	post := func(n int, more func()) {
		require.NoError(t, m.Post(t.Context(), func(context.Context) {
			order = append(order, n)
			more()
		}))
	}
	none := func() {}
	post(1, none)
	post(2, func() { post(4, none) })
	post(3, func() { panic("contained") })
	require.Empty(t, order, "nothing runs by itself")
	require.Equal(t, 3, m.Queued())
	require.True(t, m.RunNext())
	require.Equal(t, []int{1}, order)
	require.Equal(t, 2, m.Queued())
	require.Equal(t, 3, m.RunAll(), "those posted meanwhile too")
	require.Equal(t, []int{1, 2, 3, 4}, order)
	require.Zero(t, m.Queued())

	t.Run("a Goexit is the caller's own and leaves the rest queued", func(t *testing.T) {
		post(5, runtime.Goexit)
		post(6, none)
		returned := false
		testwait.Call(t, func() { m.RunAll(); returned = true })
		require.False(t, returned)
		require.Equal(t, 1, m.Queued())
		require.Equal(t, 1, m.RunAll())
		require.Equal(t, 6, order[len(order)-1])
	})
	t.Run("EXEC-11 a canceled Submit never runs", func(t *testing.T) {
		f := executor.Submit(t.Context(), m, func(context.Context) (int, error) { panic("ran") })
		require.True(t, f.Cancel(nil))
		require.Equal(t, 1, m.RunAll())
	})
	t.Run("the zero Manual is ready", func(t *testing.T) {
		var m executortest.Manual
		require.NoError(t, m.Post(t.Context(), func(context.Context) {}))
		require.Equal(t, 1, m.RunAll())
	})
}

func TestRefusing(t *testing.T) {
	done, cancel := context.WithCancelCause(t.Context())
	cause := fmt.Errorf("the cause")
	cancel(cause)
	for name, c := range map[string]struct {
		ex            executor.Executor
		reason, ended error
	}{
		"EXEC-21 Saturated": {executortest.Saturated(), executor.ErrQueueFull, cause},
		"EXEC-21 Closed":    {executortest.Closed(), executor.ErrClosed, executor.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			task := func(context.Context) { t.Error("ran") }
			err := c.ex.Post(t.Context(), task)
			var rejected *executor.RejectedError
			require.ErrorAs(t, err, &rejected)
			require.Equal(t, c.reason, rejected.Reason)
			require.ErrorIs(t, err, executor.ErrRejected)
			require.ErrorIs(t, c.ex.Post(done, task), c.ended)
			require.ErrorIs(t, c.ex.Post(nil, task), executor.ErrConfig)
			require.ErrorIs(t, c.ex.Post(t.Context(), nil), executor.ErrConfig)
		})
	}
}
