package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/pprof"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/diagnostics"
)

// patience bounds every wait for something that has to come.
const patience = 60 * time.Second

// A desk is one subject, the clients that load it, and the book on both.
type desk struct {
	*book
	subject
	clients int
	pace    time.Duration // between two operations of a client, on average
}

// A subject is what a desk is about.
type subject interface {
	// play is one operation of a client. It returns when it has ended.
	play(*player)
	// watch checks what holds at every instant and returns what is queued.
	watch() int
	// rest is called when no client plays. It waits until all that they began
	// has ended, and balances the books.
	rest(context.Context)
	// end ends the subject, and balances the books for the last time.
	end(context.Context)
}

// A player is one of a desk's clients, on a goroutine of its own.
type player struct {
	context.Context
	*rand.Rand
	number int
	ops    int // played by this client, so far
}

// chance is true once in n times.
func (c *player) chance(n int) bool { return c.IntN(n) == 0 }

// eventually waits until something holds that is about to.
func eventually(ctx context.Context, holds func() bool) bool {
	for !holds() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Millisecond):
		}
	}
	return true
}

// job numbers what is asked for, across all desks.
var jobs atomic.Int64

type jobKey struct{}

// stamped marks ctx in every way that a job's context can be told from
// another's: a value, an attribute, a label.
func stamped(ctx context.Context) (context.Context, int64) {
	id := jobs.Add(1)
	ctx = context.WithValue(ctx, jobKey{}, id)
	ctx = diagnostics.With(ctx, slog.Int64("job", id))
	return pprof.WithLabels(ctx, pprof.Labels("job", strconv.FormatInt(id, 10))), id
}

// sound checks that ctx is that of job id, and nobody else's.
func (b *book) sound(ctx context.Context, id int64) {
	if got, _ := ctx.Value(jobKey{}).(int64); got != id {
		b.bad("job %d runs with the values of job %d", id, got)
	}
	if v, ok := diagnostics.Value(ctx, "job"); !ok || v.Int64() != id {
		b.bad("job %d runs with the attributes of job %v", id, v)
	}
	if _, ok := diagnostics.Value(ctx, "stray"); ok {
		b.bad("job %d finds an attribute that another left behind", id)
	}
	if l, _ := pprof.Label(ctx, "job"); l != fmt.Sprint(id) {
		b.bad("job %d runs with the label %q", id, l)
	}
}

// stray leaves an attribute and a label behind.
func stray(ctx context.Context) {
	diagnostics.Set(ctx, slog.Bool("stray", true))
	pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("stray", "yes")))
}
