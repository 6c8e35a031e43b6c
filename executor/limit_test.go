//lint:file-ignore SA1012 nil contexts are part of what is tested

package executor_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/executortest"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
)

func newSerial(t testing.TB, ex executor.Executor, limit int) executor.Executor {
	t.Helper()
	s, err := executor.Serial(ex, limit)
	require.NoError(t, err)
	return s
}

func newLimit(t testing.TB, ex executor.Executor, n, limit int) executor.Executor {
	t.Helper()
	l, err := executor.Limit(ex, n, limit)
	require.NoError(t, err)
	return l
}

// drained waits until everything that was posted to ex has begun.
func drained(t testing.TB, ex executor.Executor) {
	t.Helper()
	done := make(chan struct{})
	require.NoError(t, ex.Post(bg, func(context.Context) { close(done) }))
	testwait.Done(t, done)
}

// postFunc is an executor made of its Post.
type postFunc func(ctx context.Context, task func(context.Context)) error

func (f postFunc) Post(ctx context.Context, task func(context.Context)) error { return f(ctx, task) }

// passOn is the least of executors: a goroutine, and the context it was given.
var passOn = postFunc(func(ctx context.Context, task func(context.Context)) error {
	go task(ctx)
	return nil
})

func nothing(context.Context) {}

func TestLimit_EXEC_20_arguments(t *testing.T) {
	fields := func(_ executor.Executor, err error) (list []string) {
		for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
			require.ErrorIs(t, err, executor.ErrConfig)
			list = append(list, err.(*executor.ConfigError).Field)
		}
		return list
	}
	require.Equal(t, []string{"ex", "n", "limit"}, fields(executor.Limit(nil, 0, -1)))
	require.Equal(t, []string{"ex", "limit"}, fields(executor.Serial(nil, -1)))
}

func TestLimit_EXEC_20_bounded_queue(t *testing.T) {
	for _, n := range []int{1, 3} {
		for _, limit := range []int{0, 2} {
			p := newPool(t, executor.Config{Size: 4})
			l := newLimit(t, p, n, limit)
			g := occupy(t, l, n)
			for range limit {
				require.NoError(t, l.Post(bg, nothing))
			}
			err := l.Post(bg, nothing)
			var rejected *executor.RejectedError
			require.ErrorAs(t, err, &rejected)
			require.Equal(t, executor.ErrQueueFull, rejected.Reason)
			require.Equal(t, []int{n, limit}, []int{rejected.Size, rejected.QueueLimit})
			require.Equal(t, n, p.Stats().Running, "places of ex")
			require.Zero(t, p.Stats().Queued)
			g.Open()
		}
	}
	t.Run("EXEC-20 counts what ex has queued as running", func(t *testing.T) {
		m := executortest.NewManual()
		l := newLimit(t, m, 2, 1)
		for range 3 {
			require.NoError(t, l.Post(bg, nothing))
		}
		require.ErrorIs(t, l.Post(bg, nothing), executor.ErrQueueFull)
		require.Equal(t, 2, m.Queued())
	})
	t.Run("EXEC-20 room is there when the outcome shows", func(t *testing.T) {
		s := newSerial(t, newPool(t, executor.Config{Size: 2}), 0)
		for range 200 {
			require.Equal(t, 7, futuretest.Await(t, executor.Submit(bg, s, func(context.Context) (int, error) { return 7, nil })))
		}
	})
	t.Run("EXEC-20 nothing foreign sees the place taken after the end", func(t *testing.T) {
		m := executortest.NewManual()
		s := newSerial(t, m, 0)
		var err error
		late := future.WithDispose(func(int) { err = s.Post(bg, nothing) })
		var f *future.Future[int]
		f = executor.Submit(bg, s, func(context.Context) (int, error) { f.Abandon(nil); return 7, nil }, late)
		m.RunAll()
		require.NoError(t, err)
	})
	t.Run("EXEC-11 a canceled task is not kept", func(t *testing.T) {
		s := newSerial(t, newPool(t, executor.Config{Size: 1}), 1)
		occupy(t, s, 1)
		kept := func() weak.Pointer[[64]byte] {
			p := new([64]byte)
			require.True(t, executor.Submit(bg, s, func(context.Context) (byte, error) { return p[0], nil }).Cancel(nil))
			return weak.Make(p)
		}()
		testwait.Until(t, func() bool { runtime.GC(); return kept.Value() == nil })
	})
	t.Run("EXEC-20 not before the callbacks have run", func(t *testing.T) {
		m := executortest.NewManual()
		s := newSerial(t, m, 0)
		f := executor.Submit(bg, s, func(context.Context) (int, error) { return 7, nil })
		var err error
		f.OnSettle(func(future.Outcome[int]) { err = s.Post(bg, nothing) })
		m.RunAll()
		require.ErrorIs(t, err, executor.ErrQueueFull)
		require.NoError(t, s.Post(bg, nothing))
	})
	t.Run("EXEC-11 a canceled task frees its place and never runs", func(t *testing.T) {
		s := newSerial(t, newPool(t, executor.Config{Size: 1}), 1)
		g := occupy(t, s, 1)
		for range 100 {
			f := executor.Submit(bg, s, func(context.Context) (int, error) { t.Error("ran"); return 0, nil })
			futuretest.RequirePending(t, f)
			require.True(t, f.Cancel(errCause))
		}
		ctx, cancel := context.WithCancelCause(bg)
		f := executor.Submit(ctx, s, func(context.Context) (int, error) { t.Error("ran"); return 0, nil })
		cancel(errCause)
		futuretest.RequireError(t, f, errCause)
		testwait.Until(t, func() bool { return s.Post(bg, nothing) == nil })
		g.Open()
		testwait.Until(t, func() bool { return s.Post(bg, nothing) == nil })
	})
	t.Run("EXEC-11 what is withdrawn leaves the others in order", func(t *testing.T) {
		m := executortest.NewManual()
		s := newSerial(t, m, 20)
		var order []int
		fs := make([]*future.Future[int], 10)
		for i := range fs {
			fs[i] = executor.Submit(bg, s, func(context.Context) (int, error) { order = append(order, i); return 0, nil })
		}
		for _, i := range []int{0, 3, 9} {
			require.True(t, fs[i].Cancel(nil))
		}
		m.RunAll()
		require.Equal(t, []int{1, 2, 4, 5, 6, 7, 8}, order)
		require.NoError(t, s.Post(bg, nothing))
		require.Equal(t, 1, m.Queued(), "the runner has ended")
	})
}

