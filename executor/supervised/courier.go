package supervised

import (
	"context"
	"log/slog"
	"runtime/pprof"

	"github.com/cadre-go/cadre/diagnostics"
)

// courier runs foreign code that nobody waits for (callbacks of returned jobs,
// Discard, the sink of diagnostics) one call at a time, in the order in which
// it was called for, on a goroutine that exists while there is some. So none of
// it can stop a worker, end a caller's goroutine, or change the order of
// things.
type courier struct {
	// Under the step lock.
	letters  []letter
	carrying bool // a goroutine is at it
}

// letter is one call of foreign code.
type letter struct {
	ctx  context.Context // that it concerns; nil for none
	what string          // it is, for the log
	run  func()
}

// postLocked has l run after all that were posted before.
func (c *core[J, R]) postLocked(l letter) {
	if l.ctx == nil {
		l.ctx = context.Background()
	}
	if !c.carrying && !c.enter() {
		// The pool has ended, with all its goroutines: whoever comes late
		// runs it himself.
		c.errands = append(c.errands, errand[J, R]{letter: l})
		return
	}
	c.letters = append(c.letters, l)
	if !c.carrying {
		c.carrying = true
		go c.carry()
	}
}

// carry runs letters until there is none. One that calls runtime.Goexit ends
// the goroutine, and another takes its place.
func (c *core[J, R]) carry() {
	leave := c.register()
	pprof.SetGoroutineLabels(c.labels)
	done := false
	defer func() {
		if !done {
			c.enter()
			go c.carry()
		}
		leave()
	}()
	for {
		c.mu.Lock()
		if len(c.letters) == 0 {
			c.letters = nil
			c.carrying = false
			c.mu.Unlock()
			break
		}
		l := c.letters[0]
		c.letters[0] = letter{}
		c.letters = c.letters[1:]
		c.mu.Unlock()
		c.carryOne(l)
	}
	done = true
}

func (c *core[J, R]) carryOne(l letter) {
	defer pprof.SetGoroutineLabels(c.labels)
	c.netted(l.ctx, l.what, func() {
		pprof.SetGoroutineLabels(labelsOf(l.ctx, c.labels)) // asks the submitter's context
		l.run()
	})
}

// discardLocked has a worker that never ran let go of what it has.
func (c *core[J, R]) discardLocked(w Worker[J, R], cause error) {
	if d, ok := w.(Discarder); ok {
		c.postLocked(letter{what: "Discard", run: func() { d.Discard(cause) }})
	}
}

// diagnoseLocked has the sink told.
func (c *core[J, R]) diagnoseLocked(d diagnosed) {
	c.postLocked(letter{ctx: d.ctx, what: "OnDiagnostic", run: func() { c.tell(d) }})
}

// diagnosed is a diagnostic and the context of the job that it is about.
type diagnosed struct {
	Diagnostic
	ctx context.Context
}

func (c *core[J, R]) tell(d diagnosed) {
	if sink := c.cfg.OnDiagnostic; sink != nil {
		returned := false
		defer func() {
			if !returned {
				c.diagnosticPanic.Add(1) // and the net reports it
			}
		}()
		sink(d.Diagnostic)
		returned = true
		return
	}
	ctx := d.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	ctx = d.Context.Install(ctx)
	attrs := []slog.Attr{slog.String("pool", c.cfg.Name), slog.String("kind", d.Kind.String())}
	if d.Role != "" {
		attrs = append(attrs, slog.String("role", string(d.Role)), slog.Uint64("incarnation", uint64(d.Incarnation)))
	}
	if d.Job != 0 {
		attrs = append(attrs, slog.Uint64("job", uint64(d.Job)))
	}
	if d.Cause != nil {
		attrs = append(attrs, slog.Any("error", d.Cause))
	}
	if stack := stackOf(d.Cause); stack != "" {
		attrs = append(attrs, slog.String("stack", stack))
	}
	if d.Severity == Fault {
		c.log.Error(ctx, "supervised: "+d.Kind.String(), attrs...)
	} else {
		c.log.Info(ctx, "supervised: "+d.Kind.String(), attrs...)
	}
}

// snapshot is what a diagnostic about o carries.
func (o *order[J, R]) snapshot() diagnostics.Snapshot {
	if o == nil {
		return diagnostics.Snapshot{}
	}
	return o.diagnostics
}
