package future

import (
	"context"
	"log/slog"
	"runtime/debug"

	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/lazyctx"
	"github.com/cadre-go/cadre/internal/report"
	"github.com/cadre-go/cadre/internal/tie"
)

// derived is a future that other futures settle, and its tie to a context.
// The completer is an allocation of its own: whoever holds the derived future
// when it has settled must not hold its sources.
type derived[T any] struct {
	c    *Completer[T]
	log  context.Context // for records about it
	link frame.Link
	tie  tie.Tie // to the context, while pending
}

// start makes d pending. p is the struct that d is part of.
func (d *derived[T]) start(ctx context.Context, p frame.Producer, opts []Option[T]) {
	d.c, d.log, d.link.Producer = &Completer[T]{}, ctx, p
	d.c.start(&d.link, opts)
}

// follow has d canceled when ctx ends, for as long as d is pending.
func (d *derived[T]) follow(ctx context.Context) {
	d.tie.To(ctx, lazyctx.Func(func(cause error) {
		contained(ctx, func() { d.c.f.Cancel(cause) })
	}))
}

// Settled lets go of the context.
func (d *derived[T]) Settled() { d.tie.Cut() }

// Report takes a failure that cannot be d's outcome.
func (d *derived[T]) Report(msg string, err error) {
	report.Logger{}.Error(d.log, msg, slog.Any("error", err))
}

// settleWith passes an input's outcome on. The value stays the input's: if d
// has settled otherwise it is not disposed of.
func (d *derived[T]) settleWith(o Outcome[T]) bool {
	if o.Err != nil {
		return d.c.f.settle(failed, o.Value, o.Err)
	}
	return d.c.f.settle(completed, o.Value, nil)
}

// run settles d with what fn returns, or with how else it ended. fn may have
// learned of the context's end before d did: then d is canceled all the same,
// whoever is first, and does not fail with whatever fn made of it.
func (d *derived[T]) run(fn func() (T, error)) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			d.fail(&PanicError{v, debug.Stack()})
			return
		}
		d.fail(ErrGoexit) // and the Goexit goes on
	}()
	v, err := fn()
	cause := endOf(d.log)
	returned = true
	if cause != nil {
		d.c.f.Cancel(cause)
	}
	if err != nil {
		d.c.Fail(err)
	} else if !d.c.f.settle(completed, v, nil) {
		d.c.f.disposeOf(v, d.Report)
	}
}

// endOf returns the cause of ctx's end, or nil if it has not ended or cannot be
// asked: a foreign context may panic.
func endOf(ctx context.Context) (cause error) {
	defer func() { _ = recover() }()
	if ctx.Err() != nil {
		cause = context.Cause(ctx)
	}
	return cause
}

// fail settles d with the abnormal end of its function, or reports that if
// nobody would learn of it.
func (d *derived[T]) fail(err error) {
	if !d.c.Fail(err) {
		d.Report("future: a function ended abnormally after its future had settled", err)
	}
}

// step1 is a future derived from one source.
type step1[T, U any] struct {
	derived[U]
	src *Future[T]
	sub sub[T]
	ctx lazyctx.Ctx // what the function gets
}

func (s *step1[T, U]) Find(pool any) any { return s.src.find(pool) }

func (s *step1[T, U]) Settled() {
	s.derived.Settled()
	s.src.unsubscribe(&s.sub)
}

func (s *step1[T, U]) Canceled(cause error) {
	s.ctx.Cancel(cause)
	s.src.Cancel(cause)
}

// on runs settle with the source's outcome, at once or when it is there, on
// the goroutine that brings it. settle gets the context for a function.
func (s *step1[T, U]) on(ctx context.Context, settle func(context.Context, Outcome[T])) *Future[U] {
	s.log = frame.WithScope(ctx, frame.Capture(ctx))
	s.ctx.Parent = s.log
	if ctx.Err() != nil {
		s.c.f.Cancel(context.Cause(ctx))
		return s.c.Future()
	}
	s.sub.fn = func(o Outcome[T]) {
		if s.c.f.settled() { // by a callback of the source's, or just now
			return
		}
		defer s.ctx.Release()
		settle(&s.ctx, o)
	}
	if s.src.subscribe(&s.sub) {
		s.follow(ctx)
	} else {
		o, _ := s.src.Outcome()
		s.sub.fn(o)
	}
	return s.c.Future()
}

// Then returns a future of what fn makes of f's value.
//
// fn runs on the goroutine that completes f, or on this one if f has completed
// already, under ctx with a diagnostic scope of its own that starts as ctx's at
// this call. If f does not complete fn never runs, and the derived future
// fails with the same error, or is canceled, as f was. A panic of fn fails the
// derived future with a [*PanicError], a Goexit with [ErrGoexit] and then goes
// on, as it cannot be stopped, on the goroutine that completes f.
//
// Canceling the derived future cancels f and the context that fn has, and so
// does the end of ctx while it is pending; abandoning it does not. Where f must live on, derive from
// [Shield](f). A value that fn returns after the derived future has settled is
// disposed of; see [WithDispose]. A nil ctx, f or fn gives a failed future
// with a [*ConfigError].
func Then[T, U any](ctx context.Context, f *Future[T], fn func(context.Context, T) (U, error), opts ...Option[U]) *Future[U] {
	if err := badInput(ctx, fn == nil, f); err != nil {
		return Failed[U](err)
	}
	s := &step1[T, U]{src: f}
	s.start(ctx, s, opts)
	return s.on(ctx, func(ctx context.Context, o Outcome[T]) {
		if o.Err != nil {
			s.settleWith(Outcome[U]{Err: o.Err})
			return
		}
		s.run(func() (U, error) { return fn(ctx, o.Value) })
	})
}

// Recover returns a future that completes as f does, or, if f fails, with what
// fn makes of the failure; a cancellation of f is passed on. All else is as in
// [Then].
func Recover[T any](ctx context.Context, f *Future[T], fn func(context.Context, error) (T, error)) *Future[T] {
	if err := badInput(ctx, fn == nil, f); err != nil {
		return Failed[T](err)
	}
	s := &step1[T, T]{src: f}
	s.start(ctx, s, nil)
	return s.on(ctx, func(ctx context.Context, o Outcome[T]) {
		if o.Err == nil || o.Canceled() {
			s.settleWith(o)
			return
		}
		s.run(func() (T, error) { return fn(ctx, o.Err) })
	})
}

// shield is a future that follows its source and does not cancel it.
type shield[T any] struct{ step1[T, T] }

func (s *shield[T]) Canceled(error) {}

// Shield returns a future that settles as f does, and whose cancellation
// leaves f alone. A nil f gives a failed future with a [*ConfigError].
func Shield[T any](f *Future[T]) *Future[T] {
	if f == nil {
		return Failed[T](nilFuture())
	}
	s := &shield[T]{step1[T, T]{src: f}}
	s.start(context.Background(), s, nil)
	return s.on(context.Background(), func(_ context.Context, o Outcome[T]) { s.settleWith(o) })
}

func badInput[T any](ctx context.Context, noFn bool, fs ...*Future[T]) error {
	if ctx == nil {
		return nilContext()
	}
	if noFn {
		return nilFunction()
	}
	for _, f := range fs {
		if f == nil {
			return nilFuture()
		}
	}
	return nil
}
