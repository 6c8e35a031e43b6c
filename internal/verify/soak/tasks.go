package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
)

// errTask is how a task fails that fails.
var errTask = errors.New("as told")

// tasks is a pool under bursts of posts, submissions that are canceled, and
// tasks that wait for tasks.
type tasks struct {
	*book
	pool    *executor.Pool
	serial  executor.Executor
	records recordCounter
	mint    mint

	posted, started        atomic.Uint64 // of plain posts: accepted, and begun
	panicked, exited, told atomic.Uint64 // what tasks did; told is how many of them were posts
}

func newTasks() (*desk, error) {
	t := &tasks{book: newBook("tasks")}
	var err error
	t.pool, err = executor.New(executor.Config{Name: "tasks", Size: 4, QueueLimit: 32, Logger: slog.New(&t.records)})
	if err != nil {
		return nil, err
	}
	if t.serial, err = executor.Serial(t.pool, 16); err != nil {
		return nil, errors.Join(err, t.pool.Close())
	}
	return &desk{book: t.book, subject: t, clients: 12, pace: 60 * time.Millisecond}, nil
}

func (t *tasks) play(c *player) {
	switch c.IntN(8) {
	case 0, 1, 2:
		t.burst(c)
	case 3:
		t.submit(c)
	case 4:
		t.nested(c)
	case 5:
		t.inTurn(c)
	case 6:
		t.mapped(c)
	case 7:
		t.patient(c)
	}
}

// entered counts the answer of a post, and reports whether it was accepted.
func (t *tasks) entered(verb string, err error) bool {
	switch {
	case err == nil:
		t.enter(verb + " accepted")
		return true
	case errors.Is(err, executor.ErrRejected):
		t.enter(verb + " rejected")
	default:
		t.bad("%s: %v", verb, err)
	}
	return false
}

// behave is what a task does to whoever runs it.
func (t *tasks) behave(ctx context.Context, how int, posted bool) {
	if how%4 == 0 {
		stray(ctx)
	}
	if posted && how < 3 {
		t.told.Add(1)
	}
	switch how {
	case 0:
		t.panicked.Add(1)
		panic("as told")
	case 1:
		t.panicked.Add(1)
		panic(nil)
	case 2:
		t.exited.Add(1)
		runtime.Goexit()
	}
}

// burst posts more at once than there is room for.
func (t *tasks) burst(c *player) {
	var all sync.WaitGroup
	for range 24 {
		ctx, id := stamped(c)
		how, start := c.IntN(40), time.Now()
		var began atomic.Bool
		all.Add(1)
		if t.entered("post", t.pool.Post(reported(ctx), func(ctx context.Context) {
			defer all.Done()
			t.since(start)
			t.started.Add(1)
			if began.Swap(true) {
				t.bad("task %d began twice", id)
			}
			t.sound(ctx, id)
			t.behave(ctx, how, true)
		})) {
			t.posted.Add(1)
		} else {
			all.Done()
		}
	}
	all.Wait()
}

// submit asks for a value, and mostly waits for it.
func (t *tasks) submit(c *player) {
	ctx, id := stamped(c)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.IntN(20))*time.Millisecond)
	defer cancel()
	how, takes := c.IntN(40), time.Duration(c.IntN(8))*time.Millisecond
	f := executor.Submit(ctx, t.pool, func(ctx context.Context) (*token, error) {
		t.sound(ctx, id)
		select {
		case <-time.After(takes):
		case <-ctx.Done():
		}
		t.behave(ctx, how, false)
		if how == 3 {
			return nil, errTask
		}
		return t.mint.make(), nil
	}, future.WithDispose(func(v *token) { v.end(t.book) }))
	f.OnSettle(func(o future.Outcome[*token]) {
		if o.Err == nil {
			o.Value.end(t.book)
		}
	})
	if c.chance(4) {
		f.Abandon(errTask)
	} else if c.chance(4) {
		f.Cancel(errTask)
	}
	_, err := f.Await(c)
	var p *future.PanicError
	var canceled *future.CanceledError
	switch {
	case err == nil:
		t.enter("submit completed")
	case errors.Is(err, executor.ErrRejected):
		t.enter("submit rejected")
	case errors.As(err, &canceled):
		t.enter("submit canceled")
	case errors.As(err, &p), errors.Is(err, future.ErrGoexit), errors.Is(err, errTask):
		t.enter("submit failed")
	case errors.Is(err, context.DeadlineExceeded):
		t.enter("submit too late")
	default:
		t.bad("submit: %v", err)
	}
}

// nested has tasks wait for tasks of their own pool, deeper than it has workers.
func (t *tasks) nested(c *player) {
	var level func(ctx context.Context, depth int) (int, error)
	level = func(ctx context.Context, depth int) (int, error) {
		if depth == 0 {
			return 1, nil
		}
		n, err := executor.Submit(ctx, t.pool, func(ctx context.Context) (int, error) { return level(ctx, depth-1) }).Await(ctx)
		return n + 1, err
	}
	n, err := level(c, 6)
	if t.entered("nested", err) && n != 7 {
		t.bad("nested: %d levels, and not 7", n)
	}
}

// inTurn posts tasks that have to run in the order of the posts.
func (t *tasks) inTurn(c *player) {
	var all sync.WaitGroup
	last := -1 // only the tasks use it, one at a time
	for i := range 12 {
		all.Add(1)
		ctx, id := stamped(c)
		if !t.entered("serial", t.serial.Post(ctx, func(ctx context.Context) {
			defer all.Done()
			t.sound(ctx, id)
			if i <= last {
				t.bad("serial: task %d after %d", i, last)
			}
			last = i
		})) {
			all.Done()
		}
	}
	all.Wait()
}

func (t *tasks) mapped(c *player) {
	in := make([]int, 20)
	for i := range in {
		in[i] = i
	}
	out, err := executor.Map(c, t.pool, in, func(_ context.Context, n int) (string, error) {
		if c.number%4 == 0 && n == 15 {
			return "", errTask
		}
		return fmt.Sprint(n), nil
	}).Await(c)
	switch {
	case errors.Is(err, errTask):
		t.enter("map failed")
	case t.entered("map", err):
		for i, s := range out {
			if s != fmt.Sprint(i) {
				t.bad("map: result %d is %q", i, s)
			}
		}
	}
}

// patient waits for room, for a while.
func (t *tasks) patient(c *player) {
	ctx, cancel := context.WithTimeout(c, time.Duration(1+c.IntN(30))*time.Millisecond)
	defer cancel()
	done := make(chan struct{})
	err := t.pool.PostWait(ctx, func(context.Context) { close(done) })
	if errors.Is(err, context.DeadlineExceeded) {
		t.enter("wait gave up")
	} else if t.entered("wait", err) {
		<-done
	}
}

func (t *tasks) watch() int { return t.addsUp(t.pool) }

func (t *tasks) rest(ctx context.Context) {
	t.comesToRest(ctx, t.pool)
	s := t.pool.Stats()
	t.equal("posts begun", t.started.Load(), t.posted.Load())
	t.equal("panics", s.Panicked, t.panicked.Load())
	t.equal("exits", s.Exited, t.exited.Load())
	t.equal("discarded", s.Discarded, 0)
	t.equal("values received or disposed of", t.mint.ended.Load(), t.mint.made.Load())
	t.equal("records of failed posts", t.records.own.Load(), t.told.Load())
	t.equal("such records without their job", t.records.strangers.Load(), 0)
}

func (t *tasks) end(ctx context.Context) {
	if err := t.pool.Shutdown(ctx); err != nil {
		t.bad("shutdown: %v", err)
	}
	t.rest(ctx)
}
