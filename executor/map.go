package executor

import (
	"context"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/tie"
)

// Map runs fn over items on p and returns one future of all the results, in
// the order of items. Of one call at most Size items are queued or running at
// a time; where the queue is full an item waits for room instead of being
// rejected, in turn with PostWait. A task of p may call Map and await it.
//
// The first failure fails the future, as the same error, cancels the items
// that are queued or running and starts no others; so do canceling the future
// and the end of ctx. Abandoned, it has the items run on. Results that nobody
// can receive then are closed if they are io.Closers. Of no items it completes
// with an empty slice. A nil ctx or fn is a [*ConfigError].
//
// Each item is a task as [Submit] makes one, with what was captured of ctx at
// this call.
func Map[In, Out any](ctx context.Context, p *Pool, items []In, fn func(context.Context, In) (Out, error)) *future.Future[[]Out] {
	if err := badFunction(ctx, fn == nil); err != nil {
		return future.Failed[[]Out](err)
	}
	if len(items) == 0 {
		return future.Completed([]Out{})
	}
	m := &mapping[In, Out]{
		pool: p, core: p.open(), ctx: frame.WithScope(ctx, frame.Capture(ctx)), items: slices.Clone(items), fn: fn,
		left: len(items), results: make([]Out, len(items)), done: make([]bool, len(items)),
		active: make(map[int]*op[Out]), c: &future.Completer[[]Out]{},
	}
	m.deadline, m.bounded = ctx.Deadline()
	m.link.Producer = m
	link.Bind(m.c, &m.link, nil)
	m.feed()
	follow(ctx, &m.tie, m.core, m)
	return m.c.Future()
}

// Ended is told of the end of Map's context.
func (m *mapping[In, Out]) Ended(cause error) {
	contained(func() { m.c.Future().Cancel(cause) })
}

// shows reports whether the outcome of m is there.
func (m *mapping[In, Out]) shows() bool {
	_, settled := m.c.Future().Outcome()
	return settled
}

// mapping is one call of Map.
type mapping[In, Out any] struct {
	pool  *Pool // which is in use, and must not be taken for dropped
	core  *core
	ctx   context.Context
	items []In

	deadline time.Time // of ctx, if bounded
	bounded  bool

	fn   func(context.Context, In) (Out, error)
	c    *future.Completer[[]Out]
	link frame.Link
	tie  tie.Tie

	mu      sync.Mutex // protects what follows
	next    int        // the first item that has not been posted
	left    int        // items that have not completed
	active  map[int]*op[Out]
	posting bool    // an item is being posted, or waits for room
	waiter  *waiter // of an item that waits for room
	feeding bool    // somebody is in feed
	begun   bool    // an item was not refused
	over    bool    // nothing is started any more
	results []Out
	done    []bool // which results are there
}

// feed posts items until enough are active. One goroutine at a time does so: it
// sees what others changed when it looks for the next one. A foreign context
// that panics on the way fails m.
func (m *mapping[In, Out]) feed() {
	m.mu.Lock()
	busy := m.feeding
	m.feeding = true
	m.mu.Unlock()
	if busy {
		return
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		err := error(future.ErrGoexit)
		if v := recover(); v != nil {
			err = &future.PanicError{Value: v, Stack: debug.Stack()}
		}
		m.mu.Lock()
		m.feeding, m.posting = false, false
		m.mu.Unlock()
		m.failed(-1, err, true)
	}()
	for i, o := m.take(); o != nil; i, o = m.take() {
		m.post(i, o)
	}
	returned = true
}

// take returns the next item to post. If there is none it ends the feeding.
func (m *mapping[In, Out]) take() (int, *op[Out]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over || m.posting || m.next == len(m.items) || len(m.active) >= max(m.core.Size, 1) {
		m.feeding = false
		return 0, nil
	}
	i := m.next
	o := bareOp(m.ctx, func(ctx context.Context) (Out, error) { return m.fn(ctx, m.items[i]) }, nil)
	o.ctx.deadline, o.ctx.bounded = m.deadline, m.bounded
	m.next++
	m.active[i], m.posting = o, true
	return i, o
}

// post posts item i.
func (m *mapping[In, Out]) post(i int, o *op[Out]) {
	o.c.Future().OnSettle(func(out future.Outcome[Out]) { m.settled(i, out) })
	w := m.core.postWhenRoom(m.ctx, &o.task, o, func(err error) {
		m.mu.Lock()
		m.posting, m.waiter = false, nil
		m.begun = m.begun || err == nil
		m.mu.Unlock()
		if err != nil {
			// Whoever decides has others to decide on, or has no net.
			m.core.rejected.Add(1)
			link.Fail(&o.c, err)
			m.failed(i, err, true)
			return
		}
		m.feed()
	})
	m.mu.Lock()
	m.begun = m.begun || w != nil
	if m.posting {
		m.waiter = w
	}
	over := m.over
	m.mu.Unlock()
	if over { // it may have missed w
		m.withdraw(w)
	}
}

