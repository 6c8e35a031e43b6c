package edge

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/executor/supervised"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/timer"
)

// stuck is a handler in which every record stands still until gate is closed.
type stuck struct {
	slog.Handler
	gate chan struct{}
	in   atomic.Int64 // records that have come
}

func newStuck() *stuck { return &stuck{Handler: slog.DiscardHandler, gate: make(chan struct{})} }

func (h *stuck) Enabled(context.Context, slog.Level) bool { return true }

func (h *stuck) Handle(context.Context, slog.Record) error {
	h.in.Add(1)
	<-h.gate
	return nil
}

// came waits until n records stand still.
func (h *stuck) came(t *testing.T, n int64) {
	t.Helper()
	until(t, "a record is being written", func() bool { return h.in.Load() >= n })
}

// TestSlowLogger has a log stand still. What has to write a record stands still
// with it, and nothing else.
func TestSlowLogger(t *testing.T) {
	t.Run("pool", poolBehindLog)
	t.Run("timer", timerBehindLog)
	t.Run("lease", leaseBehindLog)
	t.Run("supervised", supervisedBehindLog)
}

func poolBehindLog(t *testing.T) {
	log := newStuck()
	p, err := executor.New(executor.Config{Size: 2, QueueLimit: mishaps, Logger: slog.New(log)})
	check(t, err)
	for range 2 {
		check(t, p.Post(context.Background(), func(context.Context) { panic("a mishap") }))
	}
	log.came(t, 2)                                    // both workers
	waiting := make([]*future.Future[int], mishaps+2) // those that panicked have given their places back
	for i := range waiting {
		waiting[i] = executor.Submit(context.Background(), p, func(context.Context) (int, error) { return i, nil })
	}
	matches(t, p.Post(context.Background(), func(context.Context) {}), executor.ErrQueueFull)
	shut := make(chan error, 1)
	go func() { shut <- p.Shutdown(over()) }() // its own record is the last thing that it does
	for _, f := range waiting {
		_, err := f.Await(bounded(t))
		matches(t, err, executor.ErrClosed)
	}
	close(log.gate)
	equal(t, "discarded", len(as[*executor.ShutdownError](t, await(t, "Shutdown", shut)).Discarded), mishaps+2)
	await(t, "Done", p.Done())
	s := p.Stats()
	equal(t, "Panicked", s.Panicked, 2)
	equal(t, "Discarded", s.Discarded, mishaps+2)
	equal(t, "Accepted", s.Accepted, mishaps+4)
}

func timerBehindLog(t *testing.T) {
	log := newStuck()
	tm, err := timer.New(timer.Config{Logger: slog.New(log)})
	check(t, err)
	told := make(chan struct{})
	tm.Delay(context.Background(), time.Hour).OnSettle(func(future.Outcome[time.Time]) { close(told) })
	_, err = tm.Every(context.Background(), time.Millisecond, func(context.Context) error { panic("a mishap") })
	check(t, err)
	log.came(t, 1)
	d := tm.Delay(context.Background(), time.Hour)
	equal(t, "Cancel", d.Cancel(nil), true)
	equal(t, "outstanding", tm.Len(), 2)
	as[*future.InterruptedError](t, tm.Shutdown(over()))
	await(t, "a callback behind the one that stands still", told)
	equal(t, "outstanding", tm.Len(), 0)
	close(log.gate)
	await(t, "Done", tm.Done())
}

func leaseBehindLog(t *testing.T) {
	log := newStuck()
	p, err := lease.New(lease.Config[int]{
		Slots: 2, Logger: slog.New(log),
		Connect: func(context.Context) (int, error) { return 1, nil },
	})
	check(t, err)
	l, err := p.Acquire(context.Background())
	check(t, err)
	as[*lease.ShutdownError](t, p.Shutdown(over()))
	log.came(t, 1)
	_, err = p.Acquire(bounded(t))
	matches(t, err, lease.ErrClosed)
	check(t, l.Release())
	close(log.gate)
	check(t, p.Shutdown(bounded(t)))
	await(t, "Done", p.Done())
}

func supervisedBehindLog(t *testing.T) {
	log := newStuck()
	budget := supervised.Budget{Max: mishaps, Window: time.Hour}
	cfg := crew(2, supervised.Permanent(budget, supervised.Immediate(), supervised.RetireRole))
	cfg.Backlog, cfg.OnDiagnostic, cfg.Logger = mishaps, nil, slog.New(log)
	p, err := supervised.New(context.Background(), cfg)
	check(t, err)
	deadly, harmless := newJob(1), newJob(0)
	close(deadly.gate)
	close(harmless.gate)
	back, err := p.Submit(context.Background(), deadly)
	check(t, err)
	log.came(t, 1)
	for range mishaps {
		tk, err := p.Submit(context.Background(), harmless)
		check(t, err)
		_, err = tk.Outcome.Await(bounded(t))
		check(t, err)
	}
	as[*supervised.ReturnedError[job]](t, awaitErr(t, back))
	check(t, p.Shutdown(bounded(t)))
	select {
	case <-p.Done():
		t.Fatal("Done before what is logged")
	default:
	}
	close(log.gate)
	await(t, "Done", p.Done())
}

func awaitErr(t *testing.T, tk *ticket) error {
	t.Helper()
	_, err := tk.Outcome.Await(bounded(t))
	return err
}
