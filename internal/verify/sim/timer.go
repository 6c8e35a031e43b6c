package sim

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/timer"
)

// timerSide is the timer, its delays and tickers, and those of the pool.
type timerSide struct {
	timer        *timer.Timer
	delays       []*delay
	tickers      []*ticker
	timerClosing bool
}

// delay is one delay of the timer or of the pool.
type delay struct {
	f      *tracked
	onPool bool
	due    time.Time

	setBacks int // before it was made
}

// ticker is one ticker of the timer or of the pool.
type ticker struct {
	id       int
	job      int
	t        *timer.Ticker
	onPool   bool
	start    time.Time
	interval time.Duration
	caller   *caller
	stopped  bool // Stop has returned
	runs     int
	live     int
	jumped   bool
}

func (w *world) openTimer() {
	t, err := timer.New(timer.Config{Clock: w.clockOrNil(), Logger: slog.New(logHandler{w}), ShutdownTimeout: shutdownTimeout})
	if err != nil {
		panic(err)
	}
	w.timer = t
}

func (w *world) delay(op Op)     { w.newDelay(op, false, w.timer.Delay) }
func (w *world) poolDelay(op Op) { w.newDelay(op, true, w.pool.Delay) }

func (w *world) newDelay(op Op, onPool bool, fn func(context.Context, time.Duration) *future.Future[time.Time]) {
	d := time.Duration(op.A%20) * 5 * time.Millisecond
	c := w.newCaller(op, op.B)
	ctx, job := w.jobContext(c.ctx)
	w.at(op, fmt.Sprintf("delay %v, job %d, on the pool: %v%s", d, job, onPool, w.under(c)), func(context.Context) {
		w.addDelay(fn(ctx, d), job, onPool, w.now().Add(d), c)
	})
}

func (w *world) addDelay(f *future.Future[time.Time], job int, onPool bool, due time.Time, c *caller) {
	e := &delay{onPool: onPool, due: due, setBacks: w.setBacks}
	e.f = track(w, f, fmt.Sprintf("delay of job %d", job), c)
	w.mu.Lock()
	w.delays = append(w.delays, e)
	w.mu.Unlock()
	zero := e.f.settledNow() // a delay of nothing waits for no others
	e.f.onSettle(func(o outcome) {
		if o.err == nil && !zero {
			w.fired(e)
		}
	})
}

// fired is TIMER-3: never early, and in the order of the deadlines, those of one
// deadline in the order of the calls.
func (w *world) fired(e *delay) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.now(); now.Before(e.due) && e.setBacks == w.setBacks {
		w.badLocked("%v fires %v early", e.f, e.due.Sub(now))
	}
	later := false
	for _, o := range w.delays {
		if o == e {
			later = true
			continue
		}
		if o.onPool != e.onPool || o.f.settledNow() {
			continue
		}
		if o.due.Before(e.due) || o.due.Equal(e.due) && !later {
			w.badLocked("%v fires before %v, which is due earlier", e.f, o.f)
		}
	}
}

func (w *world) every(op Op)     { w.newTicker(op, false, w.timer.Every) }
func (w *world) poolEvery(op Op) { w.newTicker(op, true, w.pool.Every) }

func (w *world) newTicker(op Op, onPool bool, fn func(context.Context, time.Duration, func(context.Context) error) (*timer.Ticker, error)) {
	if onPool {
		w.plain = false
	}
	interval := time.Duration(1+op.A%10) * 10 * time.Millisecond
	if onPool {
		interval += time.Duration(len(w.tickers)) * time.Microsecond // see submitAfter
	}
	c := w.newCaller(op, op.B)
	ctx, job := w.jobContext(c.ctx)
	e := &ticker{id: len(w.tickers), job: job, onPool: onPool, interval: interval, caller: c}
	w.at(op, fmt.Sprintf("every %v, job %d, on the pool: %v%s", interval, job, onPool, w.under(c)), func(context.Context) {
		e.start = w.now()
		t, err := fn(ctx, interval, func(ctx context.Context) error { return w.tick(ctx, e, op) })
		if err != nil {
			return
		}
		e.t = t
		w.mu.Lock()
		w.tickers = append(w.tickers, e)
		w.mu.Unlock()
	})
}