// withdraw has an item, if w is not nil, wait for room no more.
func (m *mapping[In, Out]) withdraw(w *waiter) {
	if w != nil && m.core.withdraw(w) {
		m.core.rejected.Add(1)
	}
}

// settled takes the outcome of item i.
func (m *mapping[In, Out]) settled(i int, out future.Outcome[Out]) {
	if out.Err != nil {
		m.failed(i, out.Err, false)
		return
	}
	m.mu.Lock()
	delete(m.active, i)
	if m.over {
		m.mu.Unlock()
		m.dispose([]Out{out.Value})
		return
	}
	m.results[i], m.done[i] = out.Value, true
	m.left--
	complete := m.left == 0
	m.mu.Unlock()
	if !complete {
		m.feed()
	} else if !m.c.Complete(m.results) { // canceled or abandoned
		m.stop(nil)
	}
}

// failed takes the failure of item i. One that the end of the caller's context
// brought about is not the future's outcome: that is canceled, whoever learns
// of the end first. The outcome shows when failed returns; with aside, what is
// foreign about it runs on a goroutine of its own.
func (m *mapping[In, Out]) failed(i int, err error, aside bool) {
	run := func(fn func()) { fn() }
	if aside {
		run = m.core.aside
	}
	m.mu.Lock()
	delete(m.active, i)
	canceled := m.begun && !m.over
	m.mu.Unlock()
	if canceled && m.ended() {
		run(func() { m.c.Future().Cancel(context.Cause(m.ctx)) })
		return
	}
	m.mu.Lock()
	if m.over {
		m.mu.Unlock()
		return
	}
	rest := m.stopLocked()
	m.mu.Unlock()
	callbacks := link.Fail(m.c, err) // shows before anything foreign runs
	run(func() {
		if callbacks != nil {
			defer callbacks()
		}
		m.end(rest, err)
	})
}

// ended reports whether the caller's context has. A foreign one may panic.
func (m *mapping[In, Out]) ended() (yes bool) {
	defer func() { _ = recover() }()
	return m.ctx.Err() != nil
}

// stop ends m, unless that has been done.
func (m *mapping[In, Out]) stop(cause error) {
	m.mu.Lock()
	rest := m.stopLocked()
	m.mu.Unlock()
	m.end(rest, cause)
}

// remainder is what is left of a mapping that has stopped.
type remainder[Out any] struct {
	waiter *waiter
	active []*op[Out] // the last one first, so that none starts on the worker that another leaves
	late   []Out      // results that nobody will receive
}

// stopLocked has m start no more items, and gives out what is to be got rid of.
func (m *mapping[In, Out]) stopLocked() (rest remainder[Out]) {
	m.over = true
	rest.waiter, m.waiter = m.waiter, nil
	for _, i := range slices.Backward(slices.Sorted(maps.Keys(m.active))) {
		rest.active = append(rest.active, m.active[i])
	}
	for i, done := range m.done {
		if done {
			rest.late = append(rest.late, m.results[i])
			m.done[i] = false
		}
	}
	return rest
}

func (m *mapping[In, Out]) end(rest remainder[Out], cause error) {
	m.withdraw(rest.waiter)
	for _, o := range rest.active {
		o.c.Future().Cancel(cause)
	}
	m.dispose(rest.late)
}

// dispose gets rid of values as a future does that had settled before. If one
// of them calls runtime.Goexit, the others follow while that goes on.
func (m *mapping[In, Out]) dispose(late []Out) {
	defer func() {
		if len(late) > 0 {
			m.dispose(late)
		}
	}()
	for len(late) > 0 {
		v := late[0]
		late = late[1:]
		c := &future.Completer[Out]{}
		link.Bind(c, &frame.Link{Producer: m, Keep: true}, nil) // m reports what goes wrong
		c.Future().Abandon(nil)
		c.Complete(v)
	}
}

// The producer of the future.

func (m *mapping[In, Out]) Settled()             { m.tie.Cut() }
func (m *mapping[In, Out]) Canceled(cause error) { m.stop(cause) }
func (m *mapping[In, Out]) Report(msg string, err error) {
	m.core.log.Error(m.ctx, msg, m.core.logAttrs(slog.Any("error", err))...)
}

// Find returns the first item that has not started.
func (m *mapping[In, Out]) Find(pool any) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, i := range slices.Sorted(maps.Keys(m.active)) {
		if task := m.active[i].task.Find(pool); task != nil {
			return task
		}
	}
	return nil
}
