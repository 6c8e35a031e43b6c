package timer_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
	"github.com/cadre-go/cadre/timer/timertest"
)

// The public faults that a timer of this kind has had. Those on the mock clock
// use the one of benbjohnson/clock, naps and all: the names of these begin with
// TestMock, so that they can be repeated by themselves.

func mockTimer(t testing.TB, cfg timer.Config) (*timer.Timer, *timertest.Mock) {
	t.Helper()
	m := timertest.NewMock()
	cfg.Clock = m
	return start(t, cfg), m
}

func TestCase(t *testing.T) {
	t.Run("B16 TIMER-5 nothing depends on the results of Stop and Reset", resetLoop)
	t.Run("B16 TIMER-5 the same with the channels of older releases", func(t *testing.T) {
		// A process of its own: the setting is read when a timer is made, and
		// no test in a bubble can have it.
		cmd := exec.Command(os.Args[0], "-test.run=^TestCase$/^B16_TIMER-5_nothing", "-test.timeout=60s")
		cmd.Env = append(os.Environ(), "GODEBUG=asynctimerchan=1", "GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "PASS")
	})
	t.Run("B22 TIMER-4 canceled delays hold nothing", func(t *testing.T) {
		tm := start(t, timer.Config{})
		type payload [1024]byte
		const n, watched = 20_000, 64
		var held [watched]weak.Pointer[payload]
		for i := range n {
			p := new(payload)
			if i < watched {
				held[i] = weak.Make(p)
			}
			f := tm.Delay(bg, time.Hour)
			f.OnSettle(func(settled) { p[0]++ })
			require.True(t, f.Cancel(nil))
			require.Zero(t, tm.Len())
		}
		collected(t, func() bool {
			for _, w := range held {
				if w.Value() != nil {
					return false
				}
			}
			return true
		})
	})
	t.Run("B22 TIMER-4 a canceled delay that is kept does not keep its context", func(t *testing.T) {
		type key struct{}
		tm, c := mocked(t)
		p := new([1024]byte)
		w := weak.Make(p)
		ctx := context.WithValue(bg, key{}, p)
		canceled, fired, closed := tm.Delay(ctx, time.Hour), tm.Delay(ctx, 1), tm.Delay(ctx, time.Hour)
		p, ctx = nil, nil
		canceled.Cancel(nil)
		c.add(1)
		synced(t, tm)
		require.NoError(t, tm.Close())
		collected(t, func() bool { return w.Value() == nil })
		runtime.KeepAlive([]any{canceled, fired, closed, tm})
	})
	t.Run("B27 TIMER-4 what Cancel returns is the truth", func(t *testing.T) {
		tm := start(t, timer.Config{})
		for range 2000 {
			var ran atomic.Bool
			f := tm.Delay(bg, time.Duration(rand.IntN(300))*time.Microsecond)
			f.OnSettle(func(o settled) {
				if o.Err == nil {
					ran.Store(true)
				}
			})
			canceled := make(chan bool)
			go func() { canceled <- f.Cancel(nil) }()
			won := testwait.Value(t, canceled)
			testwait.Done(t, f.Done())
			o := futuretest.RequireSettled(t, f)
			require.Equal(t, won, o.Canceled())
			if won {
				require.False(t, ran.Load())
			}
		}
		require.Zero(t, tm.Len())
	})
}

// resetLoop re-arms the goroutine earlier and later while it fires.
func resetLoop(t *testing.T) {
	tm := start(t, timer.Config{})
	rounds := 150
	if os.Getenv("CADRE_STRESS") != "" {
		rounds = 2000
	}
	for i := range rounds {
		d := time.Duration(rand.IntN(2000)) * time.Microsecond
		began := time.Now()
		f := tm.Delay(bg, d)
		var ran atomic.Int32
		f.OnSettle(func(settled) { ran.Add(1) })
		var early *future.Future[time.Time]
		var wg sync.WaitGroup
		wg.Go(func() { early = tm.Delay(bg, d/2) })
		wg.Wait()
		if i%2 == 0 {
			early.Cancel(nil)
		}
		at := futuretest.Await(t, f)
		require.GreaterOrEqual(t, at.Sub(began), d, "early")
		testwait.Until(t, func() bool { return ran.Load() == 1 })
		testwait.Done(t, early.Done())
	}
}

func TestMockCase(t *testing.T) {
	t.Run("B20 TIMER-4 each delay counts once, whichever way it goes", func(t *testing.T) {
		tm, m := mockTimer(t, timer.Config{Limit: 11})
		gate, entered := make(chan struct{}), make(chan struct{})
		var settles atomic.Int32
		var fs []*future.Future[time.Time]
		for i := range 11 {
			f := tm.Delay(bg, time.Second)
			f.OnSettle(func(settled) {
				settles.Add(1)
				if i == 0 {
					close(entered)
					<-gate
				}
			})
			fs = append(fs, f)
		}
		m.Add(time.Second)
		testwait.Done(t, entered)
		for _, f := range fs[1:] {
			require.True(t, f.Cancel(nil))
		}
		close(gate)
		synced(t, tm)
		require.Zero(t, tm.Len())
		for range 11 {
			futuretest.RequirePending(t, tm.Delay(bg, time.Second))
		}
		require.ErrorIs(t, futuretest.RequireSettled(t, tm.Delay(bg, time.Second)).Err, timer.ErrLimit)
		require.Equal(t, int32(11), settles.Load())
	})
	t.Run("B24 TIMER-9 a run that fails does not end the ticks", func(t *testing.T) {
		var log records
		tm, m := mockTimer(t, timer.Config{Logger: log.logger()})
		runs := 0
		k := every(t, tm, bg, func(context.Context) error {
			switch runs++; runs {
			case 2:
				panic("second")
			case 3:
				return errors.New("third")
			case 4:
				runtime.Goexit()
			}
			return nil
		})
		for range 5 {
			m.Add(time.Second)
			synced(t, tm)
		}
		require.Equal(t, 5, runs)
		require.Len(t, log.all(), 3)
		requireTicks(t, k, 5, 0)
	})
	t.Run("B26 TIMER-9 a slow run is not overlapped", func(t *testing.T) {
		gone(t, 0)
		tm, m := mockTimer(t, timer.Config{})
		gate, entered := make(chan struct{}), make(chan struct{}, 99)
		k := every(t, tm, bg, func(context.Context) error { entered <- struct{}{}; <-gate; return nil })
		m.Add(time.Second)
		testwait.Done(t, entered)
		for range 59 {
			m.Add(time.Second)
		}
		require.Equal(t, 1, goroutines())
		require.Empty(t, entered)
		requireTicks(t, k, 1, 59)
		close(gate)
		synced(t, tm)
		requireTicks(t, k, 1, 59)
		m.Add(time.Second)
		synced(t, tm)
		requireTicks(t, k, 2, 59)
	})
	t.Run("B28 TIMER-5 no order of locks between delay and timer", func(t *testing.T) {
		tm, m := mockTimer(t, timer.Config{})
		const workers, rounds = 8, 200
		var shared [32]atomic.Pointer[future.Future[time.Time]]
		var made, settles atomic.Int64
		var delay func(depth int)
		delay = func(depth int) {
			made.Add(1)
			f := tm.Delay(bg, time.Duration(rand.IntN(5)+1)*time.Millisecond)
			f.OnSettle(func(settled) {
				settles.Add(1)
				if depth > 0 {
					delay(depth - 1)
				}
			})
			shared[rand.IntN(len(shared))].Store(f)
		}
		stop := make(chan struct{})
		var mover, wg sync.WaitGroup
		mover.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					m.Add(time.Millisecond)
				}
			}
		})
		for range workers {
			wg.Go(func() {
				for range rounds {
					delay(2)
					if f := shared[rand.IntN(len(shared))].Load(); f != nil {
						f.Cancel(nil)
					}
				}
			})
		}
		testwait.Call(t, wg.Wait)
		close(stop)
		testwait.Call(t, mover.Wait)
		timertest.Advance(t, m, tm, time.Minute)
		require.Zero(t, tm.Len())
		require.Equal(t, made.Load(), settles.Load(), "each settles once")
	})
	t.Run("B33 TIMER-4 the delay that loses a race leaves the timer", func(t *testing.T) {
		tm, m := mockTimer(t, timer.Config{})
		boom := errors.New("boom")
		for i := range 300 {
			c := future.NewCompleter[time.Time]()
			r := future.Race(bg, c.Future(), tm.Delay(bg, time.Hour))
			require.Equal(t, 1, tm.Len())
			switch i % 3 {
			case 0:
				c.Complete(at(0))
				futuretest.Await(t, r)
			case 1:
				c.Fail(boom)
				futuretest.RequireError(t, r, boom)
			case 2:
				r.Cancel(nil)
			}
			require.Zero(t, tm.Len())
		}
		m.Add(2 * time.Hour)
		synced(t, tm)
		require.Zero(t, tm.Len())
	})
	t.Run("B43 DIAG-1 a delay and a ticker have the context of their own call", func(t *testing.T) {
		var log records
		tm, m := mockTimer(t, timer.Config{Logger: log.logger()})
		for _, tenant := range []string{"A", "B"} {
			ctx := diagnostics.With(bg, slog.String("tenant", tenant))
			tm.Delay(ctx, time.Second).OnSettle(func(settled) { panic(tenant) })
			every(t, tm, ctx, func(context.Context) error { return errors.New(tenant) })
		}
		m.Add(time.Second)
		synced(t, tm)
		var got strings.Builder
		for _, rec := range log.all() {
			v, _ := diagnostics.Value(rec.ctx, "tenant")
			got.WriteString(v.String())
		}
		require.Equal(t, "AABB", got.String())
	})
	t.Run("B77 TIMER-8 chained delays without a sleep", func(t *testing.T) {
		tm, m := mockTimer(t, timer.Config{})
		var fired []time.Duration
		var chain func(settled)
		chain = func(o settled) {
			fired = append(fired, o.Value.Sub(at(0)))
			if len(fired) < 10 {
				tm.Delay(bg, time.Second).OnSettle(chain)
			}
		}
		tm.Delay(bg, time.Second).OnSettle(chain)
		timertest.Advance(t, m, tm, 10*time.Second)
		require.Len(t, fired, 10)
		for i, d := range fired {
			require.Equal(t, time.Duration(i+1)*time.Second, d)
		}
	})
	t.Run("TIMER-5 TIMER-8 the mock fires while a callback holds its value unread", func(t *testing.T) {
		tm, m := mockTimer(t, timer.Config{})
		gate, entered := make(chan struct{}), make(chan struct{})
		tm.Delay(bg, time.Second).OnSettle(func(settled) {
			close(entered)
			<-gate
			m.Add(time.Second) // from the timer's own goroutine
			m.Add(time.Second)
		})
		tm.Delay(bg, 2*time.Second)
		last := tm.Delay(bg, 5*time.Second)
		m.Add(time.Second)
		testwait.Done(t, entered)
		tm.Delay(bg, time.Millisecond)
		m.Add(time.Second)
		m.Add(time.Second)
		close(gate)
		synced(t, tm)
		futuretest.Await(t, last)
		require.Zero(t, tm.Len())
	})
}
