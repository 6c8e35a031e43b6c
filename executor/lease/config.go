package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/lease/internal/sched"
	"github.com/cadre-go/cadre/timer"
)

// Fairness is the order in which callers that wait are served.
type Fairness uint8

const (
	// RoundRobin serves the handles in turn, and the callers of one handle in
	// the order in which they came. All that use the pool itself share a turn.
	RoundRobin Fairness = iota
	// FIFO serves callers in the order in which they came.
	FIFO
)

// SlotOrder says which of several free slots is used.
type SlotOrder uint8

const (
	// Rotate begins one slot further at each grant, so all are used alike.
	Rotate SlotOrder = iota
	// PreferWarm takes the first slot that has a usable resource, one that is
	// neither expired nor older than a Reset, so few are connected when little
	// goes on.
	PreferWarm
)

// LeakMode says what becomes of a lease that is held while all copies of it are
// unreachable.
type LeakMode uint8

const (
	// LeakOff does not look.
	LeakOff LeakMode = iota
	// LeakReport reports it, with the stack of its Acquire.
	LeakReport
	// LeakReclaim also condemns the resource and takes the permit back.
	LeakReclaim
)

// NoWait as MaxWaiters makes Acquire fail where it would wait.
const NoWait = -1

const (
	defaultMaxWaiters = 1024
	maxCapacity       = sched.MaxCapacity
)

// Config says how a [Pool] is made. Only Slots and Connect are required. New
// copies it.
//
// The functions must not capture the Pool or a Handle of it: the pool would
// then never become unreachable. A panic in any of them fails the pool; one in
// the context that a caller brought along does not.
//
// Any of them may close the pool. None may lease from it, or call Shutdown but
// on the pool's own goroutine: it may wait for what waits for it. Where that is
// plain to see, Acquire and TryAcquire fail with [ErrNoCapacity]: in OnEvent
// if they would have to wait for a permit, and in Connect and Validate, if they
// get the context that these got, when they would wait for that very call.
type Config[R any] struct {
	// Name appears in errors, records and events, and as the label "lease" of
	// the pool's goroutine. Empty stands for "lease-" and the pool's id. The
	// errors of two pools of one name cannot be told apart; their events and
	// records can, by the id.
	Name string

	// Slots is the number of resources at most; PermitsPerSlot how many leases
	// may share one, 0 standing for 1. Their product may come to 1<<20.
	Slots, PermitsPerSlot int

	// MaxWaiters bounds the callers that wait for a permit. 0 stands for 1024,
	// NoWait for none.
	MaxWaiters int

	// AcquireTimeout bounds the wait for a permit, by Clock; 0 is no bound. It
	// does not count connecting and validating.
	AcquireTimeout time.Duration

	// ConnectTimeout and ValidateTimeout are deadlines of the contexts that
	// Connect and Validate get, in real time; 0 is none.
	ConnectTimeout, ValidateTimeout time.Duration

	// MaxLifetime and MaxIdle are the ages, since it was made and since it was
	// last used, at which a resource is not handed out again; 0 is no bound.
	MaxLifetime, MaxIdle time.Duration

	// ValidateAfter is how long a resource has to have been idle for Validate
	// to be asked; 0 is before every use, but for that of the Acquire that
	// connects it.
	ValidateAfter time.Duration

	// SweepInterval has Sweep run on Executor again and again; 0 is never.
	SweepInterval time.Duration

	Fairness  Fairness
	SlotOrder SlotOrder
	Leak      LeakMode

	// Connect makes a resource, when a slot is first used. It runs on
	// Executor, with the values of the acquirer's context and the pool's
	// lifetime, or, if there is no Executor or it refuses, on the acquirer's
	// goroutine, under a child of its context. It must return when its
	// context ends. With an error, the R returned is dropped.
	Connect func(context.Context) (R, error)

	// Validate says whether an idle resource may be used again. It runs on
	// the acquirer's goroutine.
	Validate func(context.Context, R) error

	// Dispose ends a resource: on Executor; else on the goroutine of the next
	// acquirer of its slot or of Sweep, on the pool's own when it ends, or
	// after that on the one that releases.
	Dispose func(R)

	// KeepOn says whether a resource is sound after an operation of Lease.Run
	// or Do that failed with this error. nil: it never is.
	KeepOn func(error) bool

	// Executor is where Connect, Dispose and sweeps run. The pool does not
	// close it. One that runs a task inside Post, as executor.Inline does,
	// runs it inside the call that posts. A task runs once, though an
	// Executor run it again, or after it has refused it.
	Executor executor.Executor

	// OnEvent is told of what happens, on the pool's goroutine, and so some time
	// after it has: what is told of may be different by then. While it runs
	// nobody who waits is served; between two calls everybody is who can be.
	// An Acquire in it that would have to wait for a permit fails with
	// [ErrNoCapacity].
	OnEvent func(Event)

	// Clock is what all but ConnectTimeout and ValidateTimeout is measured by.
	// nil stands for package time.
	Clock timer.Clock

	// Logger gets the pool's records. If it is nil, errors and warnings go to
	// slog.Default() and the rest nowhere.
	Logger *slog.Logger
}

