//lint:file-ignore SA1012 nil contexts are part of what is tested

package supervised

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/supervised/internal/fold"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/testwait"
)

// fields lists the fields that a joined error names, in order.
func fields(t *testing.T, err error) []string {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "%v", err)
	var names []string
	for _, err := range joined.Unwrap() {
		if inner, ok := err.(interface{ Unwrap() []error }); ok {
			for _, err := range inner.Unwrap() {
				names = append(names, err.(*ConfigError).Field)
			}
			continue
		}
		require.ErrorIs(t, err, ErrConfig)
		names = append(names, err.(*ConfigError).Field)
		require.Error(t, err.(*ConfigError).Reason)
	}
	return names
}

func TestConfig(t *testing.T) {
	second := Budget{Max: 3, Window: time.Second}
	recovery := func(b Budget, bo Backoff) func(*config) {
		return func(c *config) { c.Recovery = Permanent(b, bo, RetireRole) }
	}
	rows := []struct {
		name   string
		bad    func(*config)
		fields []string
	}{
		{"a nil factory", func(c *config) { c.Factory = nil }, []string{"Factory"}},
		{"no roles", func(c *config) { c.Roles = nil }, []string{"Roles"}},
		{"an empty role name", func(c *config) { c.Roles = []Role{"a", ""} }, []string{"Roles"}},
		{"a repeated role name", func(c *config) { c.Roles = []Role{"a", "b", "a"} }, []string{"Roles"}},
		{"a negative backlog", func(c *config) { c.Backlog = -1 }, []string{"Backlog"}},
		{"a backlog that overflows", func(c *config) { c.Backlog = math.MaxInt }, []string{"Backlog"}},
		{"no activations", func(c *config) { c.Activations = 0 }, []string{"Activations"}},
		{"no interruption", func(c *config) { c.Interruption = 0 }, []string{"Interruption"}},
		{"an unknown interruption", func(c *config) { c.Interruption = Retry + 1 }, []string{"Interruption"}},
		{"no recovery", func(c *config) { c.Recovery = Recovery{} }, []string{"Recovery"}},
		{"no reaction to a loss", func(c *config) { c.Recovery = Temporary(0) }, []string{"Recovery.OnLoss"}},
		{"an unknown reaction", func(c *config) { c.Recovery = Permanent(second, Immediate(), StopPool+1) }, []string{"Recovery.OnLoss"}},
		{"a negative budget", recovery(Budget{-1, time.Second}, Immediate()), []string{"Recovery.Budget.Max"}},
		{"no window", recovery(Budget{1, 0}, Immediate()), []string{"Recovery.Budget.Window"}},
		{"no backoff", recovery(second, Backoff{}), []string{"Recovery.Backoff"}},
		{"a constant delay of zero", recovery(second, Constant(0)), []string{"Recovery.Backoff"}},
		{"a negative initial delay", recovery(second, Linear(-1, 1)), []string{"Recovery.Backoff"}},
		{"a maximum below the initial delay", recovery(second, Exponential(2, 1)), []string{"Recovery.Backoff"}},
		{"a budget that can never be spent", recovery(second, Constant(334*time.Millisecond)), []string{"Recovery.Budget"}},
		{"a negative drain", func(c *config) { c.DrainWithin = -1 }, []string{"DrainWithin"}},
		{"negative attempts", func(c *config) { c.MaxAttempts = -1 }, []string{"MaxAttempts"}},
		{"attempts under Fail", func(c *config) { c.MaxAttempts = 1 }, []string{"MaxAttempts"}},
		{"everything", func(c *config) { *c = config{Backlog: -1, DrainWithin: -1, MaxAttempts: -1} }, []string{
			"Factory", "Roles", "Backlog", "Activations", "Interruption", "Recovery", "DrainWithin", "MaxAttempts",
		}},
	}
	for _, row := range rows {
		t.Run("SUP-12 "+row.name, func(t *testing.T) {
			called := false
			cfg := plain(1, nil)
			cfg.Factory = func(context.Context, Role) (worker, error) {
				called = true
				return nil, nil
			}
			row.bad(&cfg)
			_, err := New(t.Context(), cfg)
			require.ErrorIs(t, err, ErrConfig)
			require.Equal(t, row.fields, fields(t, err))
			require.False(t, called)
		})
	}
	t.Run("SUP-12 both indexes of a repeated role are named", func(t *testing.T) {
		cfg := plain(1, handler(tenfold))
		cfg.Roles = []Role{"a", "b", "a"}
		_, err := New(t.Context(), cfg)
		require.ErrorContains(t, err, "roles 0 and 2")
	})
	t.Run("SUP-12 a nil ctx", func(t *testing.T) {
		cfg := plain(1, nil)
		cfg.Activations = 0
		_, err := New[int, int](nil, cfg)
		require.Equal(t, []string{"ctx", "Activations"}, fields(t, err))
	})
	t.Run("SUP-12 what is just good enough", func(t *testing.T) {
		for _, good := range []func(*config){
			recovery(second, Constant(time.Second/3)), // three delays and no more fit
			recovery(Budget{0, 1}, Constant(time.Hour)),
			func(c *config) { c.Roles = []Role{"a", "b"}; recovery(second, Constant(time.Second))(c) },
			func(c *config) { c.Backlog = math.MaxInt - 1 },
			func(c *config) { c.Interruption, c.MaxAttempts = Retry, 1 },
			func(c *config) { c.Recovery = Temporary(StopPool) }, // SUP-13: no budget, no backoff
		} {
			cfg := plain(1, handler(tenfold))
			good(&cfg)
			start(t, cfg)
		}
	})
}

