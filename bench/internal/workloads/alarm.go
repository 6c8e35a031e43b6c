package workloads

import (
	"context"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/cadre-go/cadre/bench/internal/pools"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/timer"
)

const afterFunc = "time.AfterFunc"

// alarms is something that goes off later.
type alarms struct {
	// create has nothing happen after d; a handle is a pointer of some type.
	create func(d time.Duration) (handle any)
	cancel func(handle any)
	// fire has fn called after d.
	fire  func(d time.Duration, fn func())
	close func()
}

type alarmsKind struct {
	name  string
	lacks string
	start func() alarms
}

func alarmKinds() []alarmsKind {
	return []alarmsKind{
		{pools.Cadre, "nothing", func() alarms {
			return startTimer(context.Background(), func() {})
		}},
		{endable, "nothing", func() alarms {
			ctx, cancel := context.WithCancel(context.Background())
			return startTimer(ctx, cancel)
		}},
		{afterFunc, "a future, ctx, an owner that closes, order of deadlines, labels, net for panic and Goexit; each callback gets a goroutine", func() alarms {
			return alarms{
				create: func(d time.Duration) any { return time.AfterFunc(d, nothing) },
				cancel: func(handle any) { handle.(*time.Timer).Stop() },
				fire:   func(d time.Duration, fn func()) { time.AfterFunc(d, fn) },
				close:  nothing,
			}
		}},
		{"benbjohnson/clock", "as time.AfterFunc", func() alarms {
			c := clock.New()
			return alarms{
				create: func(d time.Duration) any { return c.AfterFunc(d, nothing) },
				cancel: func(handle any) { handle.(*clock.Timer).Stop() },
				fire:   func(d time.Duration, fn func()) { c.AfterFunc(d, fn) },
				close:  nothing,
			}
		}},
	}
}

func startTimer(ctx context.Context, end func()) alarms {
	t, err := timer.New(timer.Config{})
	check(err)
	return alarms{
		create: func(d time.Duration) any { return t.Delay(ctx, d) },
		cancel: func(handle any) { handle.(*future.Future[time.Time]).Cancel(nil) },
		fire: func(d time.Duration, fn func()) {
			t.Delay(ctx, d).OnSettle(func(o future.Outcome[time.Time]) {
				check(o.Err)
				fn()
			})
		},
		close: func() { check(t.Close()); end() },
	}
}
