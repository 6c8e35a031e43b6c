package executor_test

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/executortest"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
)

func TestLimit_EXEC_20_ex_refuses(t *testing.T) {
	t.Run("EXEC-20 while nothing runs refuses the Post with its error", func(t *testing.T) {
		for _, ex := range []executor.Executor{executortest.Saturated(), executortest.Closed()} {
			l := newLimit(t, ex, 2, 5)
			require.Same(t, ex.Post(bg, nothing), l.Post(bg, nothing))
			require.Same(t, ex.Post(bg, nothing), l.Post(bg, nothing), "nothing was left behind")
			futuretest.RequireError(t, executor.Submit(bg, l, func(context.Context) (int, error) { return 0, nil }), executor.ErrRejected)
		}
	})
	t.Run("EXEC-20 while something runs lets the Post wait, if there is room", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: executor.NoQueue})
		l := newLimit(t, p, 3, 1)
		g := occupy(t, l, 1)
		ran := make(chan struct{})
		require.NoError(t, l.Post(bg, func(context.Context) { close(ran) }))
		require.ErrorIs(t, l.Post(bg, nothing), executor.ErrQueueFull)
		g.Open()
		testwait.Done(t, ran)
	})
	t.Run("EXEC-20 a Post that panics leaves nothing behind", func(t *testing.T) {
		boom := true
		s := newSerial(t, postFunc(func(ctx context.Context, task func(context.Context)) error {
			if boom {
				panic("boom")
			}
			return executor.Inline().Post(ctx, task)
		}), 0)
		require.Panics(t, func() { _ = s.Post(bg, nothing) })
		boom = false
		ran := 0
		require.NoError(t, s.Post(bg, func(context.Context) { ran++ }))
		require.Equal(t, 1, ran)
	})
	t.Run("EXEC-20 a Post that panics when a place is offered", func(t *testing.T) {
		logs := defaultLogs(t)
		posts := 0
		m := executortest.NewManual()
		s := newSerial(t, postFunc(func(ctx context.Context, task func(context.Context)) error {
			if posts++; posts > 1 {
				panic("boom")
			}
			return m.Post(ctx, task)
		}), 50)
		ran := 0
		for range 20 {
			require.NoError(t, s.Post(bg, func(context.Context) { ran++ }))
		}
		m.RunAll()
		require.Equal(t, 20, ran)
		require.Len(t, logs.Of(slog.LevelError), 1)
	})
	t.Run("EXEC-20 a Post that exits when a place is offered", func(t *testing.T) {
		for _, exits := range []int{0, 3, 18} { // how many of the tasks exit as well, from the first on
			logs := defaultLogs(t)
			posts, ran := 0, 0
			m := executortest.NewManual()
			s := newSerial(t, postFunc(func(ctx context.Context, task func(context.Context)) error {
				if posts++; posts == 2 {
					runtime.Goexit()
				}
				return m.Post(ctx, task)
			}), 50)
			for i := range 40 {
				require.NoError(t, s.Post(bg, func(context.Context) {
					if ran++; i < exits {
						runtime.Goexit()
					}
				}))
			}
			run := func() { // ends with its goroutine, maybe
				done := make(chan struct{})
				go func() {
					defer close(done)
					m.RunAll()
				}()
				testwait.Done(t, done)
			}
			for range 40 {
				run()
			}
			require.Equal(t, 40, ran)
			require.Len(t, logs.Of(slog.LevelError), 1+exits)
			require.NoError(t, s.Post(bg, func(context.Context) { ran++ }), "the place is free again")
			run()
			require.Equal(t, 41, ran)
		}
	})
	t.Run("EXEC-20 concurrent first Posts wait for what ex says", func(t *testing.T) {
		for _, refuse := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				answer := make(chan struct{})
				m := executortest.NewManual()
				first := true
				s := newSerial(t, postFunc(func(ctx context.Context, task func(context.Context)) error {
					if first {
						first = false
						<-answer // of a Post that should not block
						if refuse {
							return errCause
						}
					}
					return m.Post(ctx, task)
				}), 1)
				var errs [3]error
				var returned atomic.Int64
				for i := range errs {
					go func() { errs[i] = s.Post(bg, nothing); returned.Add(1) }()
					synctest.Wait()
				}
				require.Zero(t, returned.Load())
				close(answer)
				synctest.Wait()
				require.EqualValues(t, 3, returned.Load())
				failed := slices.DeleteFunc(errs[:], func(err error) bool { return err == nil })
				require.Len(t, failed, 1)
				if refuse {
					require.Equal(t, errCause, failed[0], "the others have asked for themselves")
				} else {
					require.ErrorIs(t, failed[0], executor.ErrQueueFull)
				}
				require.Equal(t, 1, m.Queued())
				m.RunAll()
				require.NoError(t, s.Post(bg, nothing))
				require.Equal(t, 1, m.Queued(), "every runner has ended")
			})
		}
	})
	t.Run("EXEC-20 a Post waits for what ex says about the first, however long the queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			answer := make(chan struct{})
			s := newSerial(t, postFunc(func(context.Context, func(context.Context)) error { <-answer; return errCause }), 5)
			errs := make(chan error, 2)
			for range 2 {
				go func() { errs <- s.Post(bg, nothing) }()
				synctest.Wait()
			}
			require.Empty(t, errs)
			close(answer)
			require.Equal(t, errCause, testwait.Value(t, errs))
			require.Equal(t, errCause, testwait.Value(t, errs))
		})
	})
	t.Run("EXEC-20 beside others a Post asks for itself", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			answer := make(chan struct{})
			m := executortest.NewManual()
			first := true
			l := newLimit(t, postFunc(func(ctx context.Context, task func(context.Context)) error {
				if first {
					first = false
					<-answer
					return executor.ErrQueueFull
				}
				return m.Post(ctx, task)
			}), 2, 1)
			errs := make(chan error, 1)
			go func() { errs <- l.Post(bg, nothing) }()
			synctest.Wait()
			require.NoError(t, l.Post(bg, nothing))
			close(answer)
			require.NoError(t, <-errs, "by now something runs")
			require.Equal(t, 1, m.Queued())
		})
	})
}

