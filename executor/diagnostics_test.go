package executor_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer/timertest"
)

// tenant tells what a task sees.
func tenant(ctx context.Context) (string, error) { return attr(ctx, "tenant"), nil }

func TestDiagnostics(t *testing.T) {
	t.Run("B43_DIAG-1_captured_at_the_call", func(t *testing.T) {
		mock := timertest.NewMock()
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 20, Clock: mock})
		g := occupy(t, p, 1)
		seen := make(chan string, 20)
		see := func(ctx context.Context) { seen <- attr(ctx, "tenant") }
		// The caller's own scope goes on changing.
		caller := diagnostics.Capture(with("tenant", "A")).Install(bg)
		move := func(to string) { require.True(t, diagnostics.Set(caller, slog.String("tenant", to))) }
		call := executor.Async(p, func(ctx context.Context, _ int) (string, error) { return tenant(ctx) })

		require.NoError(t, p.Post(caller, see))
		move("B")
		require.NoError(t, p.Post(caller, see))
		move("C")
		f := executor.Submit(caller, p, tenant)
		move("D")
		async := call(caller, 1)
		move("E")
		after := executor.SubmitAfter(caller, p, time.Second, tenant)
		move("F")
		ticker, err := p.Every(caller, 2*time.Second, func(ctx context.Context) error { see(ctx); return nil })
		require.NoError(t, err)
		move("G")
		derived := future.Then(caller, f, func(ctx context.Context, s string) (string, error) { return s + attr(ctx, "tenant"), nil })
		move("mutated")
		g.Open()
		require.Equal(t, "A", testwait.Value(t, seen))
		require.Equal(t, "B", testwait.Value(t, seen))
		require.Equal(t, "C", futuretest.Await(t, f))
		require.Equal(t, "D", futuretest.Await(t, async))
		require.Equal(t, "CG", futuretest.Await(t, derived))
		timertest.Advance(t, mock, p, time.Second)
		require.Equal(t, "E", futuretest.Await(t, after))
		for range 2 {
			timertest.Advance(t, mock, p, 2*time.Second)
			require.Equal(t, "F", testwait.Value(t, seen))
			barrier(t, p)
		}
		ticker.Stop()
		require.Equal(t, "mutated", futuretest.Await(t, call(caller, 1)), "reused, under another context")
	})
	t.Run("DIAG-3_the_tasks_scope_is_its_snapshot", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		outer := diagnostics.Capture(with("a", 1, "b", "")).Install(bg)
		require.Equal(t, "ok", futuretest.Await(t, executor.Submit(outer, p, func(ctx context.Context) (string, error) {
			switch {
			case attr(ctx, "a") != "1":
				return "a", nil
			case attr(ctx, "b") != "":
				return "b is present, but empty", nil
			case attr(ctx, "c") != "absent":
				return "c is absent", nil
			}
			diagnostics.Set(ctx, slog.Int("a", 2), slog.Int("c", 3))
			if attr(ctx, "a") != "2" || attr(context.WithValue(ctx, valueKey{}, 1), "c") != "3" {
				return "seen by the task itself", nil
			}
			inner := executor.Submit(ctx, p, func(ctx context.Context) (string, error) {
				diagnostics.Set(ctx, slog.Int("a", 4))
				return attr(ctx, "c"), nil
			})
			if v, _ := inner.Await(ctx); v != "3" {
				return "and by what it submits", nil
			}
			if attr(ctx, "a") != "2" {
				return "but not the other way", nil
			}
			return "ok", nil
		})))
		require.Equal(t, "1", attr(outer, "a"))
		require.Equal(t, "absent", attr(outer, "c"))
	})
	t.Run("B45_DIAG-4_what_a_task_leaves_behind", func(t *testing.T) {
		l := newLogs()
		p := newPool(t, executor.Config{Size: 1, Logger: l.Logger()})
		for name, end := range map[string]func(){
			"return": func() {}, "panic": func() { panic("boom") }, "Goexit": runtime.Goexit,
		} {
			f := executor.Submit(labeledCtx(with("x", 0), "caller", "1"), p, func(ctx context.Context) (int, error) {
				diagnostics.Set(ctx, slog.Int("x", 1))
				pprof.SetGoroutineLabels(labeledCtx(bg, "left", "behind"))
				end()
				return 0, nil
			})
			next := executor.Submit(bg, p, func(ctx context.Context) ([2]string, error) {
				return [2]string{attr(ctx, "x"), labelsHere()}, nil
			})
			require.Equal(t, [2]string{"absent", idleLabels}, futuretest.Await(t, next), name)
			settled(t, f)
		}
	})
	t.Run("DIAG-4_after_a_task_that_was_skipped_or_rejected", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		g := occupy(t, p, 1)
		dirty := labeledCtx(with("x", 0), "caller", "1")
		f := executor.Submit(dirty, p, value(1))
		require.Error(t, p.Post(dirty, func(context.Context) {}))
		f.Cancel(nil)
		next := executor.Submit(bg, p, func(ctx context.Context) ([2]string, error) {
			return [2]string{attr(ctx, "x"), labelsHere()}, nil
		})
		g.Open()
		require.Equal(t, [2]string{"absent", idleLabels}, futuretest.Await(t, next))
	})
	t.Run("DIAG-4_the_callers_labels_are_on_the_worker", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		caller := labeledCtx(bg, "caller", "1")
		got := make(chan string, 3)
		require.NoError(t, p.Post(caller, func(ctx context.Context) {
			got <- labelsHere()
			pprof.Do(ctx, pprof.Labels("nested", "2"), func(context.Context) { got <- labelsHere() })
			got <- labelsHere()
		}))
		require.Equal(t, `{"caller":"1"}`, testwait.Value(t, got))
		require.Equal(t, `{"caller":"1", "nested":"2"}`, testwait.Value(t, got))
		require.Equal(t, `{"caller":"1"}`, testwait.Value(t, got))
	})
	t.Run("B40_a_task_that_wipes_the_workers_labels", func(t *testing.T) {
		p := newPool(t, executor.Config{Name: "owner", Size: 1})
		own := `{"executor":"owner"}`
		here := func(context.Context) (string, error) { return labelsHere(), nil }
		require.Equal(t, own, futuretest.Await(t, executor.Submit(bg, p, here)), "before")
		wiped := executor.Submit(bg, p, func(context.Context) (string, error) {
			pprof.Do(bg, pprof.Labels("a", "b"), func(context.Context) {})
			return labelsHere(), nil
		})
		require.Equal(t, "", futuretest.Await(t, wiped))
		require.Equal(t, own, futuretest.Await(t, executor.Submit(bg, p, here)))
	})
	t.Run("DIAG-4_a_goroutine_starts_without_its_makers_labels", func(t *testing.T) {
		here := func(context.Context) (string, error) { return labelsHere(), nil }
		pprof.Do(bg, pprof.Labels("maker", "1"), func(context.Context) {
			p := newPool(t, executor.Config{Size: 1})
			require.Equal(t, idleLabels, futuretest.Await(t, executor.Submit(bg, p, here)), "a worker")
			replaced := executor.Submit(labeledCtx(bg, "task", "1"), p, func(context.Context) (int, error) {
				runtime.Goexit()
				return 0, nil
			})
			settled(t, replaced)
			require.Equal(t, idleLabels, futuretest.Await(t, executor.Submit(bg, p, here)), "its replacement")
			standIn := executor.Submit(labeledCtx(bg, "task", "1"), p, func(ctx context.Context) (string, error) {
				return executor.Submit(bg, p, here).Await(ctx)
			})
			require.Equal(t, idleLabels, futuretest.Await(t, standIn), "a stand-in")
			require.Equal(t, `{"maker":"1"}`, labelsHere(), "no other goroutine is touched")
		})
	})
	t.Run("DIAG-4_whoever_cancels_does_not_label_the_callbacks", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		occupy(t, p, 1)
		ctx, cancel := context.WithCancel(bg)
		got := make(chan string, 1)
		executor.Submit(ctx, p, value(1)).OnSettle(func(future.Outcome[int]) { got <- labelsHere() })
		pprof.Do(bg, pprof.Labels("canceler", "1"), func(context.Context) { cancel() })
		require.Equal(t, "", testwait.Value(t, got))
	})
	t.Run("DIAG-4_discards", func(t *testing.T) {
		got := make(chan string, 6)
		p := newPool(t, executor.Config{Size: 1, OnDiscard: func(ctx context.Context, _ error) {
			got <- labelsHere()
			pprof.SetGoroutineLabels(labeledCtx(bg, "left", "behind"))
		}})
		g := occupy(t, p, 1)
		labeled := executor.Submit(labeledCtx(bg, "task", "1"), p, value(1))
		bare := executor.Submit(bg, p, value(2))
		for _, f := range []*future.Future[int]{labeled, bare} {
			f.OnSettle(func(future.Outcome[int]) { got <- labelsHere() })
		}
		pprof.Do(bg, pprof.Labels("closer", "1"), func(context.Context) {
			require.Error(t, p.Shutdown(ended(errCause)))
		})
		require.Equal(t, `{"task":"1"}`, testwait.Value(t, got))
		testwait.Value(t, got) // of a callback of the same task
		require.Equal(t, idleLabels, testwait.Value(t, got))
		g.Open()
		testwait.Done(t, p.Done())
	})
	t.Run("B46_records_carry_the_tasks_context", func(t *testing.T) {
		l := newLogs()
		p := newPool(t, executor.Config{Size: 1, Logger: l.Logger()})
		require.NoError(t, p.Post(with("id", "panics"), func(context.Context) { panic("boom") }))
		barrier(t, p)

		g, running := newGate(t), make(chan struct{})
		f := executor.Submit(with("id", "disposes"), p, func(context.Context) (int, error) { close(running); <-g.C; return 1, nil },
			future.WithDispose(func(int) { panic("dispose") }))
		testwait.Done(t, running)
		f.Abandon(nil)
		g.Open()
		barrier(t, p)

		g = occupy(t, p, 1)
		for i := range 2 {
			require.NoError(t, p.Post(with("id", "discarded "+strconv.Itoa(i)), func(context.Context) {}))
		}
		require.Error(t, p.Shutdown(ended(errCause)))
		g.Open()
		testwait.Done(t, p.Done())

		var tasks []string
		for _, r := range l.Records() {
			if r.Level == slog.LevelInfo {
				require.Empty(t, r.Context, "a record about the pool carries none")
				continue
			}
			tasks = append(tasks, r.Level.String()+" "+r.Context)
		}
		require.Equal(t, []string{
			"ERROR id=panics", "ERROR id=disposes", "WARN id=discarded 0", "WARN id=discarded 1",
		}, tasks)
	})
	t.Run("DIAG-3_a_record_shows_what_the_task_has_set", func(t *testing.T) {
		l := newLogs()
		p := newPool(t, executor.Config{Size: 1, Logger: l.Logger()})
		require.NoError(t, p.Post(with("id", 1), func(ctx context.Context) {
			diagnostics.Set(ctx, slog.Int("step", 2))
			panic(errors.New("boom"))
		}))
		barrier(t, p)
		require.Equal(t, "id=1 step=2", l.Records()[0].Context)
	})
}