// tick is a run of a ticker. Most end at once.
func (w *world) tick(ctx context.Context, e *ticker, op Op) error {
	w.sound(ctx, e.job, fmt.Sprintf("run of ticker %d", e.id))
	t := &task{what: fmt.Sprintf("run of ticker %d", e.id), kind: ticked, starts: 1, accepted: true, own: ctx, id: e.job}
	w.mu.Lock()
	e.runs++
	e.live++
	if e.live > 1 {
		w.badLocked("two runs of ticker %d at once", e.id)
	}
	if e.stopped && !e.onPool {
		w.badLocked("ticker %d runs after Stop", e.id)
	}
	if e.onPool {
		w.tasks = append(w.tasks, t)
	}
	n := e.runs
	w.mu.Unlock()
	end := exited
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		e.live--
		t.end = end
	}()
	r := running
	switch (int(op.C) + n) % 8 {
	case 0:
		what := callbackRole
		if e.onPool {
			what = taskRole
		}
		r = w.stand(w.newPuppet(what, ctx, t.what), nil)
	case 1:
		r = []ending{failed, panicked, exited}[op.C/8%3]
		w.counts.fault("run of a ticker that " + r.String())
	default:
		r = returned
	}
	end = r
	return finish(r, t.what)
}

func (w *world) stopTicker(op Op) {
	e, ok := pick(w.tickers, op.A)
	if !ok {
		w.none()
		return
	}
	w.at(op, fmt.Sprintf("stop ticker %d", e.id), func(context.Context) {
		e.t.Stop()
		w.mu.Lock()
		defer w.mu.Unlock()
		e.stopped = true
	})
}

func (w *world) timerShutdown(op Op) {
	c := w.newCaller(op, 4+op.B%4)
	w.timerClosing = true
	w.counts.fault("end of the timer")
	w.at(op, fmt.Sprintf("shut down the timer under caller %d", c.id), func(context.Context) { _ = w.timer.Shutdown(c.ctx) })
}

func (w *world) timerClose(op Op) {
	w.timerClosing = true
	w.counts.fault("end of the timer")
	w.at(op, "close the timer", func(context.Context) { _ = w.timer.Close() })
}

// balanceTimers is that what is due has fired, and that the timer counts what is
// outstanding, no more and no less.
func (w *world) balanceTimers() {
	now, quiet, length := w.now(), w.quiet(), w.timer.Len()
	w.mu.Lock()
	defer w.mu.Unlock()
	outstanding := 0
	for _, d := range w.delays {
		if d.f.settledNow() {
			continue
		}
		if !d.onPool {
			outstanding++
		}
		switch {
		case d.onPool && w.poolClosing || !d.onPool && w.timerClosing:
			w.badLocked("%v is pending, and its timer was shut down", d.f)
		case quiet && !d.due.After(now):
			w.badLocked("%v is pending, and was due %v ago", d.f, now.Sub(d.due))
		}
	}
	for _, e := range w.tickers {
		over := e.stopped || e.caller.ended() || e.onPool && w.poolClosing || !e.onPool && w.timerClosing
		if !over && !e.onPool {
			outstanding++
		}
		w.balanceTickerLocked(e, now, quiet, over)
	}
	if length != outstanding && quiet {
		w.badLocked("the timer counts %d entries, and there are %d", length, outstanding)
	}
}

// balanceTickerLocked is TIMER-9: runs and missed ticks are all that were due.
func (w *world) balanceTickerLocked(e *ticker, now time.Time, quiet, over bool) {
	if over && quiet && e.live == 0 && (!e.onPool || w.h.Shape.Queue == executorNoQueue) {
		select {
		case <-e.t.Done():
		default:
			w.badLocked("ticker %d was stopped and does not run, and is not done", e.id)
		}
	}
	if e.t.Runs() < uint64(e.runs) {
		w.badLocked("ticker %d has run %d times, and says %d", e.id, e.runs, e.t.Runs())
	}
	e.jumped = e.jumped || w.jumped
	if over || !quiet || e.jumped {
		return
	}
	due := uint64(now.Sub(e.start) / e.interval)
	if got := e.t.Runs() + e.t.Missed(); got > due || got < due-min(due, 1) || got != due && e.live == 0 && !e.onPool {
		w.badLocked("ticker %d: %d ticks were due, %d have run and %d were missed", e.id, due, e.t.Runs(), e.t.Missed())
	}
}

const executorNoQueue = -1
