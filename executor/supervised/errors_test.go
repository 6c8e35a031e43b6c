package supervised_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/supervised"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer/timertest"
)

func TestErrors(t *testing.T) {
	canceled := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		return ctx
	}
	t.Run("SUP-86 a forced end has the loss that began the shutdown among its causes", func(t *testing.T) {
		w, mock := newStubborn(), timertest.NewMock()
		die := make(chan struct{})
		cfg := permanent(func(_ context.Context, role supervised.Role) (worker, error) {
			if role == "stuck" {
				return w, nil
			}
			return serve(func(context.Context, *inbox) error { <-die; return errTest }), nil
		})
		cfg.Name, cfg.Roles, cfg.Clock, cfg.DrainWithin = "p", []supervised.Role{"stuck", "dies"}, mock, time.Second
		cfg.Recovery = supervised.Permanent(supervised.Budget{Window: time.Hour}, supervised.Immediate(), supervised.StopPool)
		p := open(t, cfg)
		testwait.Done(t, w.up)
		close(die)
		testwait.Until(t, func() bool { // as the drain begins by itself
			mock.Add(time.Second)
			return p.Stats().Mode == "forced"
		})
		err := p.Wait(bounded(t))
		var forced *supervised.ForcedRetirementError
		require.ErrorAs(t, err, &forced)
		require.Equal(t, "p", forced.Pool)
		var spent *supervised.BudgetError
		require.ErrorAs(t, err, &spent)
		require.Equal(t, supervised.BudgetError{Pool: "p", Window: time.Hour}, *spent)
		require.ErrorContains(t, err, "took too long")
		close(w.release)
	})
	t.Run("SUP-10 the roles are the pool's own", func(t *testing.T) {
		cfg := permanent(always(obedient))
		p := open(t, cfg)
		cfg.Roles[0] = "other"
		require.Equal(t, supervised.Role("a"), p.Stats().Roles[0].Role)
	})
	t.Run("SUP-21 a submission under a context that has ended says why it has", func(t *testing.T) {
		p := open(t, permanent(always(obedient)))
		for _, cause := range []error{errTest, nil} {
			_, err := p.Submit(canceled(cause), 7)
			var rejected *supervised.RejectedError[int]
			require.ErrorAs(t, err, &rejected)
			require.Equal(t, 7, rejected.Job)
			require.ErrorIs(t, err, supervised.ErrSubmitContext)
			require.ErrorIs(t, err, context.Canceled)
			message := `supervised "supervised": job rejected: the submitter's context has ended: context canceled`
			if cause != nil {
				require.ErrorIs(t, err, cause)
				message += ": test"
			}
			require.EqualError(t, err, message)
		}
		late, cancel := context.WithDeadline(context.Background(), time.Time{})
		defer cancel()
		_, err := p.Submit(late, 7)
		require.EqualError(t, err, `supervised "supervised": job rejected: the submitter's context has ended: context deadline exceeded`)
	})
	t.Run("SUP-89 a wait that is cut short says why", func(t *testing.T) {
		p := open(t, permanent(always(obedient)))
		err := p.Wait(canceled(errTest))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errTest)
		var interrupted *future.InterruptedError
		require.ErrorAs(t, err, &interrupted)
	})
	t.Run("SUP-20 SUP-43 SUP-84 every error names its pool", func(t *testing.T) {
		has := make(chan assignment, 1)
		cfg := permanent(always(handing(has)))
		cfg.Name = "search"
		p := open(t, cfg)
		var errs []error
		ticket := give(t, p, 1)
		a := testwait.Value(t, has)
		_, err := p.Submit(context.Background(), 2)
		errs = append(errs, err)
		p.Stop()
		o, _ := ticket.Outcome.Outcome()
		errs = append(errs, o.Err, a.Complete(1))

		cfg.Factory = func(context.Context, supervised.Role) (worker, error) { return nil, errTest }
		_, err = supervised.New(t.Context(), cfg)
		errs = append(errs, err)

		cfg.Factory, cfg.Recovery = always(failing), supervised.Temporary(supervised.StopPool)
		errs = append(errs, open(t, cfg).Wait(bounded(t)))

		for _, err := range errs {
			require.ErrorContains(t, err, `supervised "search": `)
		}
		var (
			rejected  *supervised.RejectedError[int]
			returned  *supervised.ReturnedError[int]
			completed *supervised.CompletionError
			roster    *supervised.RosterError[int, int]
			stopped   *supervised.StoppedError
		)
		require.ErrorAs(t, errs[0], &rejected)
		require.ErrorAs(t, errs[1], &returned)
		require.ErrorAs(t, errs[2], &completed)
		require.ErrorAs(t, errs[3], &roster)
		require.ErrorAs(t, errs[4], &stopped)
		for _, pool := range []string{rejected.Pool, returned.Pool, completed.Pool, roster.Pool, stopped.Pool} {
			require.Equal(t, "search", pool)
		}
		require.ErrorContains(t, &supervised.BudgetError{Pool: "search"}, `supervised "search": `)
		require.ErrorContains(t, &supervised.ForcedRetirementError{Pool: "search"}, `supervised "search": `)
	})
}
