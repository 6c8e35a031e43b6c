package executortest

import (
	"context"
	"sync"

	"github.com/cadre-go/cadre/internal/link"
)

// Manual is an [executor.Executor] whose tasks run when RunNext or RunAll is
// called, on the goroutine that calls it, in the order in which they were
// posted. All methods may be called from any goroutine, a task included. The
// zero Manual is ready to use.
//
// A task has the context that a pool's task has: the values of the one it was
// posted with, a diagnostic scope that starts as that one's at the Post, and a
// lifetime of its own, which does not end. A panic is contained and logged; a
// runtime.Goexit, and so a test's FailNow, is the caller's own. A Submit that
// is canceled stays queued, and running it does nothing.
type Manual struct {
	mu    sync.Mutex // protects queue
	queue []func()
}

// NewManual returns a Manual with nothing queued.
func NewManual() *Manual { return &Manual{} }

// Post queues task. There is no bound. The errors are a
// [*executor.RejectedError] for a ctx that is done and a
// [*executor.ConfigError] for a nil ctx or task.
func (m *Manual) Post(ctx context.Context, task func(context.Context)) error {
	if err := link.Refuse(ctx, "manual", task); err != nil {
		return err
	}
	run := link.Detach(ctx, "manual", task)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue = append(m.queue, run)
	return nil
}

// RunNext runs the task that was posted first, and returns false if there is
// none.
func (m *Manual) RunNext() bool {
	m.mu.Lock()
	if len(m.queue) == 0 {
		m.mu.Unlock()
		return false
	}
	run := m.queue[0]
	m.queue[0] = nil
	m.queue = m.queue[1:]
	m.mu.Unlock()
	run()
	return true
}

// RunAll runs tasks until none is left, those that are posted meanwhile
// included, and returns how many it ran.
func (m *Manual) RunAll() int {
	n := 0
	for m.RunNext() {
		n++
	}
	return n
}

// Queued returns how many tasks have been posted and not been run.
func (m *Manual) Queued() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.queue)
}