func TestLimit_EXEC_20_order_and_width(t *testing.T) {
	for _, n := range []int{1, 3} {
		p := newPool(t, executor.Config{Size: 4, QueueLimit: 100})
		l := newLimit(t, p, n, 1000)
		var mu sync.Mutex
		var order []int
		var now, most atomic.Int64
		for i := range 500 {
			require.NoError(t, l.Post(bg, func(context.Context) {
				if c := now.Add(1); c > most.Load() {
					most.Store(c)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				runtime.Gosched()
				now.Add(-1)
			}))
		}
		testwait.Until(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(order) == 500 })
		require.LessOrEqual(t, most.Load(), int64(n))
		if n == 1 {
			require.True(t, slices.IsSorted(order))
		}
	}
}

// Posts from many goroutines while runners start, end and offer their places.
func TestSerial_EXEC_20_one_at_a_time(t *testing.T) {
	for name, ex := range map[string]executor.Executor{
		"Pool":    newPool(t, executor.Config{Size: 4}),
		"Go":      executor.Go(),
		"Inline":  executor.Inline(),
		"NoQueue": newPool(t, executor.Config{Size: 2, QueueLimit: executor.NoQueue}),
	} {
		s := newSerial(t, ex, 8)
		var now, ran atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 150 {
					for s.Post(bg, func(context.Context) {
						if now.Add(1) != 1 {
							t.Errorf("%s: two at a time", name)
						}
						runtime.Gosched()
						now.Add(-1)
						ran.Add(1)
					}) != nil {
						runtime.Gosched()
					}
				}
			})
		}
		all.Wait()
		testwait.Until(t, func() bool { return ran.Load() == 8*150 })
	}
}

func TestSerial_EXEC_20_offers_its_place(t *testing.T) {
	p := newPool(t, executor.Config{Size: 1, QueueLimit: 4})
	s := newSerial(t, p, 100)
	g := occupy(t, s, 1)
	var mu sync.Mutex
	var order []string
	note := func(what string) func(context.Context) {
		return func(context.Context) { mu.Lock(); defer mu.Unlock(); order = append(order, what) }
	}
	for range 40 {
		require.NoError(t, s.Post(bg, note("serial")))
	}
	require.NoError(t, p.Post(bg, note("other")))
	g.Open()
	drained(t, s)
	require.Equal(t, 15, slices.Index(order, "other"), "16 tasks, the first of them the gate's")
}

