package supervised

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/report"
	"github.com/cadre-go/cadre/timer"
)

type (
	state[J, R any]  = fold.State[J, R, *order[J, R], Worker[J, R]]
	event[J, R any]  = fold.Event[J, R, *order[J, R], Worker[J, R]]
	action[J, R any] = fold.Action[J, R, *order[J, R], Worker[J, R]]
)

// core is the pool itself: a fold, and what performs its actions. Goroutines,
// assignments and tickets hold the core and never the Pool, so that a Pool that
// was dropped can be noticed.
//
// A step and all of its actions that call nothing foreign are one critical
// section, so they are totally ordered, and the settlements that they produce
// are fed before it ends. What may call foreign code comes after it, in list
// order: see errand for what the goroutine that fed the event runs itself, and
// courier for the rest.
type core[J, R any] struct {
	cfg    Config[J, R] // with defaults
	id     uint64       // tells this pool's assignments from another's
	log    report.Logger
	labels context.Context // of a goroutine that serves no job
	timer  *timer.Timer
	base   time.Time // what the fold's instants are measured from

	refusedCtx      atomic.Uint64 // submissions under a context that had ended
	diagnosticPanic atomic.Uint64

	// mu is the step lock: it protects what follows. No foreign code runs
	// while it is held. Locks of an inbox and of futures come after it.
	mu       sync.Mutex
	fold     *state[J, R]
	fed      event[J, R]          // the event being fed: a parameter would be allocated
	out      []action[J, R]       // the actions of a step, used again and again
	facts    []event[J, R]        // learned while performing, to be fed next
	errands  []errand[J, R]       // of the events fed in this critical section
	now      time.Duration        // of the last exit; never decreases
	roles    []*incarnation[J, R] // what serves each role now, or served it last
	timers   map[fold.TimerID]*delay
	opening  bool                    // New starts the first workers
	restarts []uint64                // that were admitted, by role; the fold forgets them when it has stopped
	hiring   context.CancelCauseFunc // ends the preparation in progress
	subject  *authority[J, R]        // the assignment that the event being fed names, if any

	// trace is told of each step; nil but in tests.
	trace func(ev *event[J, R], v fold.Verdict, out []action[J, R])

	retired chan struct{} // closed when the pool has stopped or was forced
	verdict error         // of Wait; set before retired is closed

	goroutines
	courier
}

// pools numbers the pools of the process.
var pools atomic.Uint64

// newCore returns the core of a pool that has not been opened.
func newCore[J, R any](cfg Config[J, R]) (*core[J, R], error) {
	tm, err := timer.New(timer.Config{Name: cfg.Name, Clock: cfg.Clock, Logger: cfg.Logger})
	if err != nil {
		return nil, err
	}
	c := &core[J, R]{
		cfg: cfg, id: pools.Add(1),
		log:      report.Logger{To: cfg.Logger},
		labels:   pprof.WithLabels(context.Background(), pprof.Labels("executor", cfg.Name)),
		timer:    tm,
		roles:    make([]*incarnation[J, R], len(cfg.Roles)),
		timers:   make(map[fold.TimerID]*delay),
		restarts: make([]uint64, len(cfg.Roles)),
		retired:  make(chan struct{}),
	}
	c.base = c.clock()
	c.goroutines.init()
	link.OnDone(tm, c.leave)
	return c, nil
}

// open has the fold begin with these workers, one for each role, and starts
// them. It returns false, and the first role that cannot be started, if the
// fold has no identity for it.
func (c *core[J, R]) open(rules fold.Config, workers []Worker[J, R]) (role int, ok bool) {
	s, out, bad := fold.New[J, R, *order[J, R]](rules, workers)
	if s == nil {
		return bad, false
	}
	c.mu.Lock()
	c.fold = s
	c.opening = true
	c.performAllLocked(out)
	c.opening = false
	c.feedFactsLocked()
	c.unlockAndRun()
	return 0, true
}

