package lease

import (
	"sync"

	"github.com/cadre-go/cadre/executor/lease/internal/sched"
)

// life is how a pool ends: once, as closed or as failed.
type life struct {
	closed error // a *ClosedError
	done   chan struct{}

	// mu protects what follows, and every change of the gate's closed and
	// failed. No foreign code runs under it.
	mu      sync.Mutex
	ending  bool                  // the close or the failure is published
	failure *SchedulerFailedError // the first one before the end
	outcome error                 // set at the end, and final
	cut     map[*func(error)]struct{}
	change  chan struct{} // closed, and replaced, when a Shutdown has to look again
}

func (l *life) init(pool string) {
	l.closed = &ClosedError{Pool: pool}
	l.done = make(chan struct{})
	l.change = make(chan struct{})
	l.cut = make(map[*func(error)]struct{})
}

// close publishes the close, and returns what has to be told of it.
func (l *life) close(g *gate) []func(error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.outcome != nil {
		return nil
	}
	g.update(sched.Word.WithClosed)
	return l.endLocked()
}

// fail publishes the failure, and returns what has to be told of it. It returns
// false if it is not the first, or the pool has ended.
func (l *life) fail(e *SchedulerFailedError, g *gate) (bool, []func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != nil || l.outcome != nil {
		return false, nil
	}
	l.failure = e
	g.update(sched.Word.WithFailed)
	return true, l.endLocked()
}

func (l *life) endLocked() []func(error) {
	l.ending = true
	var list []func(error)
	for end := range l.cut {
		list = append(list, *end)
	}
	clear(l.cut)
	return list
}

// register has end called when the pool ends, until it is forgotten. It returns
// the pool's end if that has come.
func (l *life) register(end func(error)) (forget func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		return nil, l.terminalLocked()
	}
	key := &end
	l.cut[key] = struct{}{}
	return func() {
		l.mu.Lock()
		delete(l.cut, key)
		l.mu.Unlock()
	}, nil
}

// terminate fixes the outcome.
func (l *life) terminate() {
	l.mu.Lock()
	l.outcome = l.terminalLocked()
	l.mu.Unlock()
	close(l.done)
}

func (l *life) terminal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.terminalLocked()
}

func (l *life) terminalLocked() error {
	switch {
	case l.outcome != nil:
		return l.outcome
	case l.failure != nil:
		return l.failure
	}
	return l.closed
}

// changed makes every Shutdown look again.
func (l *life) changed() {
	l.mu.Lock()
	close(l.change)
	l.change = make(chan struct{})
	l.mu.Unlock()
}

func (l *life) next() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.change
}

// ended reports whether the outcome is fixed.
func (l *life) ended() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}
