package future

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/cadre-go/cadre/internal/frame"
)

// Each iterates over the outcomes of fs as they settle, each with its index in
// fs; every future is yielded once. Those that are pending when ctx ends are
// yielded with an [*InterruptedError], which settles nothing. A loop that
// breaks early leaves nothing behind.
//
// The loop body runs on the goroutine of the range statement. A nil ctx or
// future panics.
func Each[T any](ctx context.Context, fs ...*Future[T]) iter.Seq2[int, Outcome[T]] {
	if err := badInput(ctx, false, fs...); err != nil {
		panic("future: Each: " + err.Error())
	}
	fs = slices.Clone(fs) // the loop body may write to its own
	return func(yield func(int, Outcome[T]) bool) {
		e := &arrivals[T]{inputs: fs, subs: make([]sub[T], len(fs)), signal: make(chan struct{}, 1)}
		defer e.leave()
		e.enter()
		for left := len(fs); left > 0; left-- {
			i, ok := e.next(ctx)
			if !ok {
				e.interrupt(ctx, yield)
				return
			}
			if o, _ := fs[i].Outcome(); !yield(i, o) {
				return
			}
		}
	}
}

// arrivals is a queue of the indexes of futures that have settled. It is a
// frame.Producer so that a loop inside a pool's task lends that task's slot as
// Await does.
type arrivals[T any] struct {
	frame.Producer // nil: only Find is ever called

	inputs []*Future[T]
	subs   []sub[T]
	signal chan struct{} // holds a token if ready may have grown

	yielded []bool // by the loop's goroutine alone

	mu    sync.Mutex // protects what follows
	ready []int
}

func (a *arrivals[T]) enter() {
	a.yielded = make([]bool, len(a.inputs))
	for i, f := range a.inputs {
		a.subs[i].fn = func(Outcome[T]) { a.push(i) }
		if !f.subscribe(&a.subs[i]) {
			a.push(i)
		}
	}
}

func (a *arrivals[T]) leave() {
	for i, f := range a.inputs {
		f.unsubscribe(&a.subs[i])
	}
}

func (a *arrivals[T]) push(i int) {
	a.mu.Lock()
	a.ready = append(a.ready, i)
	a.mu.Unlock()
	select {
	case a.signal <- struct{}{}:
	default:
	}
}

func (a *arrivals[T]) pop() (int, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.ready) == 0 {
		return 0, false
	}
	i := a.ready[0]
	a.ready = a.ready[1:]
	a.yielded[i] = true
	return i, true
}

// next waits for the next arrival, and returns false if ctx ended first.
func (a *arrivals[T]) next(ctx context.Context) (int, bool) {
	for {
		if i, ok := a.pop(); ok {
			return i, true
		}
		if ctx.Err() != nil {
			return 0, false
		}
		wait(ctx, a, a.signal)
	}
}

// interrupt yields what had not arrived when ctx ended: the outcome of what has
// settled by now, which wins over an ended context as it does in Await.
func (a *arrivals[T]) interrupt(ctx context.Context, yield func(int, Outcome[T]) bool) {
	for i, f := range a.inputs {
		if a.yielded[i] {
			continue
		}
		o, ok := f.Outcome()
		if !ok {
			o.Err = interrupted(ctx)
		}
		if !yield(i, o) {
			return
		}
	}
}

// Find returns a task of pool that one of the inputs depends on.
func (a *arrivals[T]) Find(pool any) any { return findAny(a.inputs, pool) }
