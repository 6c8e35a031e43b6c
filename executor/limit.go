package executor

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/report"
)

// Serial returns an [Executor] that runs its tasks on ex one at a time, in the
// order in which it accepted them. It is [Limit] with an n of 1.
func Serial(ex Executor, limit int) (Executor, error) { return newLimited("serial", ex, 1, limit) }

// Limit returns an [Executor] that runs at most n of its tasks at a time on ex,
// starting them in the order in which it accepted them. Beside these up to
// limit tasks wait; one more is refused with [ErrQueueFull]. A [Submit] that is
// canceled while it waits leaves its place at once.
//
// It takes up at most n places of ex: whoever runs a task goes on with the next
// one that waits, offering its place back to ex every 16 tasks. If ex refuses
// while nothing runs, that refuses the Post. If ex discards, ends the context
// that it runs tasks under with the cause [ErrClosed], or has closed when the
// place is offered, what waits is discarded too: the futures of Submit fail
// with an error that matches ErrClosed, other tasks are logged as discarded.
//
// A task that awaits a later one of the same Limit, with its n places taken by
// such tasks, waits in vain; awaiting it from a task of ex is fine.
//
// A nil ex, an n below 1 and a negative limit are reported in one joined error
// of [*ConfigError].
func Limit(ex Executor, n, limit int) (Executor, error) { return newLimited("limit", ex, n, limit) }

func newLimited(name string, ex Executor, n, limit int) (Executor, error) {
	var errs []error
	if ex == nil {
		errs = append(errs, badArgument("ex", errNilExecutor))
	}
	if n < 1 {
		errs = append(errs, &ConfigError{Field: "n", Value: n, Reason: errors.New("must be at least 1")})
	}
	if limit < 0 {
		errs = append(errs, &ConfigError{Field: "limit", Value: limit, Reason: errors.New("must not be negative")})
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &limited{ex: ex, n: n, limit: limit, log: logOf(ex),
		full: &RejectedError{Pool: name, Reason: ErrQueueFull, Size: n, QueueLimit: limit}}, nil
}

// logOf returns where ex logs what has no pool's task around it.
func logOf(ex Executor) report.Logger {
	switch ex := ex.(type) {
	case *Pool:
		return ex.open().log
	case *limited:
		return ex.log
	case callerRuns:
		return logOf(ex.ex)
	}
	return report.Logger{}
}

// limited is a bounded queue in front of another executor, served by up to n
// runners: tasks of ex, each of which serves the queue.
type limited struct {
	ex       Executor
	n, limit int
	log      report.Logger
	full     *RejectedError

	mu        sync.Mutex    // protects what follows; ex is not called under it
	waiting   []*item       // accepted, or about to be, and not begun; the oldest first
	withdrawn int           // of these, how many never will begin
	running   int           // items that have begun and not ended
	runners   int           // accepted by ex and not ended
	asked     int           // those that ex has not accepted or refused yet
	unbegun   []*runner     // of both, and of those that a place is offered to, those that have not begun
	decided   chan struct{} // closed when ex has decided on one; nil if nobody waits for that
}

// item is one accepted task.
type item struct {
	l      *limited
	posted context.Context // what it was posted with
	op     frame.Op        // of posted; nil for none
	ctx    *plainCtx
	fn     func(context.Context)
	state  uint64 // queued, running, finished, skipped or discarded; under l.mu
}

func (l *limited) Post(ctx context.Context, task func(context.Context)) error {
	return l.post(ctx, task, false)
}

// post is Post. With early the task tells of its end itself.
func (l *limited) post(ctx context.Context, task func(context.Context), early bool) error {
	if err := badPost(ctx, task == nil); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &RejectedError{l.full.Pool, context.Cause(ctx), l.n, l.limit, err}
	}
	it := &item{l: l, posted: ctx, ctx: detach(ctx, l.full.Pool), fn: task, state: queued}
	it.ctx.log = l.log
	if early {
		it.ctx.item = it
	}
	var host frame.Host
	if f := frame.Of(ctx); f != nil { // asked here, as ctx may be foreign
		it.op, host = f.Op(), f.Host()
	}
	l.mu.Lock()
	for {
		places := l.runners + l.asked
		switch {
		case places < l.n && l.busyLocked() >= places:
			return l.postWithRunner(it, host)
		case l.runners > 0 && l.busyLocked() < l.runners+l.limit:
			l.enqueueLocked(it)
			l.mu.Unlock()
			return nil
		case places < l.n:
			return l.postWithRunner(it, host)
		case l.asked == 0:
			l.mu.Unlock()
			return l.full
		}
		// Whether there is room depends on what ex, which does not block,
		// says to another Post.
		if l.decided == nil {
			l.decided = make(chan struct{})
		}
		decided := l.decided
		l.mu.Unlock()
		<-decided
		l.mu.Lock()
	}
}

