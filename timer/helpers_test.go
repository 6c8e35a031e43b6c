package timer_test

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

var bg = context.Background()

// clock is a mock that moves without naps, and that checks how it is used: no
// delay may be <= 0, and no timer may be armed while its last value is unread,
// because with the mock of benbjohnson/clock that blocks the clock.
type clock struct {
	t testing.TB

	mu     sync.Mutex
	now    time.Time
	timers map[*clockTimer]time.Time // what is armed
	arms   int
	fired  int
	onArm  func() // called before a timer is armed, without the lock
	onNow  func() // called by Now, without the lock
}

func newClock(t testing.TB) *clock {
	return &clock{t: t, now: time.Unix(0, 0), timers: make(map[*clockTimer]time.Time)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	now, on := c.now, c.onNow
	c.mu.Unlock()
	if on != nil {
		on()
	}
	return now
}

func (c *clock) NewTimer(d time.Duration) timer.ClockTimer {
	t := &clockTimer{clock: c, ch: make(chan time.Time, 1)}
	t.arm(d)
	return t
}

// set moves the clock and has the timers go off whose time has come.
func (c *clock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
	for t, at := range c.timers {
		if at.After(now) {
			continue
		}
		delete(c.timers, t)
		c.fired++
		select {
		case t.ch <- now:
		default:
			c.t.Error("a timer was armed with an unread value")
		}
	}
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	now := c.now
	c.mu.Unlock()
	c.set(now.Add(d))
}

// hook sets onArm and onNow.
func (c *clock) hook(onArm, onNow func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onArm, c.onNow = onArm, onNow
}

func (c *clock) counts() (armed, arms, fired int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers), c.arms, c.fired
}

type clockTimer struct {
	clock *clock
	ch    chan time.Time
}

func (t *clockTimer) C() <-chan time.Time { return t.ch }

func (t *clockTimer) arm(d time.Duration) bool {
	c := t.clock
	if d <= 0 {
		c.t.Errorf("the clock was given a delay of %v", d)
	}
	c.mu.Lock()
	on := c.onArm
	c.mu.Unlock()
	if on != nil {
		on()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(t.ch) > 0 {
		c.t.Error("a timer is armed with an unread value")
	}
	_, active := c.timers[t]
	c.timers[t] = c.now.Add(d)
	c.arms++
	return active
}

func (t *clockTimer) Reset(d time.Duration) bool { return t.arm(d) }

func (t *clockTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	_, active := t.clock.timers[t]
	delete(t.clock.timers, t)
	return active
}

// start makes a timer that the test closes.
func start(t testing.TB, cfg timer.Config) *timer.Timer {
	t.Helper()
	tm, err := timer.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(bg, testwait.Bound)
		defer cancel()
		require.NoError(t, tm.Shutdown(ctx))
		require.NoError(t, timer.Check(tm))
	})
	return tm
}

// mocked makes a timer on a clock of its own.
func mocked(t testing.TB) (*timer.Timer, *clock) {
	t.Helper()
	c := newClock(t)
	return start(t, timer.Config{Clock: c}), c
}

// synced waits until all that is due has fired, and checks the timer.
func synced(t testing.TB, tm *timer.Timer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(bg, testwait.Bound)
	defer cancel()
	if err := tm.Sync(ctx); err != nil {
		t.Fatalf("Sync: %v; all goroutines:\n\n%s", err, testwait.Stacks())
	}
	require.NoError(t, timer.Check(tm))
}

// records is a log handler that keeps what it is given.
type records struct {
	mu   sync.Mutex
	list []logged
}

type logged struct {
	slog.Record
	ctx    context.Context
	labels string
}

func (r *records) logger() *slog.Logger                     { return slog.New(r) }
func (r *records) Enabled(context.Context, slog.Level) bool { return true }
func (r *records) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *records) WithGroup(string) slog.Handler            { return r }
func (r *records) Handle(ctx context.Context, rec slog.Record) error {
	labels := labelsHere()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, logged{rec, ctx, labels})
	return nil
}

func (r *records) all() []logged {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list
}

func (l logged) attr(key string) any {
	var v any
	l.Attrs(func(a slog.Attr) bool {
		if a.Key == key {
			v = a.Value.Any()
		}
		return true
	})
	return v
}

// useDefaultLogger has slog.Default() be r during the test.
func useDefaultLogger(t *testing.T, r *records) {
	old := slog.Default()
	slog.SetDefault(r.logger())
	t.Cleanup(func() { slog.SetDefault(old) })
}

var (
	probes      sync.Mutex
	labelsLine  = regexp.MustCompile(`(?m)^# labels: (.*)$`)
	probedStack = []byte("timer_test.labelsHere")
)

// labelsHere returns the pprof labels of the calling goroutine, as the profile
// shows them; "" if there are none.
func labelsHere() string {
	probes.Lock() // one goroutine at a time has this function on its stack's top
	defer probes.Unlock()
	var buf bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&buf, 1)
	for _, block := range bytes.Split(buf.Bytes(), []byte("\n\n")) {
		if bytes.Contains(block, probedStack) && bytes.Contains(block, []byte("pprof.(*Profile).WriteTo")) {
			if m := labelsLine.FindSubmatch(block); m != nil {
				return string(m[1])
			}
			return ""
		}
	}
	panic("the calling goroutine is not in the profile")
}

func labeled(ctx context.Context, value string) context.Context {
	return pprof.WithLabels(ctx, pprof.Labels("who", value))
}

func labels(value string) string { return `{"who":"` + value + `"}` }

// goroutines returns how many goroutines of timers there are.
func goroutines() int {
	return bytes.Count(testwait.Stacks(), []byte("created by github.com/cadre-go/cadre/timer.(*core)."))
}

// gone waits until there are n goroutines of timers.
func gone(t testing.TB, n int) {
	t.Helper()
	testwait.Until(t, func() bool { return goroutines() == n })
}

// giveWay lets the other goroutines go on for a while. No result may depend on
// how far they get: it only makes it likely that a fault shows.
func giveWay() {
	for range 200 {
		runtime.Gosched()
	}
}

func collected(t testing.TB, cond func() bool) {
	t.Helper()
	testwait.Until(t, func() bool { runtime.GC(); return cond() })
}

func containsLife(stack []byte) bool {
	return bytes.Contains(stack, []byte("timer.(*core).life("))
}
