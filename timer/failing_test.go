package timer_test

import (
	"context"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"sync"
)

// failures are the ways for a callback not to return.
var failures = map[string]func(){
	"panic":      func() { panic("boom") },
	"panic(nil)": func() { panic(nil) },
	"Goexit":     runtime.Goexit,
}

// cancelLabeled calls fn on a goroutine that carries labels.
func cancelLabeled(fn func()) {
	pprof.Do(context.Background(), pprof.Labels("who", "canceler"), func(context.Context) { fn() })
}

func (r *reentrant) logger() *slog.Logger { return slog.New(r) }

func (r *reentrant) Handle(ctx context.Context, rec slog.Record) error {
	r.touch()
	return r.records.Handle(ctx, rec)
}

// registry is a context that counts what context.AfterFunc leaves with it.
type registry struct {
	context.Context
	done       chan struct{}
	onRegister func()

	mu  sync.Mutex
	fns map[*func()]struct{}
}

func (r *registry) Done() <-chan struct{} { return r.done }

func (r *registry) AfterFunc(fn func()) (stop func() bool) {
	if r.onRegister != nil {
		r.onRegister()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fns == nil {
		r.fns = make(map[*func()]struct{})
	}
	key := &fn
	r.fns[key] = struct{}{}
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, ok := r.fns[key]
		delete(r.fns, key)
		return ok
	}
}

func (r *registry) live() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.fns)
}
