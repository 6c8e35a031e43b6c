package supervised

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/timer"
)

// Config says how a [Pool] is made. The fields up to Recovery are required,
// where Backlog may be zero.
type Config[J, R any] struct {
	Factory      Factory[J, R]
	Roles        []Role // at least one, all different, none empty
	Backlog      int    // jobs that may wait; 0 admits a job only if a worker is idle
	Activations  int    // workers that may be in Activate at once, at least 1
	Interruption Interruption
	Recovery     Recovery

	// Name appears in log records and the label of the pool's goroutines.
	// Empty stands for "supervised".
	Name string

	// DrainWithin bounds a shutdown, by Clock: when it has passed, the pool
	// gives up waiting and says for whom. 0 waits for all.
	DrainWithin time.Duration

	// MaxAttempts bounds how often a job is assigned under Retry; 0 does not.
	MaxAttempts int

	// Clone makes what a worker gets of a payload, on the worker's goroutine;
	// a panic in it is the worker's. nil shares the payload.
	Clone func(J) J

	// Clock is what delays and DrainWithin are measured by. nil stands for
	// package time.
	Clock timer.Clock

	// Logger gets the diagnostics if OnDiagnostic is nil, faults as errors and
	// notices as infos. If it is nil too, errors go to slog.Default() and the
	// rest nowhere.
	Logger *slog.Logger

	// OnDiagnostic is told of what went wrong or is worth knowing, one call at
	// a time, in the order in which it was decided. It changes nothing. It may
	// be called after Shutdown has returned; see [Pool.Done].
	OnDiagnostic func(Diagnostic)

	// Launch starts fn on a goroutine of its own and returns nil, or says why
	// it cannot, which loses the role. A Launch that returns nil and never
	// runs fn leaves a role that no shutdown can wait for. It is called on
	// New's goroutine for the first workers, and for restarts on one of the
	// pool's, where it may block without keeping anything else from going on.
	// nil stands for the go statement.
	Launch func(fn func()) error
}

// withDefaults checks cfg, and fills in what is zero and has a default.
func (cfg Config[J, R]) withDefaults() (Config[J, R], error) {
	var errs []error
	bad := func(field string, value any, format string, args ...any) {
		errs = append(errs, &ConfigError{Field: field, Value: value, Reason: fmt.Errorf(format, args...)})
	}
	if cfg.Factory == nil {
		bad("Factory", nil, "a factory is required")
	}
	if len(cfg.Roles) == 0 {
		bad("Roles", cfg.Roles, "at least one role is required")
	}
	seen := make(map[Role]int, len(cfg.Roles))
	for i, role := range cfg.Roles {
		first, repeated := seen[role]
		switch {
		case role == "":
			bad("Roles", role, "role %d has no name", i)
		case repeated:
			bad("Roles", role, "roles %d and %d have the same name", first, i)
		default:
			seen[role] = i
		}
	}
	switch {
	case cfg.Backlog < 0:
		bad("Backlog", cfg.Backlog, "must not be negative")
	case cfg.Backlog > math.MaxInt-len(cfg.Roles):
		bad("Backlog", cfg.Backlog, "is too large for %d roles", len(cfg.Roles))
	}
	if cfg.Activations < 1 {
		bad("Activations", cfg.Activations, "must be at least 1")
	}
	if cfg.Interruption != Fail && cfg.Interruption != Retry {
		bad("Interruption", cfg.Interruption, "must be Fail or Retry")
	}
	cfg.Recovery.check(len(cfg.Roles), bad)
	if cfg.DrainWithin < 0 {
		bad("DrainWithin", cfg.DrainWithin, "must not be negative")
	}
	switch {
	case cfg.MaxAttempts < 0:
		bad("MaxAttempts", cfg.MaxAttempts, "must not be negative")
	case cfg.MaxAttempts > 0 && cfg.Interruption == Fail:
		bad("MaxAttempts", cfg.MaxAttempts, "has no meaning under Fail")
	}
	cfg.Roles = slices.Clone(cfg.Roles) // the caller's may change
	if cfg.Name == "" {
		cfg.Name = "supervised"
	}
	return cfg, errors.Join(errs...)
}

// check reports what is wrong with a recovery for that many roles.
func (r Recovery) check(roles int, bad func(field string, value any, format string, args ...any)) {
	if r.policy == 0 {
		bad("Recovery", nil, "must be made by Permanent, Transient or Temporary")
		return
	}
	defer func() {
		if r.onLoss != RetireRole && r.onLoss != StopPool {
			bad("Recovery.OnLoss", r.onLoss, "must be RetireRole or StopPool")
		}
	}()
	if r.policy == fold.Temporary {
		return
	}
	sound := true
	wrong := func(field string, value any, reason string) {
		bad("Recovery."+field, value, "%s", reason)
		sound = false
	}
	if r.budget.Max < 0 {
		wrong("Budget.Max", r.budget.Max, "must not be negative")
	}
	if r.budget.Window <= 0 {
		wrong("Budget.Window", r.budget.Window, "must be positive")
	}
	b := r.backoff.b
	switch {
	case b.Kind == 0:
		wrong("Backoff", nil, "must be made by Immediate, Constant, Linear or Exponential")
	case b.Kind == fold.Immediate:
	case b.Initial <= 0:
		wrong("Backoff", b.Initial, "the delay must be positive")
	case b.Max < b.Initial:
		wrong("Backoff", b.Max, "the maximum must not be less than the initial delay")
	}
	if !sound || roles == 0 {
		return
	}
	// Charges spread evenly over the roles come soonest. If even then the
	// first of a role has left the window before its last one that matters is
	// made, no number of failures ever trips the budget.
	each := uint64(r.budget.Max)/uint64(roles) + 1 // ceil((Max+1)/roles)
	if total := b.Total(each - 1); total > r.budget.Window {
		bad("Recovery.Budget", r.budget, "can never be spent: %d restarts of one role take at least %v", each, total)
	}
}

// rules is the part of the config that the fold goes by.
func (cfg Config[J, R]) rules(pool uint64) fold.Config {
	return fold.Config{
		Pool: pool, Roles: len(cfg.Roles), Backlog: cfg.Backlog, Activations: cfg.Activations,
		Interruption: fold.Interruption(cfg.Interruption), MaxAttempts: cfg.MaxAttempts,
		Policy: cfg.Recovery.policy, OnLoss: fold.OnLoss(cfg.Recovery.onLoss),
		Budget: fold.Budget(cfg.Recovery.budget), Backoff: cfg.Recovery.backoff.b,
		DrainWithin: cfg.DrainWithin,
	}
}
