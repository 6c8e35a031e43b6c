package lease_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

// ways are how foreign code ends whoever calls it, and what the failure says of
// it.
var ways = map[string]struct {
	end  func()
	said any
}{
	"panic":  {func() { panic("boom") }, "boom"},
	"Goexit": {runtime.Goexit, future.ErrGoexit},
}

func TestFailure(t *testing.T) {
	requireFailed := func(t *testing.T, err error, where string) {
		t.Helper()
		var failure *lease.SchedulerFailedError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, where, failure.Where)
		require.NotEmpty(t, failure.Stack)
		require.NotErrorIs(t, err, lease.ErrClosed)
	}
	for _, point := range []string{"acquire", "commit", "sweep", "deregister"} {
		for what, way := range ways {
			t.Run(name("LEASE-64 LEASE-76 %s on the owner at %s", what, point), func(t *testing.T) {
				armed := make(chan struct{})
				var log lockedBuffer
				p, m := testPool(t, config{Logger: logTo(&log)}, true, func(at string) {
					select {
					case <-armed:
						if at == point {
							way.end()
						}
					default:
					}
				})
				h := p.Handle()
				l := acquire(t, h)
				queued := waiting(t, p, bg, p)
				close(armed)
				switch point {
				case "acquire":
					failed(t, begin(bg, p), lease.ErrSchedulerFailed)
				case "deregister":
					require.NoError(t, p.Handle().Close())
				case "sweep":
					p.Hint()
				case "commit":
					release(t, l)
				}
				requireFailed(t, failed(t, queued, lease.ErrSchedulerFailed), "scheduler")
				testwait.Done(t, p.Done())
				testwait.Until(t, func() bool { return owners() == 0 })
				failed(t, begin(bg, p), lease.ErrSchedulerFailed)
				requireFailed(t, p.Close(), "scheduler")
				require.Equal(t, p.Close(), p.Err())
				require.Equal(t, way.said, p.Err().(*lease.SchedulerFailedError).Panic)
				if point != "commit" {
					release(t, l)
				}
				require.NoError(t, p.Check())
				require.Equal(t, 1, p.Stats().Free)
				require.Equal(t, "Failed", p.Stats().State)
				require.Equal(t, uint64(1), p.Stats().Failures)
				require.Contains(t, log.String(), "lease: pool failed")
				require.Contains(t, log.String(), name("pool_id=%d", p.Stats().ID))
				m.requireOnce(t)
				requireConserved(t, p)
			})
		}
	}
	t.Run("LEASE-64 a panic in a hook", func(t *testing.T) {
		bad := false
		for _, c := range []struct {
			hook string
			cfg  config
			use  func(t *testing.T, p *pool)
		}{
			{"Connect", config{Connect: func(context.Context) (*thing, error) { panic("boom") }}, func(t *testing.T, p *pool) {
				_, err := p.Acquire(bg)
				requireFailed(t, err, "Connect")
			}},
			{"Validate", config{Validate: func(context.Context, *thing) error { panic("boom") }}, func(t *testing.T, p *pool) {
				release(t, acquire(t, p))
				_, err := p.Acquire(bg)
				requireFailed(t, err, "Validate")
			}},
			{"Dispose", config{Dispose: func(*thing) { panic("boom") }}, func(t *testing.T, p *pool) {
				require.NoError(t, acquire(t, p).Discard(errDirty))
				_, err := p.Acquire(bg)
				requireFailed(t, err, "Dispose")
			}},
			{"Dispose", config{Dispose: func(*thing) { panic("boom") }}, func(t *testing.T, p *pool) {
				require.NoError(t, acquire(t, p).Discard(errDirty))
				_, err := p.Sweep(bg)
				requireFailed(t, err, "Dispose")
			}},
			{"KeepOn", config{KeepOn: func(error) bool { panic("boom") }}, func(t *testing.T, p *pool) {
				err := p.Do(bg, func(context.Context, *thing) error { return errCause })
				require.ErrorIs(t, err, errCause, "the operation's own error")
			}},
			{"OnEvent", config{OnEvent: func(lease.Event) { panic("boom") }}, func(t *testing.T, p *pool) {
				require.NoError(t, acquire(t, p).Discard(errDirty))
			}},
			{"Clock", config{Clock: clockFunc(func() time.Time {
				if bad {
					panic("boom")
				}
				return time.Time{}
			})}, func(t *testing.T, p *pool) {
				bad = true
				defer func() { bad = false }()
				_, err := p.Acquire(bg)
				require.ErrorIs(t, err, lease.ErrSchedulerFailed)
			}},
			{"Clock", config{AcquireTimeout: time.Second, Clock: clockFunc(time.Now)}, func(t *testing.T, p *pool) {
				l := acquire(t, p)
				defer func() { _ = l.Release() }()
				_, err := p.Acquire(bg)
				require.ErrorIs(t, err, lease.ErrSchedulerFailed)
			}},
		} {
			p, _ := newPool(t, c.cfg)
			c.use(t, p)
			testwait.Done(t, p.Done())
			requireFailed(t, p.Close(), c.hook)
			failed(t, begin(bg, p), lease.ErrSchedulerFailed)
			require.Equal(t, 1, p.Stats().Free, c.hook)
			require.NoError(t, p.Check())
		}
	})
	t.Run("LEASE-64 a Goexit in a hook on the caller's goroutine is no failure", func(t *testing.T) {
		exit := true
		hook := func() {
			if exit {
				runtime.Goexit()
			}
		}
		m := &maker{}
		for _, c := range []struct {
			hook string
			cfg  config
		}{
			{"Connect", config{Connect: func(ctx context.Context) (*thing, error) { hook(); return m.connect(ctx) }}},
			{"Validate", config{Validate: func(context.Context, *thing) error { hook(); return nil }}},
			{"Dispose", config{Dispose: func(x *thing) { m.dispose(x); hook() }}},
		} {
			p, _ := newPool(t, c.cfg)
			if exit = false; c.hook != "Connect" {
				l := acquire(t, p)
				if c.hook == "Dispose" {
					l.MarkDirty(errDirty)
				}
				release(t, l)
			}
			exit = true
			require.True(t, goexit(t, func() { _, _ = p.Acquire(bg) }), c.hook)
			exit = false
			require.Equal(t, uint64(1), p.Stats().Exited)
			require.NoError(t, p.Check())
			l := acquire(t, p)
			if c.hook == "Validate" {
				require.Equal(t, uint64(2), p.Stats().Connects, "what was being validated is condemned")
			}
			release(t, l)
			atRest(t, p)
			require.NoError(t, p.Shutdown(bg))
		}
	})
	t.Run("LEASE-65 hooks that panic and exit on the way down", func(t *testing.T) {
		for what, way := range ways {
			disposed := 0
			p, _ := newPool(t, config{Slots: 3, Dispose: func(*thing) { disposed++; way.end() }, OnEvent: func(lease.Event) { way.end() }})
			a, b, c := acquire(t, p), acquire(t, p), acquire(t, p)
			release(t, a)
			release(t, b)
			release(t, c)
			err := p.Close()
			require.Equal(t, 3, disposed, what)
			if what == "panic" {
				requireFailed(t, err, "Dispose")
			}
			require.NoError(t, p.Check())
		}
	})
	t.Run("LEASE-66 a failure before the end wins over a close, one after it changes nothing", func(t *testing.T) {
		p, _ := newPool(t, config{Dispose: func(*thing) { panic("boom") }})
		release(t, acquire(t, p))
		requireFailed(t, p.Close(), "Dispose")

		var log lockedBuffer
		p, _ = newPool(t, config{Logger: logTo(&log), Dispose: func(*thing) { panic("boom") }})
		l := acquire(t, p)
		require.NoError(t, p.Close())
		release(t, l)
		require.NoError(t, p.Close())
		require.ErrorIs(t, p.Err(), lease.ErrClosed)
		require.Equal(t, uint64(1), p.Stats().Failures)
		require.Contains(t, log.String(), "a hook panicked")
	})
	t.Run("LEASE-65 LEASE-60 the mailbox is dead before anybody is told", func(t *testing.T) {
		var q atomic.Pointer[pool]
		var alive atomic.Int32
		p, _ := testPool(t, config{}, false, func(point string) {
			if p := q.Load(); p != nil && point == "reject" && !p.BoxDead() {
				alive.Add(1)
			}
		})
		l := acquire(t, p)
		ch := waiting(t, p, bg, p)
		q.Store(p)
		require.NoError(t, p.Close())
		failed(t, ch, lease.ErrClosed)
		require.Zero(t, alive.Load())
		release(t, l)
	})
	t.Run("LEASE-65 who is told of the failure finds the pool failed", func(t *testing.T) {
		armed := make(chan struct{})
		p, _ := testPool(t, config{}, true, func(at string) {
			select {
			case <-armed:
				if at == "sweep" {
					panic("boom")
				}
			default:
			}
		})
		l := acquire(t, p)
		again := make(chan error, 1)
		go func() {
			_, err := p.Acquire(bg)
			if err != nil {
				_, err = p.Acquire(bg)
			}
			again <- err
		}()
		testwait.Until(t, func() bool { return p.Stats().Waiters == 1 })
		close(armed)
		p.Hint()
		require.ErrorIs(t, testwait.Value(t, again), lease.ErrSchedulerFailed)
		testwait.Done(t, p.Done())
		_ = l
	})
}

