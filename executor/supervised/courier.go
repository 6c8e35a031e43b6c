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
//
// When the pool has ended, with all its goroutines, who comes late has such a
// goroutine made and waits for it; who comes while there is one leaves his
// letter to it, and so waits neither for another nor for itself.
type courier struct {
	// Under the step lock.
	letters  []letter
	carrying bool // a goroutine is at it, or about to be
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
	c.letters = append(c.letters, l)
	if c.carrying {
		return
	}
	c.carrying = true
	if c.enter() {
		go c.carry(c.leave)
	} else {
		c.errands = append(c.errands, errand[J, R]{}) // for carryLate
	}
}

// carryLate has the letters of a pool that has ended carried.
func (c *core[J, R]) carryLate() {
	carried := make(chan struct{})
	go c.carry(func() { close(carried) })
	<-carried
}

// carry runs letters until there is none, and then ended. A letter that calls
// runtime.Goexit ends the goroutine, and another takes its place.
func (c *core[J, R]) carry(ended func()) {
	forget := c.know()
	pprof.SetGoroutineLabels(c.labels)
	done := false
	defer func() {
		forget()
		if done {
			ended()
		} else {
			go c.carry(ended)
		}
	}()
	for {
		l, ok := c.nextLetter()
		if !ok {
			break
		}
		c.carryOne(l)
	}
	done = true
}

func (c *core[J, R]) nextLetter() (l letter, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.letters) == 0 {
		c.letters = nil
		c.carrying = false
		return letter{}, false
	}
	l = c.letters[0]
	c.letters[0] = letter{}
	c.letters = c.letters[1:]
	return l, true
}

func (c *core[J, R]) carryOne(l letter) {
	defer pprof.SetGoroutineLabels(c.labels)
	c.netted(l.ctx, l.what, func() {
		defer l.run() // even if the submitter's context calls runtime.Goexit
		wearLabels(l.ctx, c.labels)
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
	stack := ""
	defer func() { c.record(d, stack) }() // even if the error calls runtime.Goexit
	stack = stackOf(d.Cause)
}

// record writes a diagnostic to the log.
func (c *core[J, R]) record(d diagnosed, stack string) {
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
	if stack != "" {
		attrs = append(attrs, slog.String("stack", stack))
	}
	ctx := d.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	ctx = d.Context.Install(ctx)
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
