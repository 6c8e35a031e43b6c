package executor

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/timer"
)

// SubmitAfter is [Submit] to p after a delay of d, as in a retry. What was
// captured of ctx, was captured at this call. Canceled before d is over, the
// future leaves nothing behind; a pool that shuts down meanwhile fails it with
// [ErrClosed], and one that is full then with a [*RejectedError].
func SubmitAfter[T any](ctx context.Context, p *Pool, d time.Duration, fn func(context.Context) (T, error), opts ...future.Option[T]) *future.Future[T] {
	if err := badFunction(ctx, fn == nil); err != nil {
		return future.Failed[T](err)
	}
	defer runtime.KeepAlive(p)
	c := p.open()
	o := newOp(ctx, fn, opts)
	posted := postedLater(ctx)
	wait := ctx
	if ctx.Err() == nil {
		wait = context.WithoutCancel(ctx) // o itself is tied to ctx
	}
	delay := c.delays().Delay(wait, d)
	o.onCancel = func(cause error) { delay.Cancel(cause) }
	delay.OnSettle(func(out future.Outcome[time.Time]) {
		if o.canceled.Load() {
			return
		}
		err := out.Err
		if err == nil {
			err = c.submit(posted, &o.task, o)
		}
		if err != nil {
			o.c.Fail(err)
		} else if o.canceled.Load() { // before it was queued, maybe
			o.skip()
			c.freed(c.queue.out())
		}
	})
	o.tie.To(ctx, o)
	return o.c.Future()
}

// postedLater returns what a task is posted under when the time has come: ctx's
// values and what was captured of it, but not its end, which the future or the
// ticker is tied to.
func postedLater(ctx context.Context) context.Context {
	return frame.WithScope(context.WithoutCancel(valuesOf(ctx)), frame.Capture(ctx))
}

// Every runs task on a worker each time that interval has gone by, by the
// pool's clock, until the ticker is stopped, ctx ends or the pool closes. Ticks
// that come while task runs, and ticks that the pool refuses, are counted as
// missed and not made up for; see [timer.Timer.Every]. An error, panic or
// runtime.Goexit of one run is logged, and the next one takes place.
//
// Each run has the context that a Post at this call would have given it. The
// errors are [ErrClosed], the cause of a ctx that is done, and a
// [*ConfigError] for a nil ctx or task or an interval that is not positive.
func (p *Pool) Every(ctx context.Context, interval time.Duration, task func(context.Context) error) (*timer.Ticker, error) {
	defer runtime.KeepAlive(p)
	if err := badPost(ctx, task == nil); err != nil {
		return nil, err
	}
	c := p.open()
	if c == none {
		return nil, ErrClosed
	}
	posted := postedLater(ctx)
	ticker, err := link.Every(c.timer, ctx, interval, func(done func()) bool {
		return c.submit(posted, nil, &tick{task, done}) == nil
	})
	if err != nil {
		return nil, err
	}
	return ticker.(*timer.Ticker), nil
}

// tick is the job of one run of a ticker.
type tick struct {
	task func(context.Context) error
	done func() // lets the next run take place
}

func (j *tick) run(t *task) {
	defer j.done()
	if err := j.task(t); err != nil {
		t.core.log.Error(t, "executor: periodic task failed", t.core.logAttrs(slog.Any("error", err))...)
	}
}

func (j *tick) discard(error) func() { return j.done } // which calls the clock

func (j *tick) lost(error) { j.done() } // the clock may have panicked before run