// A busy Serial neither holds a worker of a pool for ever nor grows a caller's
// stack.
func TestSerial_EXEC_20_endless_chain(t *testing.T) {
	const rounds = 3000
	for name, ex := range map[string]executor.Executor{
		"Inline":     executor.Inline(),
		"CallerRuns": executor.CallerRuns(executortest.Saturated()),
		"Pool":       newPool(t, executor.Config{Size: 1, QueueLimit: 1}),
		"Serial":     newSerial(t, executor.Inline(), 0),
	} {
		s := newSerial(t, ex, 1)
		done := make(chan struct{})
		depth, n := 0, 0
		var next func(context.Context)
		next = func(ctx context.Context) {
			if n++; n == rounds {
				close(done)
				return
			}
			if n%100 == 0 {
				depth = max(depth, runtime.Callers(0, make([]uintptr, 1000)))
			}
			if err := s.Post(ctx, next); err != nil {
				t.Errorf("%s: %v", name, err)
				close(done)
			}
		}
		require.NoError(t, s.Post(bg, next))
		testwait.Done(t, done)
		require.Less(t, depth, 60, name)
	}
}

func TestSerial_EXEC_7_net(t *testing.T) {
	for name, make := range map[string]func(*testing.T, *executor.Pool) executor.Executor{
		"Pool":             func(t *testing.T, p *executor.Pool) executor.Executor { return newSerial(t, p, 50) },
		"Serial of Serial": func(t *testing.T, p *executor.Pool) executor.Executor { return newSerial(t, newSerial(t, p, 5), 50) },
		"Go":               func(t *testing.T, p *executor.Pool) executor.Executor { return newSerial(t, executor.Go(), 50) },
		"Serial of Serial of Go": func(t *testing.T, p *executor.Pool) executor.Executor {
			return newSerial(t, newSerial(t, executor.Go(), 5), 50)
		},
	} {
		t.Run("EXEC-7 each failure is reported once, with its task: "+name, func(t *testing.T) {
			logs := defaultLogs(t)
			p := newPool(t, executor.Config{Size: 1})
			s := make(t, p)
			g := occupy(t, s, 1)
			require.NoError(t, s.Post(with("n", 1), func(context.Context) { panic("boom") }))
			for n := 2; n < 5; n++ {
				require.NoError(t, s.Post(with("n", n), func(context.Context) { runtime.Goexit() }))
			}
			exits := executor.Submit(with("n", 5), s, func(context.Context) (int, error) { runtime.Goexit(); return 0, nil })
			panics := executor.Submit(with("n", 6), s, func(context.Context) (int, error) { panic("boom") })
			g.Open()
			drained(t, s)
			futuretest.RequireError(t, exits, future.ErrGoexit)
			var panicked *future.PanicError
			require.ErrorAs(t, futuretest.RequireSettled(t, panics).Err, &panicked)
			require.NoError(t, p.Close())
			records := logs.Of(slog.LevelError)
			var of []string
			for _, r := range records {
				of = append(of, r.Context)
				require.Contains(t, r.Attrs, "pool")
			}
			require.Equal(t, []string{"n=1", "n=2", "n=3", "n=4"}, of)
			require.Equal(t, "boom", records[0].Attrs["panic"].Any())
			require.Contains(t, records[0].Attrs["stack"].String(), "TestSerial_EXEC_7_net")
			require.Equal(t, "executor: task called runtime.Goexit", records[1].Message)
			custody(t, p.Stats())
		})
	}
	t.Run("EXEC-7 a Goexit with no other place to go", func(t *testing.T) {
		defaultLogs(t)
		s := newSerial(t, executor.Inline(), 5)
		ran := 0
		returned := false
		testwait.Call(t, func() {
			_ = s.Post(bg, func(ctx context.Context) {
				_ = s.Post(ctx, func(context.Context) { ran++ })
				runtime.Goexit()
			})
			returned = true
		})
		require.False(t, returned, "it is the caller's own")
		require.Equal(t, 1, ran)
		require.NoError(t, s.Post(bg, func(context.Context) { ran++ }))
		require.Equal(t, 2, ran)
	})
	t.Run("EXEC-7 callbacks that fail", func(t *testing.T) {
		logs := defaultLogs(t)
		m := executortest.NewManual()
		s := newSerial(t, m, 5)
		f := executor.Submit(with("n", 1), s, func(context.Context) (int, error) { return 7, nil })
		f.OnSettle(func(future.Outcome[int]) { panic("boom") })
		g := executor.Submit(with("n", 2), s, func(context.Context) (int, error) { return 7, nil })
		g.OnSettle(func(future.Outcome[int]) { runtime.Goexit() })
		testwait.Call(t, func() { m.RunAll() })
		m.RunAll()
		records := logs.Of(slog.LevelError)
		require.Len(t, records, 2)
		require.Equal(t, "executor: a callback panicked", records[0].Message)
		require.Equal(t, "executor: a callback called runtime.Goexit", records[1].Message)
		require.NoError(t, s.Post(bg, nothing))
		require.Equal(t, 1, m.RunAll())
	})
}