func TestLimit_EXEC_20_ex_discards(t *testing.T) {
	// fill occupies p, and has things wait in s for a runner that waits in p.
	fill := func(t *testing.T, s executor.Executor) []*future.Future[int] {
		fs := make([]*future.Future[int], 3)
		for i := range fs {
			fs[i] = executor.Submit(with("f", i), s, func(context.Context) (int, error) { t.Error("ran"); return 0, nil })
			require.NoError(t, s.Post(with("n", i), func(context.Context) { t.Error("ran") }))
		}
		return fs
	}
	check := func(t *testing.T, fs []*future.Future[int], logs *logs) {
		t.Helper()
		for _, f := range fs {
			futuretest.RequireError(t, f, executor.ErrClosed)
		}
		testwait.Until(t, func() bool {
			var of []string
			for _, r := range logs.Of(slog.LevelWarn) {
				if r.Context != "" {
					of = append(of, r.Context)
				}
			}
			return slices.Equal(of, []string{"n=0", "n=1", "n=2"})
		})
	}
	for name, wrap := range map[string]func(t *testing.T, p *executor.Pool) executor.Executor{
		"Pool":             func(t *testing.T, p *executor.Pool) executor.Executor { return p },
		"Serial of Serial": func(t *testing.T, p *executor.Pool) executor.Executor { return newSerial(t, p, 4) },
		"wrappers": func(t *testing.T, p *executor.Pool) executor.Executor {
			return executor.CallerRuns(postFunc(func(ctx context.Context, task func(context.Context)) error {
				ctx = diagnostics.Capture(ctx).Install(context.WithoutCancel(ctx))
				return p.Post(ctx, func(ctx context.Context) { task(ctx) })
			}))
		},
	} {
		t.Run("EXEC-20 the runner: "+name, func(t *testing.T) {
			logs := newLogs()
			def := defaultLogs(t)
			p := newPool(t, executor.Config{Size: 1, Logger: logs.Logger()})
			g := occupy(t, p, 1)
			s := newSerial(t, wrap(t, p), 10)
			fs := fill(t, s)
			require.Error(t, p.Shutdown(ended(errCause)))
			for _, f := range fs {
				testwait.Done(t, f.Done())
			}
			g.Open()
			if name == "wrappers" {
				check(t, fs, def)
			} else {
				check(t, fs, logs)
			}
			require.ErrorIs(t, s.Post(bg, nothing), executor.ErrClosed, "and it starts afresh")
		})
	}
	t.Run("EXEC-20 while a task runs that ignores it", func(t *testing.T) {
		logs := newLogs()
		p := newPool(t, executor.Config{Size: 1, Logger: logs.Logger()})
		s := newSerial(t, p, 10)
		g := occupy(t, s, 1)
		fs := fill(t, s)
		require.Error(t, p.Shutdown(ended(errCause)))
		check(t, fs, logs)
		g.Open()
	})
	t.Run("EXEC-20 closed when the place is offered", func(t *testing.T) {
		logs := newLogs()
		p := newPool(t, executor.Config{Size: 1, Logger: logs.Logger()})
		s := newSerial(t, p, 50)
		g := occupy(t, s, 1)
		ran := 1
		for range 15 {
			require.NoError(t, s.Post(bg, func(context.Context) { ran++ }))
		}
		fs := fill(t, s)
		closed := make(chan error, 1)
		go func() { closed <- p.Close() }()
		testwait.Until(t, func() bool { return isClosed(p.Post(bg, nothing)) })
		g.Open()
		require.NoError(t, testwait.Value(t, closed))
		require.Equal(t, 16, ran)
		check(t, fs, logs)
	})
	t.Run("EXEC-20 a callback that fails does not keep the others from theirs", func(t *testing.T) {
		logs := newLogs()
		p := newPool(t, executor.Config{Size: 1, Logger: logs.Logger()})
		g := occupy(t, p, 1)
		s := newSerial(t, p, 10)
		fs := fill(t, s)
		fs[0].OnSettle(func(future.Outcome[int]) { panic("boom") })
		fs[1].OnSettle(func(future.Outcome[int]) { runtime.Goexit() })
		last := make(chan struct{})
		fs[2].OnSettle(func(future.Outcome[int]) { close(last); panic("boom") })
		require.Error(t, p.Shutdown(ended(errCause)))
		for _, f := range fs {
			futuretest.RequireSettled(t, f)
		}
		g.Open()
		testwait.Done(t, last)
		check(t, fs, logs)
		failed := logs.Of(slog.LevelError)
		for i, f := range []string{"f=0", "f=1", "f=2"} {
			require.Equal(t, f, failed[i].Context, "each under the context of its own task")
		}
	})
	t.Run("EXEC-20 within its Post, or more than once", func(t *testing.T) {
		defaultLogs(t)
		var posted []context.Context
		var tasks []func(context.Context)
		s := newSerial(t, postFunc(func(ctx context.Context, task func(context.Context)) error {
			posted, tasks = append(posted, ctx), append(tasks, task)
			if len(posted) == 1 {
				executor.Discard(ctx, nil)
			}
			return nil
		}), 1)
		submit := func() *future.Future[int] {
			return executor.Submit(bg, s, func(context.Context) (int, error) { return 7, nil })
		}
		futuretest.RequireError(t, submit(), executor.ErrClosed)
		second := submit()
		futuretest.RequirePending(t, second)
		executor.Discard(posted[1], errCause)
		executor.Discard(posted[1], errCause)
		futuretest.RequireError(t, second, errCause)
		third := submit()
		for _, task := range tasks { // the dropped ones too
			task(bg)
		}
		require.Equal(t, 7, futuretest.Await(t, third))
		tasks[2](bg)
		executor.Discard(posted[2], errCause)
		fourth := submit()
		require.Len(t, tasks, 4, "one runner at a time")
		executor.Discard(posted[3], errCause)
		futuretest.RequireError(t, fourth, errCause)
	})
	t.Run("EXEC-20 an offered runner", func(t *testing.T) {
		m := executortest.NewManual()
		s := newSerial(t, postFunc(func(ctx context.Context, task func(context.Context)) error {
			if m.Queued() == 0 {
				_ = m.Post(ctx, task)
				return nil
			}
			executor.Discard(ctx, nil)
			return nil
		}), 50)
		require.NoError(t, s.Post(bg, func(context.Context) { _ = m.Post(bg, nothing) }))
		ran := 0
		for range 20 {
			require.NoError(t, s.Post(bg, func(context.Context) { ran++ }))
		}
		m.RunAll()
		require.Equal(t, 20, ran)
	})
	t.Run("EXEC-20 a context that ends for another reason discards nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := executortest.NewManual()
			s := newSerial(t, postFunc(func(ctx context.Context, task func(context.Context)) error {
				return m.Post(ctx, func(context.Context) { task(ended(errCause)) })
			}), 10)
			ran := 0
			for range 5 {
				require.NoError(t, s.Post(bg, func(ctx context.Context) {
					synctest.Wait()
					require.Equal(t, errCause, context.Cause(ctx))
					ran++
				}))
			}
			require.Equal(t, 5, m.RunAll(), "a turn each")
			require.Equal(t, 5, ran)
		})
	})
	t.Run("EXEC-20 one that had ended with ErrClosed discards all", func(t *testing.T) {
		m := executortest.NewManual()
		s := newSerial(t, postFunc(func(ctx context.Context, task func(context.Context)) error {
			return m.Post(ctx, func(context.Context) { task(ended(executor.ErrClosed)) })
		}), 10)
		f := executor.Submit(bg, s, func(context.Context) (int, error) { t.Error("ran"); return 0, nil })
		m.RunAll()
		futuretest.RequireError(t, f, executor.ErrClosed)
	})
}
