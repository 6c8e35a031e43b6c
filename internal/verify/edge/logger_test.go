package edge

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/executor/supervised"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/timer"
)

// mishaps is how many records, at least, each subject writes.
const mishaps = 500

// TestLogger has every package write many records to a log that does not take
// them: nothing hangs, is lost or goes down.
func TestLogger(t *testing.T) {
	for _, log := range []struct {
		name    string
		handler func(*testing.T) slog.Handler
	}{
		{"on a full disk", onFullDisk},
		{"on a closed file", onClosedFile},
		{"that panics", func(*testing.T) slog.Handler { return panicking{slog.DiscardHandler} }},
	} {
		for _, subject := range []struct {
			name string
			play func(*testing.T, *slog.Logger)
		}{
			{"pool", poolMishaps},
			{"timer", timerMishaps},
			{"lease", leaseMishaps},
			{"supervised", supervisedMishaps},
		} {
			t.Run(subject.name+" with a log "+log.name, func(t *testing.T) {
				attempts := &counted{Handler: log.handler(t)}
				old := slog.Default() // which is told of a log that panics
				defer slog.SetDefault(old)
				slog.SetDefault(slog.New(attempts))
				subject.play(t, slog.New(attempts))
				n := attempts.n.Load()
				t.Logf("%d records", n)
				if n == 0 {
					t.Error("nothing was logged, so nothing was tried")
				}
			})
		}
	}
}

// counted counts the records that a handler gets.
type counted struct {
	slog.Handler
	n atomic.Int64
}

func (h *counted) Enabled(context.Context, slog.Level) bool { return true }

func (h *counted) Handle(ctx context.Context, r slog.Record) error {
	h.n.Add(1)
	return h.Handler.Handle(ctx, r)
}

type panicking struct{ slog.Handler }

func (panicking) Handle(context.Context, slog.Record) error { panic("the log is broken") }

type noSpace struct{}

func (noSpace) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func onFullDisk(t *testing.T) slog.Handler {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		return slog.NewTextHandler(noSpace{}, nil)
	}
	t.Cleanup(func() { _ = f.Close() })
	_, err = f.Write([]byte("x"))
	matches(t, err, syscall.ENOSPC)
	return slog.NewTextHandler(f, nil)
}

func onClosedFile(t *testing.T) slog.Handler {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	check(t, err)
	check(t, f.Close())
	return slog.NewTextHandler(f, nil)
}

// poolMishaps has half of the tasks panic, and the shutdown of another pool
// discard as many.
func poolMishaps(t *testing.T, log *slog.Logger) {
	p, err := executor.New(executor.Config{Size: 4, QueueLimit: 2 * mishaps, Logger: log})
	check(t, err)
	for i := range 2 * mishaps {
		check(t, p.Post(context.Background(), func(context.Context) {
			if i%2 == 0 {
				panic("a mishap")
			}
		}))
	}
	check(t, p.Shutdown(bounded(t)))
	equal(t, "Panicked", p.Stats().Panicked, mishaps)
	equal(t, "Finished", p.Stats().Finished, mishaps)

	p, err = executor.New(executor.Config{Size: 1, QueueLimit: mishaps, Logger: log})
	check(t, err)
	holdUp(t, p, 1)
	for range mishaps {
		check(t, p.Post(context.Background(), func(context.Context) {}))
	}
	equal(t, "discarded", len(as[*executor.ShutdownError](t, p.Shutdown(over())).Discarded), mishaps)
	await(t, "Done", p.Done())
	equal(t, "Discarded", p.Stats().Discarded, mishaps)
}

// over is a context that has ended.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// timerMishaps has a callback of each delay panic, and a periodic function
// fail.
func timerMishaps(t *testing.T, log *slog.Logger) {
	clock := newClock()
	tm, err := timer.New(timer.Config{Clock: clock, Logger: log})
	check(t, err)
	failed := 0
	_, err = tm.Every(context.Background(), time.Millisecond, func(context.Context) error {
		failed++
		return errors.New("a mishap")
	})
	check(t, err)
	delays := make([]*future.Future[time.Time], mishaps)
	for i := range delays {
		delays[i] = tm.Delay(context.Background(), time.Duration(i+1)*time.Millisecond)
		delays[i].OnSettle(func(future.Outcome[time.Time]) { panic("a mishap") })
	}
	for range mishaps {
		clock.add(time.Millisecond)
		check(t, tm.Sync(bounded(t)))
	}
	for _, d := range delays {
		_, err := d.Await(context.Background())
		check(t, err)
	}
	equal(t, "runs that failed", failed, mishaps)
	check(t, tm.Shutdown(bounded(t)))
}

// leaseMishaps has pools fail and others close, as what a lease pool logs is
// its end.
func leaseMishaps(t *testing.T, log *slog.Logger) {
	for i := range mishaps {
		p, err := lease.New(lease.Config[int]{Slots: 1, Logger: log, Connect: func(context.Context) (int, error) {
			if i%2 == 0 {
				panic("a mishap")
			}
			return i, nil
		}})
		check(t, err)
		l, err := p.Acquire(bounded(t))
		if i%2 == 0 {
			matches(t, err, lease.ErrSchedulerFailed)
			matches(t, p.Shutdown(bounded(t)), lease.ErrSchedulerFailed)
		} else {
			check(t, err)
			check(t, l.Release())
			check(t, p.Shutdown(bounded(t)))
		}
		await(t, "Done", p.Done())
	}
}

// supervisedMishaps has half of the jobs kill their worker.
func supervisedMishaps(t *testing.T, log *slog.Logger) {
	budget := supervised.Budget{Max: mishaps, Window: time.Hour}
	cfg := crew(4, supervised.Permanent(budget, supervised.Immediate(), supervised.RetireRole))
	cfg.Backlog, cfg.OnDiagnostic, cfg.Logger = 2*mishaps, nil, log
	p, err := supervised.New(context.Background(), cfg)
	check(t, err)
	deadly, harmless := newJob(mishaps), newJob(0)
	close(deadly.gate)
	close(harmless.gate)
	var all []*ticket
	for range mishaps {
		for _, j := range []job{deadly, harmless} {
			tk, err := p.Submit(context.Background(), j)
			check(t, err)
			all = append(all, tk)
		}
	}
	for i, tk := range all {
		switch _, err := tk.Outcome.Await(bounded(t)); {
		case i%2 == 1:
			check(t, err)
		default:
			equal(t, "why a job came back", as[*supervised.ReturnedError[job]](t, err).Reason, supervised.WorkerStopped)
		}
	}
	until(t, "all are restarted", func() bool { return restarts(p) == mishaps })
	check(t, p.Shutdown(bounded(t)))
	await(t, "Done", p.Done())
	equal(t, "settled", p.Stats().Settled, 2*mishaps)
}