func TestRoster(t *testing.T) {
	var discards []error
	made := func(role Role) worker {
		return &discarding{handler(tenfold), func(cause error) { discards = append(discards, cause) }}
	}
	// failing is a pool of four roles whose third worker cannot be had.
	failing := func(how func() (worker, error)) config {
		cfg := plain(4, nil)
		cfg.Factory = func(_ context.Context, role Role) (worker, error) {
			if role == "c" {
				return how()
			}
			return made(role), nil
		}
		return cfg
	}
	rows := []struct {
		name  string
		how   func() (worker, error)
		check func(t *testing.T, err error)
	}{
		{"an error", func() (worker, error) { return nil, errTest }, func(t *testing.T, err error) { require.ErrorIs(t, err, errTest) }},
		{"nothing", func() (worker, error) { return nil, nil }, func(t *testing.T, err error) { require.ErrorIs(t, err, ErrNilWorker) }},
		{"a panic", func() (worker, error) { panic(errTest) }, func(t *testing.T, err error) {
			var p *future.PanicError
			require.ErrorAs(t, err, &p)
			require.Contains(t, string(p.Stack), "config_test.go")
		}},
	}
	for _, row := range rows {
		t.Run("SUP-11 "+row.name, func(t *testing.T) {
			discards = nil
			p, err := New(t.Context(), failing(row.how))
			require.Nil(t, p)
			var e *RosterError[int, int]
			require.ErrorAs(t, err, &e)
			require.Equal(t, Role("c"), e.Role)
			require.Equal(t, 2, e.Index)
			require.Len(t, e.Prepared, 2)
			require.Equal(t, []Role{"d"}, e.Untouched)
			row.check(t, err)
			require.Empty(t, discards, "they belong to the caller")
		})
	}
	t.Run("SUP-11 a Goexit ends the caller, and discards what there is", func(t *testing.T) {
		discards = nil
		testwait.Call(t, func() {
			_, _ = New(context.Background(), failing(func() (worker, error) { runtime.Goexit(); return nil, nil }))
		})
		require.Len(t, discards, 2)
	})
	t.Run("SUP-10 the factory is called in order with the caller's context", func(t *testing.T) {
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "mine"))
		var roles []Role
		cfg := plain(3, nil)
		cfg.Factory = func(ctx context.Context, role Role) (worker, error) {
			require.Equal(t, "mine", ctx.Value(key{}))
			roles = append(roles, role)
			return handler(tenfold), nil
		}
		p, err := New(ctx, cfg)
		require.NoError(t, err)
		defer stop(t, p)
		cancel() // does not end the pool
		require.Equal(t, []Role{"a", "b", "c"}, roles)
		require.Equal(t, 10, result(t, submit(t, p, 1)))
	})
	t.Run("SUP-11 a role without an identity", func(t *testing.T) {
		cfg, err := plain(2, handler(tenfold)).withDefaults()
		require.NoError(t, err)
		_, err = newPool(t.Context(), cfg, counters(math.MaxUint64), nil)
		var e *RosterError[int, int]
		require.ErrorAs(t, err, &e)
		require.Equal(t, Role("b"), e.Role)
		require.Len(t, e.Prepared, 2)
	})
}

