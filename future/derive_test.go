package future_test

import (
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/testwait"
)

func itoa(_ context.Context, v int) (string, error) { return strconv.Itoa(v), nil }

func never[T, U any](t *testing.T) func(context.Context, T) (U, error) {
	return func(context.Context, T) (u U, err error) { t.Error("called"); return u, err }
}

func TestThen(t *testing.T) {
	t.Run("FUT-9_fn_runs_on_success_alone", func(t *testing.T) {
		c := future.NewCompleter[int]()
		d := future.Then(bg, c.Future(), itoa)
		requirePending(t, d)
		c.Complete(12)
		requireValue(t, d, "12")
		requireValue(t, future.Then(bg, c.Future(), itoa), "12")

		failed := future.Then(bg, c.Future(), func(context.Context, int) (string, error) { return "x", errBoom })
		requireErr(t, failed, errBoom)
	})

	t.Run("FUT-9_a_failure_is_forwarded_as_the_same_object", func(t *testing.T) {
		c := future.NewCompleter[int]()
		err := &testError{}
		d := future.Then(bg, c.Future(), never[int, string](t))
		c.Fail(err)
		requireErr(t, d, err)
		requireErr(t, future.Then(bg, c.Future(), never[int, string](t)), err)
	})

	t.Run("FUT-9_a_cancellation_is_forwarded_still_Canceled", func(t *testing.T) {
		for _, cancel := range []func(*future.Future[int], error) bool{
			(*future.Future[int]).Cancel, (*future.Future[int]).Abandon,
		} {
			c := future.NewCompleter[int]()
			d := future.Then(bg, c.Future(), never[int, string](t))
			cancel(c.Future(), errWhy)
			requireCanceled(t, d, errWhy)
			source, _ := c.Future().Outcome()
			requireErr(t, d, source.Err)
		}
	})

	t.Run("B35_canceling_the_derived_future_cancels_its_source", func(t *testing.T) {
		c := future.NewCompleter[int]()
		var stopped error
		c.OnCancel(func(cause error) { stopped = cause })
		m := future.Then(bg, c.Future(), itoa)
		other := future.Then(bg, c.Future(), itoa)
		d := future.Then(bg, m, func(_ context.Context, s string) (int, error) { return len(s), nil })
		require.True(t, d.Cancel(errWhy))
		require.Equal(t, errWhy, stopped)
		requireCanceled(t, d, errWhy)
		requireCanceled(t, m, errWhy)
		requireCanceled(t, c.Future(), errWhy)
		requireCanceled(t, other, errWhy) // FUT-9: it shares its source's fate

		c = future.NewCompleter[int]()
		c.OnCancel(func(error) { t.Error("reached through a Shield") })
		d2 := future.Then(bg, future.Shield(c.Future()), itoa)
		require.True(t, d2.Cancel(errWhy))
		requirePending(t, c.Future())
	})

	t.Run("FUT-9_abandoning_the_derived_future_leaves_its_source_alone", func(t *testing.T) {
		c := future.NewCompleter[int]()
		d := future.Then(bg, c.Future(), never[int, string](t))
		require.True(t, d.Abandon(errWhy))
		requireCanceled(t, d, errWhy)
		requirePending(t, c.Future())
		c.Complete(1)
		requireValue(t, c.Future(), 1)
	})

	t.Run("FUT-9_the_source_is_canceled_before_the_derived_callbacks", func(t *testing.T) {
		c := future.NewCompleter[int]()
		var got []string
		c.OnCancel(func(error) { got = append(got, "source"); panic("source") })
		d := future.Then(bg, c.Future(), itoa)
		d.OnSettle(func(future.Outcome[string]) { got = append(got, "derived") })
		require.Equal(t, ending{panicked: "source"}, end(t, func() { d.Cancel(nil) }))
		require.Equal(t, []string{"source", "derived"}, got)
	})

	t.Run("FUT-9_a_panic_fails_the_derived_future", func(t *testing.T) {
		for _, settled := range []bool{false, true} {
			c := future.NewCompleter[int]()
			if settled {
				c.Complete(1)
			}
			d := future.Then(bg, c.Future(), func(context.Context, int) (int, error) { panic(errBoom) })
			c.Complete(1) // does not panic
			_, err := d.Await(bg)
			var p *future.PanicError
			require.ErrorAs(t, err, &p)
			require.Equal(t, errBoom, p.Value)
			require.ErrorIs(t, err, errBoom)
			require.Contains(t, string(p.Stack), "TestThen", "the frame of the function")
		}
	})

	t.Run("FUT-9_a_Goexit_fails_the_derived_future", func(t *testing.T) {
		c := future.NewCompleter[int]()
		d := future.Then(bg, c.Future(), func(context.Context, int) (int, error) { goexit(); return 0, nil })
		after := future.Then(bg, c.Future(), itoa)
		require.Equal(t, ending{goexit: true}, end(t, func() { c.Complete(1) }))
		requireErr(t, d, future.ErrGoexit)
		requireValue(t, after, "1")
	})

	t.Run("FUT-9_a_callback_of_the_derived_future_that_panics_goes_up", func(t *testing.T) {
		c := future.NewCompleter[int]()
		d := future.Then(bg, c.Future(), itoa)
		d.OnSettle(func(future.Outcome[string]) { panic("callback") })
		require.Equal(t, ending{panicked: "callback"}, end(t, func() { c.Complete(1) }))
		requireValue(t, d, "1")
	})

	t.Run("FUT-9_the_end_of_ctx_cancels_the_derived_one_and_its_source", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(bg)
		c := future.NewCompleter[int]()
		stopped := make(chan error, 1)
		c.OnCancel(func(cause error) { stopped <- cause })
		d := future.Then(ctx, c.Future(), never[int, string](t))
		cancel(errWhy)
		require.Equal(t, errWhy, testwait.Value(t, stopped))
		requireCanceled(t, d, errWhy)
		requireCanceled(t, c.Future(), errWhy)
	})

	t.Run("FUT-9_a_ctx_that_had_ended_before", func(t *testing.T) {
		c := future.NewCompleter[int]()
		requireCanceled(t, future.Then(ended(errWhy), c.Future(), never[int, string](t)), errWhy)
		requireCanceled(t, c.Future(), errWhy)
		requireCanceled(t, future.Then(ended(errWhy), future.Completed(1), never[int, string](t)), errWhy)
	})

	t.Run("FUT-9_canceled_while_fn_runs", func(t *testing.T) {
		for name, interrupt := range map[string]func(d *future.Future[*closer], end context.CancelCauseFunc){
			"by Cancel": func(d *future.Future[*closer], _ context.CancelCauseFunc) { d.Cancel(errWhy) },
			"by ctx":    func(_ *future.Future[*closer], end context.CancelCauseFunc) { end(errWhy) },
		} {
			ctx, endCtx := context.WithCancelCause(bg)
			c := future.NewCompleter[int]()
			late := &closer{}
			began, returned := make(chan struct{}), make(chan struct{})
			d := future.Then(ctx, c.Future(), func(ctx context.Context, _ int) (*closer, error) {
				close(began)
				<-ctx.Done()
				require.Equal(t, errWhy, context.Cause(ctx), name)
				return late, nil
			})
			go func() { defer close(returned); c.Complete(1) }()
			testwait.Done(t, began)
			interrupt(d, endCtx)
			testwait.Done(t, returned)
			requireCanceled(t, d, errWhy)
			requireValue(t, c.Future(), 1)
			require.EqualValues(t, 1, late.closed.Load(), "FUT-3: the late value is disposed of")
			endCtx(nil)
		}
	})

	t.Run("FUT-9_a_panic_that_nobody_can_learn_of_is_reported", func(t *testing.T) {
		logged := recordLogs(t)
		ctx := frame.WithAttrs(bg, []slog.Attr{slog.Int("id", 1)})
		for _, how := range []func(){func() { panic(errBoom) }, goexit} {
			var d *future.Future[int]
			c := future.NewCompleter[int]()
			d = future.Then(ctx, c.Future(), func(context.Context, int) (int, error) {
				d.Cancel(errWhy)
				how()
				return 0, nil
			})
			end(t, func() { c.Complete(1) })
			requireCanceled(t, d, errWhy)
		}
		const msg = "ERROR future: a function ended abnormally after its future had settled id=1 error="
		require.Equal(t, []string{msg + "panic: boom", msg + future.ErrGoexit.Error()}, logged())
	})

	t.Run("FUT-9_ctx_ended_while_fn_ran_is_a_cancellation", func(t *testing.T) {
		for name, end := range map[string]func(*closer, error) (*closer, error){
			"value": func(v *closer, _ error) (*closer, error) { return v, nil },
			"error": func(_ *closer, err error) (*closer, error) { return nil, err },
		} {
			ctx, cancel := context.WithCancelCause(bg)
			late := &closer{}
			// The source has settled, so that no registration with ctx competes.
			d := future.Then(ctx, future.Completed(1), func(ctx context.Context, _ int) (*closer, error) {
				cancel(errWhy)
				return end(late, ctx.Err())
			})
			requireCanceled(t, d, errWhy)
			require.Equal(t, name == "value", late.closed.Load() == 1, name)
		}
	})

	t.Run("FUT-9_abandoned_while_fn_runs", func(t *testing.T) {
		c := future.NewCompleter[int]()
		var d *future.Future[int]
		var disposed []int
		d = future.Then(bg, c.Future(), func(ctx context.Context, _ int) (int, error) {
			require.True(t, d.Abandon(errWhy))
			require.NoError(t, ctx.Err(), "the function goes on")
			return 5, nil
		}, future.WithDispose(func(v int) { disposed = append(disposed, v) }))
		c.Complete(1)
		requireCanceled(t, d, errWhy)
		require.Equal(t, []int{5}, disposed)
	})

	t.Run("FUT-9_settled_by_an_earlier_callback_of_the_source_fn_does_not_run", func(t *testing.T) {
		c := future.NewCompleter[int]()
		var d *future.Future[string]
		c.Future().OnSettle(func(future.Outcome[int]) { d.Cancel(errWhy) })
		d = future.Then(bg, c.Future(), never[int, string](t))
		c.Complete(1)
		requireCanceled(t, d, errWhy)
	})

	t.Run("DIAG-1_fn_gets_a_scope_captured_at_the_call", func(t *testing.T) {
		ctx := frame.WithAttrs(bg, []slog.Attr{slog.Int("id", 1)})
		ctx = frame.WithScope(ctx, frame.Capture(ctx))
		c := future.NewCompleter[int]()
		var seen []slog.Attr
		d := future.Then(ctx, c.Future(), func(ctx context.Context, _ int) (int, error) {
			seen = frame.Capture(ctx).List()
			frame.Of(ctx).Scope().Set([]slog.Attr{slog.Int("id", 3)})
			return 0, nil
		})
		frame.Of(ctx).Scope().Set([]slog.Attr{slog.Int("id", 2)})
		c.Complete(1)
		requireValue(t, d, 0)
		require.Equal(t, []slog.Attr{slog.Int("id", 1)}, seen)
		require.Equal(t, []slog.Attr{slog.Int("id", 2)}, frame.Capture(ctx).List())
	})

	t.Run("DIAG-7_a_dispose_that_fails_is_reported_under_that_ctx", func(t *testing.T) {
		logged := recordLogs(t)
		ctx := frame.WithAttrs(bg, []slog.Attr{slog.Int("id", 1)})
		c := future.NewCompleter[int]()
		var d *future.Future[int]
		d = future.Then(ctx, c.Future(), func(context.Context, int) (int, error) {
			d.Cancel(nil)
			return 5, nil
		}, future.WithDispose(func(int) { panic("dispose") }))
		c.Complete(1)
		require.Equal(t, []string{"ERROR future: disposing of a late value failed id=1 error=panic: dispose"}, logged())
	})

	t.Run("bad_input", func(t *testing.T) {
		f := future.Completed(1)
		_, err := future.Then(noCtx, f, itoa).Await(bg)
		requireConfigError(t, err, "ctx")
		_, err = future.Then[int, int](bg, f, nil).Await(bg)
		requireConfigError(t, err, "fn")
		_, err = future.Then(bg, nil, itoa).Await(bg)
		requireConfigError(t, err, "future")
	})

	t.Run("works_in_a_bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			c := future.NewCompleter[int]()
			d := future.Then(ctx, c.Future(), itoa)
			synctest.Wait()
			requirePending(t, d)
			cancel()
			synctest.Wait()
			requireCanceled(t, d, context.Canceled)
		})
	})
}

