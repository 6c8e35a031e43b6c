package executor

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/internal/lazyctx"
	"github.com/cadre-go/cadre/internal/tie"
)

// offerEvery is how many tasks a runner runs before it offers its place.
const offerEvery = 16

// runner is one task of ex, and the context that it is posted with.
type runner struct {
	context.Context
	l *limited

	// Under l.mu.
	state   runnerState
	host    frame.Host   // of the Post that asks for it, whose stack it may run on
	carrier frame.Finder // what carries it
}

type runnerState int

const (
	asked    runnerState = iota // ex is being asked for it
	offered                     // likewise, to take the place of another one
	accepted                    // ex will run it
	begun                       // it serves
	over                        // it has ended, or will do nothing
)

// acceptLocked counts a runner that ex has accepted.
func (l *limited) acceptLocked(r *runner) {
	l.asked--
	l.runners++
	r.state = accepted
	l.decideLocked()
}

// endLocked ends a runner, or the asking for it.
func (l *limited) endLocked(r *runner) {
	r.state = over
	l.beginLocked(r)
}

// beginLocked takes r off the list of those that have not begun.
func (l *limited) beginLocked(r *runner) {
	l.unbegun = slices.DeleteFunc(l.unbegun, func(o *runner) bool { return o == r })
}

// leaveLocked gives up a runner's place, and, if it was the last one, what
// waits.
func (l *limited) leaveLocked() (dropped []*item) {
	l.runners--
	if l.runners == 0 {
		return l.dropLocked()
	}
	return nil
}

// The context of a runner, and its frame.

func (r *runner) Value(key any) any {
	if key == (frame.Key{}) {
		return r
	}
	return nil
}

func (r *runner) Scope() *frame.Scope { return nil }
func (r *runner) Over() *frame.Attrs  { return nil }
func (r *runner) Op() frame.Op        { return r }

// Host is that of the stack that r is posted on, as long as it is. It is not
// kept longer: a chain of runners that are posted by one another's tasks would
// keep them all.
func (r *runner) Host() frame.Host {
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	return r.host
}

// The operation that a runner is.

// Carried tells what carries r.
func (r *runner) Carried(by frame.Finder) {
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	r.carrier = by
}

// Discard tells that ex has dropped r.
func (r *runner) Discard(reason error) (callbacks func()) {
	l := r.l
	l.mu.Lock()
	var dropped []*item
	switch r.state {
	case asked:
		l.acceptLocked(r)
		fallthrough
	case accepted:
		dropped = l.leaveLocked()
		l.endLocked(r)
	case offered:
		l.endLocked(r) // whoever offers its place keeps it
	}
	l.mu.Unlock()
	return l.discard(dropped, reason)
}

// run is the task of ex.
func (r *runner) run(ctx context.Context) {
	l := r.l
	l.mu.Lock()
	switch r.state {
	case offered:
		// ex runs r before its Post has returned: on the stack of whoever
		// offers the place, which must not grow, or because nobody else
		// needs the place.
		l.endLocked(r)
	case asked:
		l.acceptLocked(r)
	}
	if r.state != accepted {
		l.mu.Unlock()
		return
	}
	r.state = begun
	l.beginLocked(r)
	l.mu.Unlock()
	if ctx.Done() != nil {
		var end tie.Tie
		end.To(ctx, lazyctx.Func(func(cause error) {
			if errors.Is(cause, ErrClosed) {
				l.dropAll()
			}
		}))
		defer end.Cut()
	}
	l.serve(ctx, true)
}

// dropAll discards what waits as ex has given up on what runs.
func (l *limited) dropAll() {
	l.mu.Lock()
	dropped := l.dropLocked()
	l.mu.Unlock()
	if callbacks := l.discard(dropped, l.closedReason()); callbacks != nil {
		callbacks()
	}
}

// serve runs what waits, under ctx, the context of a runner. With offers it
// offers its place now and then.
func (l *limited) serve(ctx context.Context, offers bool) {
	returned := false
	defer func() {
		if returned {
			return
		}
		// A task called runtime.Goexit, which ends this goroutine.
		if !offers || !l.handOver(ctx) {
			l.serve(ctx, offers)
		}
		endExited(ctx)
	}()
	for n := 0; ; n++ {
		switch ended := ctx.Err() != nil; {
		case ended && errors.Is(context.Cause(ctx), ErrClosed):
			l.dropAll()
		case !offers:
		case ended && n > 0 || n >= turn(ctx): // ended, one task a turn, so that there is progress
			if l.handOver(ctx) {
				returned = true
				return
			}
			n = 0
		}
		it := l.take()
		if it == nil {
			break
		}
		it.run(ctx)
	}
	returned = true
}

// turn returns how many tasks a runner under ctx runs before it offers its
// place. A slot that was lent for one task is given back after it.
func turn(ctx context.Context) int {
	if t, ok := frame.HostOf(ctx).(*task); ok && t.state() == lent {
		return 1
	}
	return offerEvery
}

// take returns the next item, begun. If none waits it gives up the runner's
// place and returns nil.
func (l *limited) take() *item {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > 0 {
		it := l.waiting[0]
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
		if it.state == queued {
			it.state = running
			l.running++
			return it
		}
		l.withdrawn--
	}
	l.runners--
	return nil
}

// handOver gives the place of the runner under ctx back to ex. It returns true if
// another runner has the place from here on, or nobody needs it or can have it.
func (l *limited) handOver(ctx context.Context) bool {
	l.mu.Lock()
	if len(l.waiting) == l.withdrawn {
		l.runners--
		l.waiting, l.withdrawn = nil, 0
		l.mu.Unlock()
		return true
	}
	next := &runner{Context: context.Background(), l: l, state: offered}
	l.unbegun = append(l.unbegun, next)
	l.mu.Unlock()

	err := l.offer(ctx, next)

	l.mu.Lock()
	if err == nil && next.state == offered {
		next.state = accepted
		l.mu.Unlock()
		return true
	}
	l.endLocked(next)
	if !errors.Is(err, ErrClosed) {
		l.mu.Unlock()
		return false
	}
	dropped := l.leaveLocked()
	l.mu.Unlock()
	if callbacks := l.discard(dropped, l.closedReason()); callbacks != nil {
		callbacks()
	}
	return true
}

// offer posts next to ex for the runner under ctx. A foreign ex that panics has
// refused it; so has one that calls runtime.Goexit, which ends this goroutine:
// it serves to the end first, since nobody else has the place.
func (l *limited) offer(ctx context.Context, next *runner) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			err = &future.PanicError{Value: v, Stack: debug.Stack()}
			l.log.Error(context.Background(), "executor: Post panicked",
				slog.String("pool", l.full.Pool), slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			return
		}
		l.log.Error(context.Background(), "executor: Post called runtime.Goexit", slog.String("pool", l.full.Pool))
		l.mu.Lock()
		l.endLocked(next)
		l.mu.Unlock()
		l.serve(ctx, false)
	}()
	err = l.ex.Post(next, next.run)
	returned = true
	return err
}

// endExited tells the task under ctx, which is exiting, that this has been
// accounted for and reported.
func endExited(ctx context.Context) {
	switch f := frame.Of(ctx).(type) {
	case *task:
		if f.seat.id.Load() == goid.ID() { // else ex has passed its context to another goroutine
			f.end(exited, false)
		}
	case *plainCtx:
		f.state.Store(exited)
	}
}