// validate returns all that is wrong with cfg.
func (cfg *Config[R]) validate() error {
	var errs []error
	bad := func(field string, value any, format string, args ...any) {
		errs = append(errs, &ConfigError{Field: field, Value: value, Reason: fmt.Errorf(format, args...)})
	}
	if cfg.Slots < 1 {
		bad("Slots", cfg.Slots, "at least one slot is required")
	} else if cfg.Slots > maxCapacity || max(cfg.PermitsPerSlot, 1) > maxCapacity/cfg.Slots {
		bad("Slots", cfg.Slots, "times PermitsPerSlot must not exceed %d", maxCapacity)
	}
	if cfg.PermitsPerSlot < 0 {
		bad("PermitsPerSlot", cfg.PermitsPerSlot, "must not be negative")
	}
	if cfg.MaxWaiters < NoWait {
		bad("MaxWaiters", cfg.MaxWaiters, "must be positive, 0 for the default, or NoWait")
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"AcquireTimeout", cfg.AcquireTimeout},
		{"ConnectTimeout", cfg.ConnectTimeout},
		{"ValidateTimeout", cfg.ValidateTimeout},
		{"MaxLifetime", cfg.MaxLifetime},
		{"MaxIdle", cfg.MaxIdle},
		{"ValidateAfter", cfg.ValidateAfter},
		{"SweepInterval", cfg.SweepInterval},
	} {
		if d.value < 0 {
			bad(d.field, d.value, "must not be negative")
		}
	}
	if cfg.SweepInterval > 0 {
		if cfg.Executor == nil {
			bad("SweepInterval", cfg.SweepInterval, "requires an Executor")
		}
		if cfg.MaxLifetime == 0 && cfg.MaxIdle == 0 {
			bad("SweepInterval", cfg.SweepInterval, "requires MaxLifetime or MaxIdle")
		}
	}
	if cfg.Fairness > FIFO {
		bad("Fairness", cfg.Fairness, "is none of RoundRobin and FIFO")
	}
	if cfg.SlotOrder > PreferWarm {
		bad("SlotOrder", cfg.SlotOrder, "is none of Rotate and PreferWarm")
	}
	if cfg.Leak > LeakReclaim {
		bad("Leak", cfg.Leak, "is none of LeakOff, LeakReport and LeakReclaim")
	}
	if cfg.Connect == nil {
		bad("Connect", nil, "is required")
	}
	return errors.Join(errs...)
}

// withDefaults fills in what is zero.
func (cfg Config[R]) withDefaults(id uint64) Config[R] {
	if cfg.Name == "" {
		cfg.Name = fmt.Sprintf("lease-%d", id)
	}
	cfg.PermitsPerSlot = max(cfg.PermitsPerSlot, 1)
	switch cfg.MaxWaiters {
	case 0:
		cfg.MaxWaiters = defaultMaxWaiters
	case NoWait:
		cfg.MaxWaiters = 0
	}
	return cfg
}

func (f Fairness) policy() sched.Policy {
	if f == FIFO {
		return sched.FIFO
	}
	return sched.RoundRobin
}
