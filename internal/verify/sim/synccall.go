package sim

import (
	"context"
	"errors"

	"github.com/cadre-go/cadre/executor"
)

// sync has a task called as a blocking function, by way of Async and Sync.
func (w *world) sync(op Op) {
	w.plain = false
	t := w.newTask(op, synced)
	w.lending++ // the caller may be a task
	c := &syncCall{task: t}
	t.ctx, c.stop = context.WithCancel(t.ctx)
	w.syncs = append(w.syncs, c)
	c.call = w.at(op, "call "+t.what+w.under(t.caller), func(context.Context) {
		call := executor.Sync(executor.Async(w.pool, func(ctx context.Context, t *task) (*token, error) { return w.bodyOf(t)(ctx) }, w.dispose()))
		v, err := call(t.ctx, t)
		w.mu.Lock()
		defer w.mu.Unlock()
		c.value, c.err = v, err
	})
}

// syncCall is a call of sync.
type syncCall struct {
	task  *task
	stop  context.CancelFunc // for a call that waits for its own worker, at the end
	call  *call
	value *token
	err   error
}

// balanceSyncLocked is EXEC-19: the exact value or the identical error; and who
// waits returns when either is there, or the context ends.
func (w *world) balanceSyncLocked(c *syncCall) {
	if c.call == nil {
		return
	}
	t := c.task
	var rejected *executor.RejectedError
	switch {
	case errors.As(c.err, &rejected):
		t.rejected = c.err
	default:
		t.accepted = true
	}
	if !c.call.done {
		if t.starts > 0 && t.end != running || t.ctx.Err() != nil {
			w.badLocked("%s does not return", c.call.name)
		}
		return
	}
	if t.ctx.Err() == nil && t.end == returned && (c.err != nil || c.value != t.token) && !w.poolClosing {
		w.badLocked("%s returned %v, %v, and the task %v", c.call.name, c.value, c.err, t.token)
	}
	if t.token != nil && c.value == t.token && t.token.disposed > 0 {
		w.badLocked("%s returned a value that was disposed of", c.call.name)
	}
}