type testError struct{ _ int }

func (*testError) Error() string { return "test" }

func TestRecover(t *testing.T) {
	t.Run("FUT-9_fn_runs_on_failure_alone", func(t *testing.T) {
		c := future.NewCompleter[int]()
		d := future.Recover(bg, c.Future(), func(_ context.Context, err error) (int, error) {
			require.Equal(t, errBoom, err)
			return 4, nil
		})
		again := future.Recover(bg, c.Future(), func(_ context.Context, err error) (int, error) { return 0, errWhy })
		c.Fail(errBoom)
		requireValue(t, d, 4)
		requireErr(t, again, errWhy)
	})

	t.Run("FUT-9_the_other_outcomes_are_forwarded", func(t *testing.T) {
		c := future.NewCompleter[int]()
		d := future.Recover(bg, c.Future(), never[error, int](t))
		c.Complete(3)
		requireValue(t, d, 3)

		c = future.NewCompleter[int]()
		d = future.Recover(bg, c.Future(), never[error, int](t))
		c.Future().Cancel(errWhy)
		requireCanceled(t, d, errWhy)
	})

	t.Run("FUT-9_canceling_it_cancels_its_source_and_a_late_value_is_disposed_of", func(t *testing.T) {
		c := future.NewCompleter[*closer]()
		late := &closer{}
		var d *future.Future[*closer]
		d = future.Recover(bg, c.Future(), func(ctx context.Context, _ error) (*closer, error) {
			d.Cancel(errWhy)
			require.Equal(t, errWhy, context.Cause(ctx))
			return late, nil
		})
		c.Fail(errBoom)
		requireCanceled(t, d, errWhy)
		require.EqualValues(t, 1, late.closed.Load())

		c = future.NewCompleter[*closer]()
		future.Recover(bg, c.Future(), never[error, *closer](t)).Cancel(errWhy)
		requireCanceled(t, c.Future(), errWhy)
	})

	t.Run("FUT-9_panic", func(t *testing.T) {
		d := future.Recover(bg, future.Failed[int](errBoom), func(context.Context, error) (int, error) { panic(badError{}) })
		_, err := d.Await(bg)
		var p *future.PanicError
		require.ErrorAs(t, err, &p)
		require.NotEmpty(t, err.Error())
	})

	t.Run("bad_input", func(t *testing.T) {
		_, err := future.Recover(noCtx, future.Completed(1), never[error, int](t)).Await(bg)
		requireConfigError(t, err, "ctx")
		_, err = future.Recover(bg, future.Completed(1), nil).Await(bg)
		requireConfigError(t, err, "fn")
		_, err = future.Recover(bg, nil, never[error, int](t)).Await(bg)
		requireConfigError(t, err, "future")
	})
}