func TestSerial_EXEC_4_context(t *testing.T) {
	type key struct{}
	t.Run("EXEC-4 the lifetime of ex, and its values last", func(t *testing.T) {
		m := executortest.NewManual()
		life, end := context.WithCancelCause(context.WithValue(bg, key{}, "of ex"))
		s := newSerial(t, postFunc(func(ctx context.Context, task func(context.Context)) error {
			return m.Post(ctx, func(context.Context) { task(life) })
		}), 5)
		caller, cancel := context.WithCancel(context.WithValue(bg, key{}, "of the caller"))
		var cause error
		require.NoError(t, s.Post(caller, func(ctx context.Context) {
			require.Equal(t, "of the caller", ctx.Value(key{}))
			cancel()
			require.NoError(t, ctx.Err())
			child, stop := context.WithCancel(ctx)
			defer stop()
			end(errCause)
			testwait.Done(t, child.Done())
			cause = context.Cause(ctx)
			require.Equal(t, errCause, context.Cause(child))
		}))
		require.NoError(t, s.Post(bg, func(ctx context.Context) { require.Equal(t, "of ex", ctx.Value(key{})) }))
		m.RunAll()
		require.Equal(t, errCause, cause)
	})
	t.Run("EXEC-4 the deadline of ex, and of Submit's caller", func(t *testing.T) {
		late, early := time.Now().Add(2*time.Hour), time.Now().Add(time.Hour)
		m := executortest.NewManual()
		of, stop := context.WithDeadline(bg, late)
		defer stop()
		s := newSerial(t, postFunc(func(ctx context.Context, task func(context.Context)) error {
			return m.Post(ctx, func(context.Context) { task(of) })
		}), 5)
		caller, cancel := context.WithDeadline(bg, early)
		defer cancel()
		require.NoError(t, s.Post(caller, func(ctx context.Context) {
			d, _ := ctx.Deadline()
			require.Equal(t, late, d)
		}))
		f := executor.Submit(caller, s, func(ctx context.Context) (time.Time, error) { d, _ := ctx.Deadline(); return d, nil })
		m.RunAll()
		require.Equal(t, early, futuretest.Await(t, f))
	})
	t.Run("DIAG-3 each task starts as its own caller", func(t *testing.T) {
		m := executortest.NewManual()
		s := newSerial(t, m, 50)
		var got []string
		for i := range 3 {
			ctx := withIn(bg, "n", i)
			require.NoError(t, s.Post(ctx, func(ctx context.Context) {
				got = append(got, attr(ctx, "n")+attr(ctx, "left"))
				require.True(t, diagnostics.Set(ctx, slog.String("left", "behind")))
				require.NoError(t, s.Post(ctx, func(ctx context.Context) { got = append(got, attr(ctx, "left")) }))
			}))
		}
		m.RunAll()
		require.Equal(t, []string{"0absent", "1absent", "2absent", "behind", "behind", "behind"}, got)
	})
	t.Run("DIAG-4 labels on the goroutines of a pool and of Go, cleared after each", func(t *testing.T) {
		for name, idle := range map[string]string{"Pool": idleLabels, "Go": ""} {
			var ex executor.Executor = executor.Go()
			if name == "Pool" {
				ex = newPool(t, executor.Config{Size: 1})
			}
			s := newSerial(t, newSerial(t, ex, 5), 50)
			g := occupy(t, s, 1)
			var got []string
			note := func(context.Context) { got = append(got, labelsHere()) }
			require.NoError(t, s.Post(labeledCtx(bg, "k", "v"), note))
			require.NoError(t, s.Post(bg, note))
			require.NoError(t, s.Post(bg, func(context.Context) { pprof.SetGoroutineLabels(labeledCtx(bg, "left", "behind")) }))
			require.NoError(t, s.Post(bg, note))
			g.Open()
			drained(t, s)
			require.Equal(t, []string{`{"k":"v"}`, idle, idle}, got, name)
		}
	})
	t.Run("DIAG-4 none on a caller's", func(t *testing.T) {
		s := newSerial(t, executor.Inline(), 5)
		pprof.SetGoroutineLabels(labeledCtx(bg, "own", "1"))
		defer pprof.SetGoroutineLabels(bg)
		require.NoError(t, s.Post(labeledCtx(bg, "k", "v"), func(context.Context) { require.Equal(t, `{"own":"1"}`, labelsHere()) }))
		require.Equal(t, `{"own":"1"}`, labelsHere())
	})
	t.Run("EXEC-2 arguments", func(t *testing.T) {
		s := newSerial(t, executor.Go(), 5)
		require.ErrorIs(t, s.Post(nil, nothing), executor.ErrConfig)
		require.ErrorIs(t, s.Post(bg, nil), executor.ErrConfig)
		err := s.Post(ended(errCause), nothing)
		require.ErrorIs(t, err, executor.ErrRejected)
		require.ErrorIs(t, err, errCause)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// EXEC-13 through a Serial on a pool of one.
func TestLimit_EXEC_13_await_inside(t *testing.T) {
	t.Run("EXEC-13 a task that is lent a slot lends it to another runner", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1})
		l := newLimit(t, p, 2, 5)
		f := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
			var b *future.Future[int]
			posted := make(chan struct{})
			a := executor.Submit(ctx, l, func(ctx context.Context) (int, error) { <-posted; return b.Await(ctx) })
			b = executor.Submit(ctx, l, value(2))
			close(posted)
			return a.Await(ctx)
		})
		require.Equal(t, 2, futuretest.Await(t, f))
	})
}

