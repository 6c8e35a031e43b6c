package sim

import (
	"context"

	"github.com/cadre-go/cadre/executor"
)

// faultyExecutor is what the lease pool connects and disposes on: the pool, with
// faults that an operation prepares.
type faultyExecutor struct{ w *world }

// executorFault is what the next Post of a faultyExecutor does.
type executorFault uint8

const (
	executorRefuses executorFault = iota
	executorDrops                 // it accepts, and discards
	executorPanics
)

func (e faultyExecutor) Post(ctx context.Context, task func(context.Context)) error {
	w := e.w
	w.mu.Lock()
	var faults []executorFault
	if len(w.executorFaults) > 0 && !w.epilogue.Load() {
		faults, w.executorFaults = w.executorFaults[:1], w.executorFaults[1:]
	}
	w.mu.Unlock()
	if len(faults) == 0 {
		return w.pool.Post(ctx, task)
	}
	switch faults[0] {
	case executorRefuses:
		w.counts.fault("executor that refuses")
		return &executor.RejectedError{Pool: "faulty", Reason: executor.ErrQueueFull}
	case executorDrops:
		w.counts.fault("executor that drops a task")
		executor.Discard(ctx, nil)
		return nil
	}
	w.counts.fault("executor that panics")
	w.failLease()
	panic(&boom{"an executor"})
}

// armExecutor prepares a fault of the executor that the lease pool uses.
func (w *world) armExecutor(op Op) {
	if !w.h.Shape.LeaseOnPool {
		w.none()
		return
	}
	f := []executorFault{executorRefuses, executorRefuses, executorDrops, executorDrops, executorPanics}[op.A%5]
	w.note("the next task of the executor is refused, dropped, a panic: %d", f)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.executorFaults = append(w.executorFaults, f)
}