func TestShield(t *testing.T) {
	t.Run("FUT-9_follows_its_source", func(t *testing.T) {
		cs, fs := pending(3)
		var ds []*future.Future[int]
		for _, f := range fs {
			ds = append(ds, future.Shield(f))
		}
		cs[0].Complete(1)
		cs[1].Fail(errBoom)
		fs[2].Cancel(errWhy)
		requireValue(t, ds[0], 1)
		requireErr(t, ds[1], errBoom)
		requireCanceled(t, ds[2], errWhy)
	})

	t.Run("FUT-9_canceling_it_leaves_its_source_alone", func(t *testing.T) {
		c := future.NewCompleter[*closer]()
		d := future.Shield(c.Future())
		require.True(t, d.Cancel(errWhy))
		requireCanceled(t, d, errWhy)
		requirePending(t, c.Future())
		v := &closer{}
		c.Complete(v)
		requireValue(t, c.Future(), v)
		require.Zero(t, v.closed.Load())
	})

	t.Run("bad_input", func(t *testing.T) {
		_, err := future.Shield[int](nil).Await(bg)
		requireConfigError(t, err, "future")
	})
}

// sickErr is a context whose Err panics once it is sick.
type sickErr struct {
	context.Context
	sick atomic.Bool
}

func (c *sickErr) Err() error {
	if c.sick.Load() {
		panic("Err")
	}
	return nil
}

func TestSickContext(t *testing.T) {
	t.Run("FUT-9_one_that_panics_when_the_function_has_returned_is_taken_for_live", func(t *testing.T) {
		ctx := &sickErr{Context: bg}
		c := future.NewCompleter[int]()
		d := future.Then(ctx, c.Future(), func(_ context.Context, v int) (int, error) {
			ctx.sick.Store(true)
			return v + 1, nil
		})
		c.Complete(1)
		require.Equal(t, 2, futuretest.RequireSettled(t, d).Value)
	})
}
