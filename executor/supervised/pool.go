package supervised

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/internal/goid"
)

// Pool runs jobs on supervised workers. All methods may be called from any
// goroutine, workers and callbacks of the same pool included. It is handled by
// pointer; the zero Pool is one that has stopped.
//
// A Pool that becomes unreachable without having been stopped is shut down, with
// a WARN record; when that happens is up to the garbage collector. A Pool made
// in a testing/synctest bubble is not.
type Pool[J, R any] struct {
	core    *core[J, R]
	cleanup runtime.Cleanup
}

// New makes a pool: it checks cfg, calls the factory once for each role, in
// order, on this goroutine and with ctx, and starts the workers. ctx reaches
// the factory alone, and its end does not end the pool.
//
// Every bad field is reported, as a [*ConfigError], in one joined error before
// the factory is called. If the factory does not give a worker for each role
// the error is a [*RosterError]; then nothing was started, and the workers that
// there are belong to the caller. A factory that calls runtime.Goexit ends the
// calling goroutine, after the workers that there are have been discarded.
func New[J, R any](ctx context.Context, cfg Config[J, R]) (*Pool[J, R], error) {
	cfg, err := cfg.withDefaults()
	if ctx == nil {
		err = errors.Join(&ConfigError{Field: "ctx", Reason: errNilContext}, err)
	}
	if err != nil {
		return nil, err
	}
	return newPool(ctx, cfg, fold.Counters{}, nil)
}

// newPool makes a pool whose config is sound. Tests give counters that are
// about to be exhausted, and look at the events.
func newPool[J, R any](ctx context.Context, cfg Config[J, R], first fold.Counters, tune func(*core[J, R])) (*Pool[J, R], error) {
	c, err := newCore(cfg)
	if err != nil {
		return nil, err
	}
	workers, err := c.roster(ctx)
	if err != nil {
		return nil, err
	}
	if tune != nil {
		tune(c)
	}
	rules := cfg.rules(c.id)
	rules.First = first
	if role, ok := c.openOrStop(rules, workers); !ok {
		return nil, c.incomplete(role, workers, errIncarnationIDs)
	}
	p := &Pool[J, R]{core: c}
	if !goid.Bubbled() { // a cleanup runs outside of the bubble, where it may wake nobody inside
		p.cleanup = runtime.AddCleanup(p, func(c *core[J, R]) { go c.abandon() }, c)
	}
	return p, nil
}

var errIncarnationIDs = errors.New("incarnation ids exhausted")

// closed is the Done of a zero Pool.
var closed = func() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// Submit hands job over, or says why not; it never waits for room.
//
// A nil error means that the job is accepted: the ticket's future will settle,
// with a result or with a [*ReturnedError] that has the job. Otherwise the error
// is a [*RejectedError] that has it, unchanged, with [ErrSubmitContext] for a
// ctx that has ended, [ErrPoolStopping], [ErrNoWorkers], [ErrBacklogFull],
// [ErrJobIDsExhausted] or [ErrAssignmentIDsExhausted], in this order; or, for a
// nil ctx, a [*ConfigError].
//
// The job has ctx's values, diagnostics and labels; the end of ctx does not
// touch it.
func (p *Pool[J, R]) Submit(ctx context.Context, job J) (*Ticket[R], error) {
	if ctx == nil {
		return nil, &ConfigError{Field: "ctx", Reason: errNilContext}
	}
	if p == nil || p.core == nil {
		return nil, rejected(job, fold.PoolStopping)
	}
	defer runtime.KeepAlive(p)
	if err := ctx.Err(); err != nil {
		p.core.refusedCtx.Add(1)
		return nil, &RejectedError[J]{Job: job, Reason: ContextDone, Cause: fmt.Errorf("%w: %w", ErrSubmitContext, err)}
	}
	return p.core.submit(ctx, job)
}

// Done returns a channel that is closed when the last goroutine of the pool has
// ended, also after a shutdown that was forced.
func (p *Pool[J, R]) Done() <-chan struct{} {
	if p == nil || p.core == nil {
		return closed
	}
	return p.core.done
}
