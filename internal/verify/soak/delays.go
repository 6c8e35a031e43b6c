package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/timer"
)

// interval is the ticker's.
const interval = 5 * time.Millisecond

// delays is a timer with a limit, batches of delays beyond it, of which some
// are canceled, and a ticker.
type delays struct {
	*book
	timer   *timer.Timer
	ticker  *timer.Ticker
	began   time.Time
	records recordCounter

	asked, settled, running, ticks atomic.Int64
	told                           atomic.Uint64 // ticks that failed or panicked
}

const delayLimit = 512

func newDelays() (*desk, error) {
	d := &delays{book: newBook("delays"), began: time.Now()}
	var err error
	if d.timer, err = timer.New(timer.Config{Name: "delays", Limit: delayLimit, Logger: slog.New(&d.records)}); err != nil {
		return nil, err
	}
	ctx, _ := stamped(context.Background())
	if d.ticker, err = d.timer.Every(reported(ctx), interval, d.tick); err != nil {
		return nil, errors.Join(err, d.timer.Close())
	}
	return &desk{book: d.book, subject: d, clients: 8, pace: 50 * time.Millisecond}, nil
}

func (d *delays) tick(ctx context.Context) error {
	if d.running.Add(1) != 1 {
		d.bad("two ticks at once")
	}
	defer d.running.Add(-1)
	switch d.ticks.Add(1) % 100 {
	case 0:
		d.told.Add(1)
		return errTask
	case 1:
		stray(ctx)
		d.told.Add(1)
		panic("as told")
	}
	return nil
}

// play asks for more delays at once than its share of the limit.
func (d *delays) play(c *player) {
	type open struct {
		due    time.Time
		future *future.Future[time.Time]
		id     int64
	}
	var batch []open
	for range 100 {
		ctx, id := stamped(c)
		takes := time.Duration(c.IntN(20000)) * time.Microsecond
		due := time.Now().Add(takes)
		f := d.timer.Delay(ctx, takes)
		d.asked.Add(1)
		f.OnSettle(func(o future.Outcome[time.Time]) {
			d.settled.Add(1)
			if o.Err == nil {
				if late := time.Since(due); late >= 0 {
					d.latency.add(late)
				} else {
					d.bad("a delay fired %v early", -late)
				}
			}
		})
		batch = append(batch, open{due, f, id})
	}
	for i, o := range batch {
		if i%3 == 0 {
			o.future.Cancel(errLeft)
		}
	}
	for _, o := range batch {
		at, err := o.future.Await(c)
		switch {
		case err == nil:
			d.enter("delay fired")
			if at.Before(o.due) {
				d.bad("a delay says that it fired at %v, and was due at %v", at, o.due)
			}
		case errors.Is(err, timer.ErrLimit):
			d.enter("delay rejected")
		case errors.Is(err, errLeft):
			d.enter("delay canceled")
		default:
			d.bad("delay: %v", err)
		}
	}
}

func (d *delays) watch() int {
	n := d.timer.Len()
	if n > delayLimit {
		d.bad("%d are outstanding", n)
	}
	return n
}

func (d *delays) rest(ctx context.Context) {
	if !eventually(ctx, func() bool { return d.timer.Len() == 1 && d.settled.Load() == d.asked.Load() }) {
		d.bad("%d are outstanding; %d of %d delays have settled", d.timer.Len(), d.settled.Load(), d.asked.Load())
	}
}

func (d *delays) end(ctx context.Context) {
	d.rest(ctx)
	d.ticker.Stop()
	select {
	case <-d.ticker.Done():
	case <-ctx.Done():
		d.bad("the ticker does not end")
	}
	due := uint64(time.Since(d.began) / interval)
	came := d.ticker.Runs() + d.ticker.Missed()
	// The last second's may have been missed without anybody having looked.
	if came > due+1 || came+uint64(time.Second/interval) < due {
		d.bad("%d ticks were due, and there were %d runs and %d misses", due, d.ticker.Runs(), d.ticker.Missed())
	}
	d.equal("runs of the ticker", d.ticker.Runs(), uint64(d.ticks.Load()))
	if err := d.timer.Shutdown(ctx); err != nil {
		d.bad("shutdown: %v", err)
	}
	d.equal("records of failed ticks", d.records.own.Load(), d.told.Load())
	if n := d.timer.Len(); n != 0 {
		d.bad("%d are outstanding in the end", n)
	}
}