// discarding is a worker with something to let go of.
type discarding struct {
	worker
	discard func(cause error)
}

func (d *discarding) Discard(cause error) { d.discard(cause) }

func TestNames(t *testing.T) {
	t.Run("SUP-13 zero values are invalid, and every other has a name", func(t *testing.T) {
		require.Equal(t, "invalid", RejectReason(0).String())
		require.Equal(t, "invalid", ReturnReason(99).String())
		require.Equal(t, "invalid", (Contradiction + 1).String())
		for r := PoolStopping; r <= ContextDone; r++ {
			require.NotEqual(t, "invalid", r.String())
		}
		for r := PoolShutdown; r <= Contradiction; r++ {
			require.NotEqual(t, "invalid", r.String())
		}
		for k := AbnormalExit; k <= UnclaimedOutcome; k++ {
			require.NotEqual(t, "invalid", k.String())
		}
		require.Equal(t, "notice", Notice.String())
		require.Equal(t, "queued", Queued.String())
	})
	t.Run("SUP-13 the fold's enumerations are converted as they are", func(t *testing.T) {
		for public, inner := range map[ReturnReason]fold.Reason{
			PoolShutdown: fold.PoolShutdown, NoWorkers: fold.NoWorkers, WorkerStopped: fold.WorkerStopped,
			AttemptsExhausted: fold.AttemptsExhausted, AssignmentIDsExhausted: fold.AssignmentIDsExhausted,
			RetryRejected: fold.RetryRejected, Contradiction: fold.Contradiction,
		} {
			require.Equal(t, public, ReturnReason(inner))
		}
		require.Equal(t, []fold.Interruption{fold.Fail, fold.Retry}, []fold.Interruption{fold.Interruption(Fail), fold.Interruption(Retry)})
		require.Equal(t, []fold.OnLoss{fold.RetireRole, fold.StopPool}, []fold.OnLoss{fold.OnLoss(RetireRole), fold.OnLoss(StopPool)})
		for d := fold.AbnormalExit; d <= fold.LateFact; d++ {
			require.NotZero(t, kinds[d])
		}
	})
	t.Run("SUP-20 every error says what it is about", func(t *testing.T) {
		missing := []string{"stop settlement", "exit"}
		for _, c := range []struct {
			err  error
			text string
		}{
			{&RejectedError[int]{Cause: ErrBacklogFull}, "job rejected: " + ErrBacklogFull.Error()},
			{&ReturnedError[int]{ID: 3, Stage: Queued, Reason: PoolShutdown}, "job 3 returned (queued, 0 attempts): pool shutdown"},
			{&ReturnedError[int]{ID: 3, Stage: Assigned, Role: "a", Reason: WorkerStopped, Attempts: 1, Cause: errTest},
				`job 3 returned (assigned, role "a", 1 attempts): worker stopped: test`},
			{&RosterError[int, int]{Role: "a", Index: 1, Cause: errTest}, `no worker for role "a" (index 1): test`},
			{&CompletionError{Reason: errTest}, "completion refused: test"},
			{&CompletionError{Job: 3, Role: "a", Reason: errTest}, `completion of job 3 by role "a" refused: test`},
			{&StoppedError{Role: "a"}, `pool stopped: role "a" ended`},
			{&StoppedError{Role: "a", Cause: errTest}, `pool stopped: role "a": test`},
			{&BudgetError{Active: 1, Max: 1, Window: 1}, "restart budget spent: 1 of 1 within 1ns"},
			{&ForcedRetirementError{Unresolved: []Unresolved{{"a", 1, "idle", missing}, {"b", 2, "busy", missing[1:]}}, Cause: errTest},
				"shutdown forced with unresolved roles: a (incarnation 1, idle, missing [stop settlement exit])" +
					" b (incarnation 2, busy, missing [exit]): test"},
		} {
			require.EqualError(t, c.err, `supervised "": `+c.text)
		}
		require.ErrorIs(t, errors.Join(&ForcedRetirementError{Cause: errTest}), errTest)
	})
}