func TestSerial_EXEC_13_await_inside(t *testing.T) {
	for name, wrap := range map[string]func(executor.Executor) executor.Executor{
		"Pool":       func(ex executor.Executor) executor.Executor { return ex },
		"Serial":     func(ex executor.Executor) executor.Executor { return newSerial(t, ex, 50) },
		"CallerRuns": executor.CallerRuns,
	} {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 2})
		s := newSerial(t, wrap(p), 50)
		f := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
			sum := 0
			var fs []*future.Future[int]
			for i := range 20 {
				fs = append(fs, executor.Submit(ctx, s, func(context.Context) (int, error) { return i, nil }))
			}
			slices.Reverse(fs)
			for _, f := range fs {
				v, err := f.Await(ctx)
				if err != nil {
					return 0, err
				}
				sum += v
			}
			return sum, nil
		})
		require.Equal(t, 190, futuretest.Await(t, f), name)
		custody(t, p.Stats())
	}
	t.Run("EXEC-13 a lent slot is given back after one task", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 4})
		s := newSerial(t, p, 50)
		g := newGate(t)
		f := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
			first := executor.Submit(ctx, s, func(context.Context) (int, error) { return 1, nil })
			stuck := executor.Submit(ctx, s, func(context.Context) (int, error) { <-g.C; return 2, nil })
			other := executor.Submit(ctx, p, func(context.Context) (int, error) { return 3, nil })
			for _, f := range []*future.Future[int]{first, other} {
				if _, err := f.Await(ctx); err != nil {
					return 0, err
				}
			}
			g.Open()
			return stuck.Await(ctx)
		})
		require.Equal(t, 2, futuretest.Await(t, f))
	})
	t.Run("EXEC-13 a task on a caller's stack that a pool lends", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 1})
		s := newSerial(t, executor.Inline(), 5)
		f := executor.Submit(bg, p, func(ctx context.Context) (int, error) {
			return executor.Submit(ctx, s, func(ctx context.Context) (int, error) {
				return executor.Submit(ctx, p, func(context.Context) (int, error) { return 7, nil }).Await(ctx)
			}).Await(ctx)
		})
		require.Equal(t, 7, futuretest.Await(t, f))
	})
}

