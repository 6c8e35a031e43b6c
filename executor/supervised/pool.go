package supervised

import (
	"context"
	"errors"
	"runtime"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/internal/goid"
)

// Pool runs jobs on supervised workers. All methods may be called from any
// goroutine, workers and callbacks of the same pool included. It is handled by
// pointer.
//
// The zero Pool, and a nil one, is one that has stopped: Submit, Wait, Shutdown
// and Close return [ErrPoolStopping], which Submit's error has around it with the
// job; Stop does nothing, Done is closed, and Stats has the mode "stopped" and
// nothing else.
//
// A Pool that becomes unreachable while it serves is shut down, with a WARN
// record; when that happens is up to the garbage collector. A Pool made in a
// testing/synctest bubble is not.
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
// there are belong to the caller. A Launch that fails is no error of New's: the
// pool is there, and has lost that role. A factory that calls runtime.Goexit ends the
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
// is a [*RejectedError] that has it, unchanged, with [ErrSubmitContext], ctx's
// error and its cause for a ctx that has ended, [ErrPoolStopping], [ErrNoWorkers], [ErrBacklogFull],
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
		return nil, rejected("", job, fold.PoolStopping)
	}
	defer runtime.KeepAlive(p)
	if err := ctx.Err(); err != nil {
		p.core.refusedCtx.Add(1)
		return nil, &RejectedError[J]{
			Pool: p.core.cfg.Name, Job: job, Reason: ContextDone, Cause: &endedContext{err, context.Cause(ctx)},
		}
	}
	return p.core.submit(ctx, job)
}

// Done returns a channel that is closed when the last goroutine of the pool has
// ended, also after a shutdown that was forced. After that nothing foreign is
// called any more, but for what a Complete that comes too late leads to.
func (p *Pool[J, R]) Done() <-chan struct{} {
	if p == nil || p.core == nil {
		return closed
	}
	return p.core.done
}
