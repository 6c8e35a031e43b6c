// Package link lets the packages above future and timer reach what those keep
// unexported. Each variable is set once, by the package that owns the thing,
// before any of its functions can be called.
package link

import (
	"context"
	"time"

	"github.com/cadre-go/cadre/internal/frame"
)

// Set by package future. A completer is a *future.Completer[T].
var (
	// Bind makes an embedded zero completer pending and ties it to l. opts
	// is a []future.Option[T], or nil.
	Bind func(completer any, l *frame.Link, opts any)
	// Fail settles completer as failed, like its Fail, but leaves the
	// callbacks to the returned function, which is nil if it had settled.
	Fail func(completer any, err error) (callbacks func())
	// Watched reports whether callbacks wait for completer's outcome.
	Watched func(completer any) bool
)

// Set by package executor.
var (
	// Detach makes task, as it is posted under ctx to the executor of that
	// name, into a function that runs it: with a context and under a net like
	// those of a pool's tasks.
	Detach func(ctx context.Context, name string, task func(context.Context)) (run func())
	// Refuse checks a Post of task under ctx to the executor of that name.
	Refuse func(ctx context.Context, name string, task func(context.Context)) error
)

// Set by package timer. A timer is a *timer.Timer, a ticker a *timer.Ticker.
var (
	// OnDone has left called once, when the timer has closed and its last
	// goroutine has ended: as the last thing on that goroutine, or by whoever
	// closes a timer that never started one. OnDone is called before the timer
	// is used.
	OnDone func(timer any, left func())
	// Stop begins the timer's shutdown and does not wait. Every outcome is
	// published when it returns; the callbacks run on the timer's goroutine.
	Stop func(timer any)
	// Abort is Stop, and has the callbacks that have not run yet run on a
	// fresh goroutine of the timer's, beside one that is stuck.
	Abort func(timer any)
	// Inside reports whether goroutine id is one of the timer's.
	Inside func(timer any, id uint64) bool
	// Every is timer.Every for runs that end elsewhere: run starts one and
	// returns true, and has done called, from any goroutine, when it has
	// ended; the ticks until then are missed. Or run returns false: it could
	// not start one, and the tick is missed. run is called on the timer's
	// goroutine without a net and without labels; a second call of done does
	// nothing.
	Every func(timer any, ctx context.Context, interval time.Duration, run func(done func()) bool) (ticker any, err error)
)
