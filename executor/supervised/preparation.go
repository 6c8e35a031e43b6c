package supervised

import (
	"context"
	"errors"
	"runtime/debug"
	"runtime/pprof"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/future"
)

// hire calls the factory. However that ends, ended is told once: with a worker,
// or with why there is none.
func (c *core[J, R]) hire(ctx context.Context, role int, ended func(Worker[J, R], error)) {
	var w Worker[J, R]
	var err error = future.ErrGoexit
	defer func() {
		if v := recover(); v != nil {
			err = &future.PanicError{Value: v, Stack: debug.Stack()}
		}
		if err != nil {
			w = nil
		}
		ended(w, err)
	}()
	w, err = c.cfg.Factory(ctx, c.cfg.Roles[role])
	if w == nil && err == nil {
		err = ErrNilWorker
	}
}

// prepare is the goroutine of one preparation.
func (c *core[J, R]) prepare(ctx context.Context, cancel context.CancelCauseFunc, role int, id fold.PrepID) {
	defer c.register()()
	defer cancel(nil)
	pprof.SetGoroutineLabels(c.labels)
	ev := event[J, R]{Kind: fold.PreparationBegun, Role: role, Prep: id}
	if ctx.Err() != nil { // shutdown was faster
		ev.Kind, ev.Ending, ev.Cause = fold.PreparationEnded, fold.NotAttempted, context.Cause(ctx)
		c.feed(ev)
		return
	}
	c.feed(ev)
	c.hire(ctx, role, func(w Worker[J, R], err error) {
		ev := event[J, R]{
			Kind: fold.PreparationEnded, Role: role, Prep: id, Ending: fold.WorkerRejected, Worker: w, Cause: err,
		}
		defer func() { // the error may call runtime.Goexit when it is asked
			if c.feed(ev) != fold.Applied && w != nil {
				// It came after a forced end, and nobody else knows of it.
				c.mu.Lock()
				c.discardLocked(w, ErrPoolStopping)
				c.unlockAndRun()
			}
		}()
		ev.Ending = ending(err)
	})
}

// ending says how a preparation ended that gave err. It asks the error about
// itself, which may panic.
func ending(err error) (e fold.Ending) {
	var panicked *future.PanicError
	switch err {
	case nil:
		return fold.Prepared
	case future.ErrGoexit, ErrNilWorker:
		return fold.Lost
	}
	defer func() {
		if recover() != nil {
			e = fold.WorkerRejected
		}
	}()
	switch {
	case errors.As(err, &panicked):
		return fold.Lost
	case errors.Is(err, ErrFactoryUnavailable):
		return fold.FactoryRejected
	}
	return fold.WorkerRejected
}

// roster calls the factory once for each role, all or none.
func (c *core[J, R]) roster(ctx context.Context) (workers []Worker[J, R], err error) {
	finished := false
	for role := range c.cfg.Roles {
		var made Worker[J, R]
		var failed error
		c.hire(ctx, role, func(w Worker[J, R], err error) { made, failed = w, err })
		if failed != nil {
			finished = true
			return nil, c.incomplete(role, workers, failed)
		}
		workers = append(workers, made)
		if d, ok := made.(Discarder); ok {
			defer func() { // one for each worker, as a Discard may call runtime.Goexit, too
				if !finished { // the factory did, which ends the caller
					c.netted(context.Background(), "Discard", func() { d.Discard(future.ErrGoexit) })
				}
			}()
		}
	}
	finished = true
	return workers, nil
}

// incomplete is why there is no pool.
func (c *core[J, R]) incomplete(role int, prepared []Worker[J, R], cause error) error {
	return &RosterError[J, R]{
		Pool: c.cfg.Name, Role: c.cfg.Roles[role], Index: role, Prepared: prepared, Untouched: c.cfg.Roles[role+1:], Cause: cause,
	}
}
