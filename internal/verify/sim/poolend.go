package sim

import (
	"context"
	"errors"
	"fmt"

	"github.com/cadre-go/cadre/executor"
)

type shutdown struct {
	caller *caller
	call   *call
	err    error
}

func (w *world) poolShutdown(op Op) {
	c := w.newCaller(op, 4+op.B%4)
	w.endPool(op, c, fmt.Sprintf("shut down the pool under caller %d", c.id), func() error { return w.pool.Shutdown(c.ctx) })
}

func (w *world) poolClose(op Op) {
	w.endPool(op, nil, "close the pool", w.pool.Close)
}

func (w *world) endPool(op Op, c *caller, name string, fn func() error) {
	s := &shutdown{caller: c}
	w.shutdowns = append(w.shutdowns, s)
	w.poolClosing = true
	w.counts.fault("end of the pool")
	outside := w.site(op) == nil
	s.call = w.at(op, name, func(context.Context) {
		err := fn()
		w.ended(err, outside)
		w.mu.Lock()
		defer w.mu.Unlock()
		s.err = err
		var left *executor.ShutdownError
		if errors.As(err, &left) {
			w.escalated = true
			for _, d := range left.Discarded {
				if d.Worker != -1 {
					w.badLocked("a discarded task has run on worker %d", d.Worker)
				}
			}
		}
	})
}

// ended is EXEC-14: what is promised when Shutdown returns holds by then.
func (w *world) ended(err error, outside bool) {
	var left *executor.ShutdownError
	switch {
	case err == nil && outside:
		select {
		case <-w.pool.Done():
		default:
			w.bad("the shutdown of the pool has answered nil, and goroutines of the pool are left")
		}
	case errors.As(err, &left):
		if s := w.pool.Stats(); s.Queued > 0 {
			w.bad("the shutdown of the pool gave up, and %d tasks are in limbo", s.Queued)
		}
	}
}