// exitClock is a clock that can be made to end whoever reads it.
type exitClock struct {
	after atomic.Int32 // reads until then; negative: never
}

func (c *exitClock) Now() time.Time {
	if c.after.Add(-1) == 0 {
		runtime.Goexit()
	}
	return time.Time{}
}

func (c *exitClock) NewTimer(time.Duration) timer.ClockTimer { return eagerTimer(nil) }

func TestExitingClock(t *testing.T) {
	t.Run("LEASE-23 LEASE-64 a clock that exits loses neither permit nor resource", func(t *testing.T) {
		for reads := int32(1); reads <= 8; reads++ {
			for _, slow := range []bool{false, true} {
				clock := &exitClock{}
				p, m := testPool(t, config{
					Clock: clock, MaxIdle: time.Hour, AcquireTimeout: time.Hour,
					Validate: func(context.Context, *thing) error { return nil },
				}, slow, nil)
				for range 2 { // connecting and validating
					clock.after.Store(reads)
					var l leased
					goexit(t, func() {
						l, _ = p.Acquire(bg)
						_ = l.Release()
					})
					clock.after.Store(-1)
					_ = l.Release()
					atRest(t, p)
					require.Equal(t, 1, p.Stats().Free)
				}
				require.NoError(t, p.Shutdown(bg))
				m.requireOnce(t)
			}
		}
	})
}