// postWithRunner enqueues it and asks ex for a runner, on the stack of host, if
// that is not nil. It is called with the lock held and lets go of it.
func (l *limited) postWithRunner(it *item, host frame.Host) error {
	l.enqueueLocked(it)
	r := &runner{Context: context.Background(), l: l, host: host}
	l.asked++
	l.unbegun = append(l.unbegun, r)
	l.mu.Unlock()

	returned := false
	defer func() {
		if !returned { // ex, or a task on this stack
			_ = l.settle(r, it, ErrClosed)
		}
	}()
	err := l.ex.Post(r, r.run)
	returned = true
	return l.settle(r, it, err)
}

// settle takes ex's answer to being asked for r on behalf of it.
func (l *limited) settle(r *runner, it *item, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.host = nil
	if r.state == asked {
		if err == nil {
			l.acceptLocked(r)
		} else {
			l.asked--
			l.endLocked(r)
			l.decideLocked()
		}
	}
	if err == nil || it.state != queued || l.runners > 0 && l.busyLocked() <= l.runners+l.limit {
		return nil // another runner has it, or will
	}
	at := slices.Index(l.waiting, it)
	l.waiting = slices.Delete(l.waiting, at, at+1)
	if l.runners > 0 {
		return l.full
	}
	return err
}

// busyLocked counts the tasks that have not ended.
func (l *limited) busyLocked() int { return l.running + len(l.waiting) - l.withdrawn }

func (l *limited) enqueueLocked(it *item) {
	l.waiting = append(l.waiting, it)
	if it.op != nil {
		it.op.Carried(it)
	}
}

// decideLocked wakes the Posts that wait for what ex says.
func (l *limited) decideLocked() {
	if l.decided != nil {
		close(l.decided)
		l.decided = nil
	}
}

// dropLocked takes everything out of the queue.
func (l *limited) dropLocked() (dropped []*item) {
	for _, it := range l.waiting {
		if it.state == queued {
			it.state = discarded
			dropped = append(dropped, it)
		}
	}
	l.waiting, l.withdrawn = nil, 0
	return dropped
}

// discard gives every dropped item its outcome and returns what is left to do
// about them, which is foreign.
func (l *limited) discard(dropped []*item, reason error) (callbacks func()) {
	if len(dropped) == 0 {
		return nil
	}
	all := make([]func(), len(dropped))
	for i, it := range dropped {
		if it.op != nil {
			all[i] = it.op.Discard(reason)
			continue
		}
		all[i] = func() {
			l.log.Warn(it.ctx, "executor: task discarded",
				slog.String("pool", l.full.Pool), slog.Any("error", reason))
		}
	}
	return func() { tell(dropped, all) }
}

// tell calls the callbacks of dropped items, each under a net.
func tell(dropped []*item, callbacks []func()) {
	i, returned := 0, false
	defer func() {
		if !returned { // a callback called runtime.Goexit
			tell(dropped[i+1:], callbacks[i+1:])
		}
	}()
	for ; i < len(dropped); i++ {
		if callbacks[i] != nil {
			c := dropped[i].ctx
			c.state.Store(discarded)
			c.run(func(context.Context) { callbacks[i]() })
		}
	}
	returned = true
}

func (l *limited) closedReason() error { return &discardedError{l.full.Pool} }

// Find returns a task of pool that has to run for it to be run.
func (it *item) Find(pool any) any {
	l := it.l
	l.mu.Lock()
	var carriers []frame.Finder
	if it.state == queued {
		for _, r := range l.unbegun {
			if r.carrier != nil {
				carriers = append(carriers, r.carrier)
			}
		}
	}
	l.mu.Unlock()
	for _, c := range carriers {
		if task := c.Find(pool); task != nil {
			return task
		}
	}
	return nil
}

// withdraw gives up an item that was canceled, if it has not begun.
func (it *item) withdraw() {
	l := it.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if it.state != queued {
		return
	}
	it.state = skipped
	l.withdrawn++
	if l.withdrawn > len(l.waiting)/2 { // so that all of them together cost no more than a pass each
		l.waiting = slices.DeleteFunc(l.waiting, func(o *item) bool { return o.state == skipped })
		l.withdrawn = 0
	}
}

// run runs it under ctx, the context of a runner.
func (it *item) run(ctx context.Context) {
	defer it.end()
	it.ctx.adopt(ctx)
	it.ctx.run(it.fn)
}

// end ends it, once.
func (it *item) end() {
	l := it.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if it.state == running {
		it.state = finished
		l.running--
	}
}