func ExampleSerial() {
	pool, err := executor.New(executor.Config{Size: 4})
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	account, err := executor.Serial(pool, 100)
	if err != nil {
		panic(err)
	}
	balance := 0 // needs no lock
	deposit := func(n int) *future.Future[int] {
		return executor.Submit(bg, account, func(context.Context) (int, error) {
			balance += n
			return balance, nil
		})
	}
	deposit(10)
	deposit(20)
	v, err := deposit(12).Await(bg)
	fmt.Println(v, err)
	// Output:
	// 42 <nil>
}

// asking is a context that calls ask when it is asked for a value after nth
// others.
type asking struct {
	context.Context
	ask   func()
	nth   int64
	asked atomic.Int64
}

func (c *asking) Value(key any) any {
	if c.asked.Add(1) == c.nth+1 {
		c.ask()
	}
	return c.Context.Value(key)
}

// exiting is a context that ends whoever asks it for pprof labels.
type exiting struct{ context.Context }

func (c exiting) Value(key any) any {
	if strings.HasPrefix(fmt.Sprintf("%T", key), "pprof.") {
		runtime.Goexit()
	}
	return c.Context.Value(key)
}

// dated is a context that counts how often it is asked for its deadline.
type dated struct {
	context.Context
	asked atomic.Int64
}

func (c *dated) Deadline() (time.Time, bool) {
	c.asked.Add(1)
	return c.Context.Deadline()
}

func TestForeignContexts(t *testing.T) {
	t.Run("EXEC-20_EXEC-4_a_context_that_ex_derives_ends_the_task", func(t *testing.T) {
		for _, on := range []string{"Pool", "Inline"} {
			synctest.Test(t, func(t *testing.T) {
				var ex executor.Executor = newPool(t, executor.Config{Size: 1})
				if on == "Inline" {
					ex = executor.Inline()
				}
				var cancel context.CancelCauseFunc
				s := newSerial(t, postFunc(func(ctx context.Context, task func(context.Context)) error {
					return ex.Post(ctx, func(ctx context.Context) {
						ctx, cancel = context.WithCancelCause(ctx)
						task(ctx)
					})
				}), 1)
				other := newPool(t, executor.Config{Size: 1})
				occupy(t, other, 1)
				pending := executor.Submit(bg, other, value(1))
				errs := make(chan error, 2)
				go executor.Submit(bg, s, func(ctx context.Context) (int, error) {
					_, err := pending.Await(ctx)
					errs <- err
					errs <- context.Cause(ctx)
					return 0, nil
				})
				synctest.Wait()
				cancel(errCause)
				require.ErrorIs(t, testwait.Value(t, errs), errCause, on)
				require.Equal(t, errCause, testwait.Value(t, errs), on)
			})
		}
	})
	t.Run("EXEC-20_a_Limit_asks_a_foreign_ctx_nothing_under_its_lock", func(t *testing.T) {
		for n := range 4 { // the first to the fourth time that it is asked
			l, err := executor.Limit(newPool(t, executor.Config{Size: 1}), 1, 8)
			require.NoError(t, err)
			ctx := &asking{Context: bg, nth: int64(n), ask: func() { _ = l.Post(bg, nothing) }}
			testwait.Call(t, func() { _ = l.Post(ctx, nothing) })
		}
	})
	t.Run("EXEC-20_EXEC-15_one_that_calls_Goexit_when_it_is_asked_loses_no_task", func(t *testing.T) {
		serial, err := executor.Serial(newPool(t, executor.Config{Size: 1}), 8)
		require.NoError(t, err)
		for _, ex := range []executor.Executor{serial, executor.Go()} {
			f := executor.Submit(exiting{bg}, ex, func(context.Context) (int, error) { return 1, nil })
			require.Equal(t, 1, futuretest.Await(t, f))
		}
	})
	t.Run("EXEC-23_Map_asks_for_the_deadline_before_it_returns_alone", func(t *testing.T) {
		p, g := newPool(t, executor.Config{Size: 1}), newGate(t)
		ctx := &dated{Context: bg}
		f := executor.Map(ctx, p, upTo(3), func(context.Context, int) (int, error) { <-g.C; return 0, nil })
		asked := ctx.asked.Load()
		g.Open()
		futuretest.Await(t, f)
		require.Equal(t, asked, ctx.asked.Load())
	})
}
