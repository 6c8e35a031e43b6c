package future

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
)

// errLost is the cause with which the losers of Any and Race are canceled.
var errLost = errors.New("future: another future settled first")

// many is a future derived from several inputs.
type many[T, U any] struct {
	derived[U]
	inputs []*Future[T]
	subs   []sub[T]
	left   atomic.Int64 // inputs that have not settled
}

// Find returns a task of pool that one of the inputs depends on.
func (m *many[T, U]) Find(pool any) any { return findAny(m.inputs, pool) }

func findAny[T any](fs []*Future[T], pool any) any {
	for _, f := range fs {
		if task := f.find(pool); task != nil {
			return task
		}
	}
	return nil
}

func (m *many[T, U]) Settled() {
	m.derived.Settled()
	for i, f := range m.inputs {
		f.unsubscribe(&m.subs[i])
	}
}

func (m *many[T, U]) Canceled(cause error) { m.cancelInputs(cause) }

func (m *many[T, U]) cancelInputs(cause error) {
	inOrder(&cancels[T]{m.inputs, cause})
}

// cancels cancels futures, whatever their callbacks do.
type cancels[T any] struct {
	left  []*Future[T]
	cause error
}

func (c *cancels[T]) step() bool {
	if len(c.left) == 0 {
		return false
	}
	f := c.left[0]
	c.left = c.left[1:]
	f.Cancel(c.cause)
	return true
}

// finish settles the aggregate with o, cancels what is left and then runs the
// aggregate's callbacks. If the aggregate has settled otherwise it does nothing:
// one that was abandoned leaves its inputs alone.
//
// The tempting other order, cancel first and publish then, has a loser's
// callback that awaits the aggregate wait for itself.
func (m *many[T, U]) finish(o Outcome[U], cause error) {
	to := completed
	if o.Err != nil {
		to = failed
	}
	s, ok := m.c.f.publish(to, o.Value, o.Err)
	if !ok {
		return
	}
	s.release()
	inOrder(&calls{[]func(){
		func() { m.cancelInputs(cause) },
		s.callbacks,
	}})
}

// calls is a series of functions.
type calls struct{ left []func() }

func (c *calls) step() bool {
	if len(c.left) == 0 {
		return false
	}
	fn := c.left[0]
	c.left = c.left[1:]
	fn()
	return true
}

// combine starts m over fs: each is called with every input's outcome, once.
func combine[T, U any](ctx context.Context, fs []*Future[T], each func(m *many[T, U], i int, o Outcome[T])) *Future[U] {
	if err := badInput(ctx, false, fs...); err != nil {
		return Failed[U](err)
	}
	m := &many[T, U]{inputs: slices.Clone(fs), subs: make([]sub[T], len(fs))}
	m.left.Store(int64(len(fs)))
	m.start(ctx, m, nil)
	if ctx.Err() != nil {
		m.c.f.Cancel(context.Cause(ctx))
		return m.c.Future()
	}
	m.follow(ctx)
	for i, f := range m.inputs {
		m.subs[i].fn = func(o Outcome[T]) { each(m, i, o) }
		if !f.subscribe(&m.subs[i]) {
			o, _ := f.Outcome()
			each(m, i, o)
		}
		if m.c.f.settled() {
			// Whatever settled it cancels every input, those too
			// that have just been or not been subscribed to.
			break
		}
	}
	return m.c.Future()
}

// All returns a future of all the values, in the order of fs. It fails with
// the first failure, as the same error, and then cancels the rest; canceling
// it, or the end of ctx, cancels every input that is pending. Of no futures it
// completes with an empty slice. A nil ctx or future is a [*ConfigError].
//
// An input that has settled keeps its value; whatever becomes of the aggregate
// it can be read there.
func All[T any](ctx context.Context, fs ...*Future[T]) *Future[[]T] {
	values := make([]T, len(fs))
	if ctx != nil && len(fs) == 0 {
		return Completed(values)
	}
	return combine(ctx, fs, func(m *many[T, []T], i int, o Outcome[T]) {
		if o.Err != nil {
			m.finish(Outcome[[]T]{Err: o.Err}, o.Err)
			return
		}
		values[i] = o.Value
		if m.left.Add(-1) == 0 {
			m.settleWith(Outcome[[]T]{Value: values})
		}
	})
}

// Settled returns a future of all the outcomes, in the order of fs; it waits
// for every one and fails for none. Cancellation and bad input are as in
// [All].
func Settled[T any](ctx context.Context, fs ...*Future[T]) *Future[[]Outcome[T]] {
	outcomes := make([]Outcome[T], len(fs))
	if ctx != nil && len(fs) == 0 {
		return Completed(outcomes)
	}
	return combine(ctx, fs, func(m *many[T, []Outcome[T]], i int, o Outcome[T]) {
		outcomes[i] = o
		if m.left.Add(-1) == 0 {
			m.settleWith(Outcome[[]Outcome[T]]{Value: outcomes})
		}
	})
}

// Any returns a future of the first value, and then cancels the rest. If every
// input fails it fails with all the errors joined, in the order of fs; of no
// futures it fails with [ErrNoValue]. Cancellation and bad input are as in
// [All].
func Any[T any](ctx context.Context, fs ...*Future[T]) *Future[T] {
	if ctx != nil && len(fs) == 0 {
		return Failed[T](ErrNoValue)
	}
	errs := make([]error, len(fs))
	return combine(ctx, fs, func(m *many[T, T], i int, o Outcome[T]) {
		if o.Err == nil {
			m.finish(o, errLost)
			return
		}
		errs[i] = o.Err
		if m.left.Add(-1) == 0 {
			m.settleWith(Outcome[T]{Err: errors.Join(errs...)})
		}
	})
}

// Race returns a future of the first outcome, value or failure, and then
// cancels the rest. Of no futures it fails with [ErrNoValue]. Cancellation and
// bad input are as in [All].
func Race[T any](ctx context.Context, fs ...*Future[T]) *Future[T] {
	if ctx != nil && len(fs) == 0 {
		return Failed[T](ErrNoValue)
	}
	return combine(ctx, fs, func(m *many[T, T], _ int, o Outcome[T]) {
		m.finish(o, errLost)
	})
}
