// Package frame holds what this module knows about a context.
//
// A context that the module made answers [Of] with a Frame: the innermost
// task scope, the attributes laid over it, the operation that the context was
// posted with, and the running pool task that it belongs to. One lookup finds
// all of it, so that a Post pays for one walk of the caller's contexts.
package frame

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"sync/atomic"
)

// Attrs is an immutable list of attributes: each key once, in the order in
// which the keys were first written. The nil list is empty.
type Attrs struct{ list []slog.Attr }

// List returns the attributes; nobody may write to the slice.
func (a *Attrs) List() []slog.Attr {
	if a == nil {
		return nil
	}
	return a.list
}

// Get returns the value of key.
func (a *Attrs) Get(key string) (slog.Value, bool) {
	if a != nil {
		for i := range a.list {
			if a.list[i].Key == key {
				return a.list[i].Value, true
			}
		}
	}
	return slog.Value{}, false
}

// With returns a list in which attrs are written over a: a key that is there
// keeps its place and takes the new value, a new one goes to the end.
func (a *Attrs) With(attrs []slog.Attr) *Attrs {
	if len(attrs) == 0 {
		return a
	}
	old := a.List()
	list := make([]slog.Attr, len(old), len(old)+len(attrs))
	copy(list, old)
write:
	for _, attr := range attrs {
		for i := range list {
			if list[i].Key == attr.Key {
				list[i].Value = attr.Value
				continue write
			}
		}
		list = append(list, attr)
	}
	return &Attrs{list}
}

// Merge lays over upon base.
func Merge(base, over *Attrs) *Attrs {
	switch {
	case over == nil:
		return base
	case base == nil:
		return over
	}
	return base.With(over.list)
}

// Scope is the mutable set of attributes of one task. Its zero value is an
// empty scope. It may be used by any number of goroutines.
type Scope struct{ attrs atomic.Pointer[Attrs] }

// Load returns what the scope holds now.
func (s *Scope) Load() *Attrs {
	if s == nil {
		return nil
	}
	return s.attrs.Load()
}

// Start gives a fresh scope its first content, before anybody else sees it.
func (s *Scope) Start(attrs *Attrs) {
	if attrs != nil {
		s.attrs.Store(attrs)
	}
}

// Set writes attrs into the scope.
func (s *Scope) Set(attrs []slog.Attr) {
	for {
		old := s.attrs.Load()
		if s.attrs.CompareAndSwap(old, old.With(attrs)) {
			return
		}
	}
}

// Frame is the answer of a context of this module.
type Frame interface {
	Scope() *Scope // the innermost task scope; nil outside of any
	Over() *Attrs  // what With laid over that scope
	Op() Op        // the operation that this context was posted with; nil in a task of this module
	Host() Host    // the pool task that runs under this context; nil elsewhere
}

// Op is the far end of an accepted task: what has to learn that an executor
// carries the task, or has dropped it.
type Op interface {
	// Carried tells who carries the operation now.
	Carried(by Finder)
	// Discard ends the operation: its executor dropped it. Nothing foreign
	// is called before the returned function, which may be nil.
	Discard(reason error) (callbacks func())
}

// Finder finds the task to run for something to get on.
type Finder interface {
	// Find returns a task of pool, still queued, that has to run for this to
	// get on, or nil. It takes no lock but for short and never two at once.
	Find(pool any) any
}

// Host is a running task of a pool, as seen by a wait under its context.
type Host interface {
	// Await returns when done is closed or ctx has ended. Meanwhile the
	// pool lends the task's slot to what p depends on.
	Await(ctx context.Context, p Producer, done <-chan struct{})
	// Report logs a failure of foreign code under the task's context.
	Report(msg string, err error)
}

// Producer is what stands behind a pending future.
type Producer interface {
	Finder
	// Settled tells that the future has its outcome. It comes before
	// Canceled and before any callback.
	Settled()
	// Canceled tells that a Cancel won. It comes before the OnCancel
	// functions.
	Canceled(cause error)
	// Report takes the failure of disposing of a value.
	Report(msg string, err error)
}

// Claimer is a Producer that has something to undo before anybody can see that
// a Cancel won.
type Claimer interface {
	Producer
	// Claim tells that a Cancel has won and is about to show. The future is
	// locked meanwhile: Claim takes no lock but for short, calls nothing
	// foreign and leaves the future alone.
	Claim()
}

// Key is the context key that Of asks for.
type Key struct{}

// Of returns the innermost frame of ctx, or nil.
func Of(ctx context.Context) Frame {
	f, _ := ctx.Value(Key{}).(Frame)
	return f
}

// Parts returns the scope's content and what lies over it.
func Parts(f Frame) (base, over *Attrs) {
	if f == nil {
		return nil, nil
	}
	return f.Scope().Load(), f.Over()
}

// Capture returns the attributes of ctx as one list.
func Capture(ctx context.Context) *Attrs { return Merge(Parts(Of(ctx))) }

// Labeled reports whether ctx carries pprof labels. A foreign context that
// panics when it is asked carries none.
func Labeled(ctx context.Context) (found bool) {
	if ctx == context.Background() {
		return false
	}
	defer func() { _ = recover() }()
	pprof.ForLabels(ctx, func(string, string) bool {
		found = true
		return false
	})
	return found
}

// HostOf returns the pool task that runs under ctx, or nil.
func HostOf(ctx context.Context) Host {
	if f := Of(ctx); f != nil {
		return f.Host()
	}
	return nil
}

// layer is a context with attributes laid over its parent's frame.
type layer struct {
	context.Context
	parent Frame // may be nil
	over   *Attrs
}

// WithAttrs returns a child of ctx that carries attrs over what ctx carries.
func WithAttrs(ctx context.Context, attrs []slog.Attr) context.Context {
	parent := Of(ctx)
	var over *Attrs
	if parent != nil {
		over = parent.Over()
	}
	return &layer{ctx, parent, over.With(attrs)}
}

func (l *layer) Value(key any) any {
	if key == (Key{}) {
		return l
	}
	return l.Context.Value(key)
}

func (l *layer) Over() *Attrs { return l.over }

func (l *layer) Scope() *Scope {
	if l.parent == nil {
		return nil
	}
	return l.parent.Scope()
}

func (l *layer) Op() Op {
	if l.parent == nil {
		return nil
	}
	return l.parent.Op()
}

func (l *layer) Host() Host {
	if l.parent == nil {
		return nil
	}
	return l.parent.Host()
}

// scoped is a context with a fresh task scope.
type scoped struct {
	context.Context
	scope Scope
	op    Op
	host  Host
}

// WithScope returns a child of ctx with a fresh scope that starts as attrs.
func WithScope(ctx context.Context, attrs *Attrs) context.Context {
	s := &scoped{Context: ctx}
	if f := Of(ctx); f != nil {
		s.op, s.host = f.Op(), f.Host()
	}
	s.scope.Start(attrs)
	return s
}

func (s *scoped) Value(key any) any {
	if key == (Key{}) {
		return s
	}
	return s.Context.Value(key)
}

func (s *scoped) Scope() *Scope { return &s.scope }
func (s *scoped) Over() *Attrs  { return nil }
func (s *scoped) Op() Op        { return s.op }
func (s *scoped) Host() Host    { return s.host }

// Link ties a pending future to its producer. The future drops it when it
// settles, unless the producer lives in the same allocation anyway.
type Link struct {
	Producer Producer
	Keep     bool
}
