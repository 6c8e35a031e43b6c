package sim

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
)

// ending is how foreign code comes to its end.
type ending uint8

const (
	running ending = iota
	returned
	failed
	panicked
	panickedNil
	exited
	again // a worker goes on to its next job
)

func (e ending) String() string {
	return [...]string{"running", "returned", "failed", "panicked", "panicked with nil", "exited", "again"}[e]
}

// boom is what foreign code of the simulation panics with. Its Error method is
// called by whoever reports the panic.
type boom struct{ what string }

func (b *boom) Error() string { return "boom of " + b.what }

// errOwn is matched by every error that foreign code of the simulation returns.
var errOwn = errors.New("error of the simulation")

type ownError struct{ what string }

func (e *ownError) Error() string        { return "own error of " + e.what }
func (e *ownError) Is(target error) bool { return target == errOwn }

// order is what a puppet is told to do next: to run something, to end, or the one
// and then the other.
type order struct {
	run func(ctx context.Context)
	end ending
}

// puppet is foreign code that the library has called and that stands still
// until it is told what to do.
type puppet struct {
	what   string
	role   role
	ctx    context.Context
	orders chan order
	busy   bool // inside of a call that it was told to make
	gone   bool
	then   ending // how it ends when it is back from the call that it makes

	task    *task       // of a role of taskRole
	worker  *worker     // of workerRole
	connect *connecting // of connectRole
}

// role says where in the library a puppet stands.
type role uint8

const (
	taskRole     role = iota // in a task, on a worker or on a caller's stack
	callbackRole             // in a callback of a future, or a tick of the timer
	hookRole                 // in a hook, a logger for instance
	workerRole               // in Serve or Activate
	doRole                   // in the function of a Do
	connectRole              // in Connect, Validate or Dispose
)

// newPuppet puts a puppet on the stage. A callback and a hook hold up
// whoever called them, so the ledgers ask for no progress meanwhile.
func (w *world) newPuppet(r role, ctx context.Context, what string) *puppet {
	p := &puppet{what: what, role: r, ctx: ctx, orders: make(chan order, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.puppets = append(w.puppets, p)
	if r == callbackRole || r == hookRole {
		w.blocked++
	}
	return p
}

// stand has p stand still on the calling goroutine until it is told to end, or
// quit is closed, which is a return. It does not come back from exited.
func (w *world) stand(p *puppet, quit <-chan struct{}) (end ending) {
	end = exited
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		p.gone = true
		if p.role == callbackRole || p.role == hookRole {
			w.blocked--
		}
	}()
	if w.epilogue.Load() {
		return returned
	}
	for {
		var o order
		select {
		case o = <-p.orders:
		case <-quit:
			return returned
		}
		if o.run == nil {
			return o.end
		}
		o.run(p.ctx)
		w.mu.Lock()
		p.busy = false
		w.mu.Unlock()
		if o.end != running {
			return o.end
		}
		if p.then != running {
			return p.then
		}
	}
}

// finish ends foreign code as end says.
func finish(end ending, what string) error {
	switch end {
	case failed:
		return &ownError{what}
	case panicked:
		panic(&boom{what})
	case panickedNil:
		panic(nil)
	case exited:
		runtime.Goexit()
	}
	return nil
}

// idle lists the puppets that wait for an order, those of the given roles
// alone if there are any.
func (w *world) idle(roles ...role) []*puppet {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*puppet
	for _, p := range w.puppets {
		ok := len(roles) == 0
		for _, r := range roles {
			ok = ok || p.role == r
		}
		if ok && !p.gone && !p.busy {
			out = append(out, p)
		}
	}
	// Two that came up in one step did so in an order that nothing fixes.
	slices.SortStableFunc(out, func(a, b *puppet) int { return strings.Compare(a.what, b.what) })
	return out
}

// standing lists the puppets of a role that have not gone, idle or not.
func (w *world) standing(r role) []*puppet {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*puppet
	for _, p := range w.puppets {
		if p.role == r && !p.gone {
			out = append(out, p)
		}
	}
	return out
}

// at has fn run where op.Site says, and returns when all goroutines have come
// to rest; fn may be blocked then. The name appears in the trace and in what
// the ledgers say of a call that does not return.
func (w *world) at(op Op, name string, fn func(ctx context.Context)) *call {
	c := &call{name: name, where: "outside"}
	run := func(ctx context.Context) {
		defer func() {
			w.mu.Lock()
			c.done = true
			w.mu.Unlock()
			r := recover()
			if r == nil && !c.returned && c.where == onEvent {
				w.failLease() // a Goexit on the owner's goroutine
			}
			if r != nil {
				// A callback's panic goes on on the goroutine that settles.
				if _, own := r.(*boom); !own && !isPanicNil(r) {
					w.bad("%s panicked with %v\n%s", name, r, stack())
				}
			}
		}()
		fn(ctx)
		c.returned = true
	}
	w.calls = append(w.calls, c)
	if p := w.site(op); p != nil {
		c.where = p.what
		w.note("%s, in %s", name, p.what)
		w.mu.Lock()
		p.busy = true
		w.mu.Unlock()
		p.orders <- order{run: run}
	} else {
		w.note("%s", name)
		go run(context.Background())
	}
	w.settle()
	return c
}

// site is the puppet that takes op, or nil.
func (w *world) site(op Op) *puppet {
	if op.Site == 0 {
		return nil
	}
	ps := slices.DeleteFunc(w.idle(), func(p *puppet) bool { return p.what == "Dispose" }) // it must not exit
	p, _ := pick(ps, uint16(op.Site-1))
	return p
}

// call is one call into the library.
type call struct {
	name, where string
	done        bool // it has ended
	returned    bool // by returning
}

func isPanicNil(r any) bool {
	_, ok := r.(*runtime.PanicNilError)
	return ok
}

func stack() string {
	buf := make([]byte, 8<<10)
	return string(buf[:runtime.Stack(buf, false)])
}
