package executor

import (
	"context"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/report"
	"github.com/cadre-go/cadre/internal/tie"
)

// Map runs fn over items on p and returns one future of all the results, in
// the order of items. Of one call at most Size items are queued or running at
// a time; where the queue is full an item waits for room instead of being
// rejected, in turn with PostWait. A task of p may call Map and await it.
//
// The first failure fails the future, as the same error, cancels the items
// that are queued or running and starts no others; so do canceling the future
// and the end of ctx. Results that nobody can receive then are closed if they
// are io.Closers. Of no items it completes with an empty slice. A nil ctx or
// fn is a [*ConfigError].
func Map[In, Out any](ctx context.Context, p *Pool, items []In, fn func(context.Context, In) (Out, error)) *future.Future[[]Out] {
	if err := badPost(ctx, fn == nil); err != nil {
		return future.Failed[[]Out](err)
	}
	if len(items) == 0 {
		return future.Completed([]Out{})
	}
	defer runtime.KeepAlive(p)
	m := &mapping[In, Out]{
		core: p.open(), ctx: frame.WithScope(ctx, frame.Capture(ctx)), items: items, fn: fn,
		left: len(items), results: make([]Out, len(items)), done: make([]bool, len(items)),
		active: make(map[int]*op[Out]), c: &future.Completer[[]Out]{},
	}
	m.link.Producer = m
	link.Bind(m.c, &m.link, nil)
	m.feed()
	m.tie.To(ctx, func(cause error) {
		defer containCallback()
		m.c.Future().Cancel(cause)
	})
	return m.c.Future()
}

// mapping is one call of Map.
type mapping[In, Out any] struct {
	core  *core
	ctx   context.Context
	items []In
	fn    func(context.Context, In) (Out, error)
	c     *future.Completer[[]Out]
	link  frame.Link
	tie   tie.Tie

	mu      sync.Mutex // protects what follows
	next    int        // the first item that has not been posted
	left    int        // items that have not completed
	active  map[int]*op[Out]
	waiter  *waiter // of the item that waits for room, the newest active one
	feeding bool    // somebody is in feed; more asks it to go on
	more    bool
	over    bool // nothing is started any more
	results []Out
	done    []bool // which results are there
}

// feed posts items until enough are active. One goroutine at a time does so;
// others leave word.
func (m *mapping[In, Out]) feed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.feeding {
		m.more = true
		return
	}
	m.feeding = true
	for m.more = true; m.more; {
		m.more = false
		for m.waiter == nil && !m.over && m.next < len(m.items) && len(m.active) < m.core.Size {
			m.postLocked()
		}
	}
	m.feeding = false
}

// postLocked posts the next item. It lets go of the lock meanwhile.
func (m *mapping[In, Out]) postLocked() {
	i := m.next
	m.next++
	o := newOp(m.ctx, func(ctx context.Context) (Out, error) { return m.fn(ctx, m.items[i]) }, nil)
	m.active[i] = o
	m.mu.Unlock()
	o.c.Future().OnSettle(func(out future.Outcome[Out]) { m.settled(i, out) })
	decided := false
	w := m.core.postWhenRoom(m.ctx, &o.task, o, func(err error) {
		m.mu.Lock()
		decided, m.waiter = true, nil
		m.mu.Unlock()
		if err != nil {
			m.core.rejected.Add(1)
			o.c.Fail(err)
			return
		}
		m.feed()
	})
	m.mu.Lock()
	if !decided {
		m.waiter = w
	}
}

// settled takes the outcome of item i.
func (m *mapping[In, Out]) settled(i int, out future.Outcome[Out]) {
	m.mu.Lock()
	delete(m.active, i)
	if out.Err != nil || m.over {
		over := m.over
		m.mu.Unlock()
		switch {
		case out.Err == nil:
			dispose(out.Value)
		case !over:
			m.stop(out.Err)
			m.c.Fail(out.Err)
		}
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

// stop starts no more items, cancels those that are active and gets rid of the
// results.
func (m *mapping[In, Out]) stop(cause error) {
	m.mu.Lock()
	m.over = true
	w := m.waiter
	m.waiter = nil
	ops := slices.Collect(maps.Values(m.active))
	var late []Out
	for i, done := range m.done {
		if done {
			late, m.done[i] = append(late, m.results[i]), false
		}
	}
	m.mu.Unlock()
	if w != nil && m.core.withdraw(w) {
		m.core.rejected.Add(1)
	}
	for _, o := range ops {
		o.c.Future().Cancel(cause)
	}
	for _, v := range late {
		dispose(v)
	}
}

// dispose gets rid of a value as a future does that had settled before.
func dispose[T any](v T) {
	c := future.NewCompleter[T]()
	c.Future().Abandon(nil)
	c.Complete(v)
}

// The producer of the future.

func (m *mapping[In, Out]) Settled()             { m.tie.Cut() }
func (m *mapping[In, Out]) Canceled(cause error) { m.stop(cause) }
func (m *mapping[In, Out]) Report(msg string, err error) {
	report.Logger{}.Error(m.ctx, msg, slog.Any("error", err))
}

// Find returns the first item that is queued, or that waits for room.
func (m *mapping[In, Out]) Find(pool any) any {
	m.mu.Lock()
	var ops []*op[Out]
	for _, i := range slices.Sorted(maps.Keys(m.active)) {
		ops = append(ops, m.active[i])
	}
	w := m.waiter
	m.mu.Unlock()
	for _, o := range ops {
		if task := o.Find(pool); task != nil {
			return task
		}
	}
	if w != nil && pool == any(m.core) {
		return w.task
	}
	return nil
}