// openOrStop is open, for a caller who may be ended by a Launch that calls
// runtime.Goexit, and could not stop what has been started.
func (c *core[J, R]) openOrStop(rules fold.Config, workers []Worker[J, R]) (role int, ok bool) {
	returned := false
	defer func() {
		if !returned {
			c.feed(event[J, R]{Kind: fold.Shutdown})
		}
	}()
	role, ok = c.open(rules, workers)
	returned = true
	return role, ok
}

// feed has the fold take ev, performs what that calls for, and returns what
// became of it. It may be called from anywhere, and blocks on foreign code only
// in as far as that is this goroutine's errand.
func (c *core[J, R]) feed(ev event[J, R]) fold.Verdict {
	return c.feedAbout(nil, ev)
}

// feedAbout is feed for an event that concerns an assignment.
func (c *core[J, R]) feedAbout(a *authority[J, R], ev event[J, R]) fold.Verdict {
	c.mu.Lock()
	c.subject = a
	c.fed = ev
	v := c.stepLocked(&c.fed)
	c.feedFactsLocked()
	c.subject, c.fed = nil, event[J, R]{}
	c.unlockAndRun()
	return v
}

// unlockAndRun ends a critical section, and runs the errands that came up in
// it.
func (c *core[J, R]) unlockAndRun() {
	errands := c.errands
	c.errands = nil
	c.mu.Unlock()
	c.run(errands)
}

// feedExit feeds an exit that happened at that reading of the clock, and what
// the worker has not taken out of its inbox. The delivery of a job that has
// been returned is settled first, as the exit may end the pool.
func (c *core[J, R]) feedExit(at time.Duration, ev event[J, R], untaken *authority[J, R]) {
	c.mu.Lock()
	c.now = max(c.now, at) // readings of different goroutines may overtake one another
	ev.At = c.now
	evs := []event[J, R]{ev}
	switch {
	case untaken == nil:
	case untaken.state.Load() == issued:
		evs = append(evs, untaken.event(fold.DeliveryRejected))
	default:
		evs = []event[J, R]{untaken.event(fold.DeliveryRejected), ev}
	}
	for i := range evs {
		c.stepLocked(&evs[i])
		c.feedFactsLocked()
	}
	c.unlockAndRun()
}

// stepLocked is one step, and its actions.
func (c *core[J, R]) stepLocked(ev *event[J, R]) fold.Verdict {
	v, out := c.fold.Step(ev, c.out[:0])
	if c.trace != nil {
		c.trace(ev, v, out)
	}
	c.performAllLocked(out)
	clear(out)
	c.out = out
	return v
}

// feedFactsLocked feeds what performing has taught, in order, before any other
// event can come in between.
func (c *core[J, R]) feedFactsLocked() {
	for i := 0; i < len(c.facts); i++ {
		c.stepLocked(&c.facts[i])
	}
	clear(c.facts)
	c.facts = c.facts[:0]
}

func (c *core[J, R]) learnLocked(ev event[J, R]) { c.facts = append(c.facts, ev) }

func (c *core[J, R]) clock() time.Time {
	if c.cfg.Clock == nil {
		return time.Now()
	}
	return c.cfg.Clock.Now()
}

// instant returns the fold's instant for now. It calls the clock, so it is not
// called under the lock; a clock that panics leaves the time as it was.
func (c *core[J, R]) instant() (d time.Duration) {
	defer func() {
		if v := recover(); v != nil {
			c.log.Error(context.Background(), "supervised: the clock panicked",
				slog.String("pool", c.cfg.Name), slog.Any("panic", v))
		}
	}()
	return c.clock().Sub(c.base)
}

// role returns the name of a role of the fold's.
func (c *core[J, R]) role(index int) Role {
	if index < 0 || index >= len(c.cfg.Roles) {
		return ""
	}
	return c.cfg.Roles[index]
}
