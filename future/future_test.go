package future_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/testwait"
)

func TestSettle(t *testing.T) {
	settles := map[string]func(c *future.Completer[int]) bool{
		"Complete": func(c *future.Completer[int]) bool { return c.Complete(1) },
		"Fail":     func(c *future.Completer[int]) bool { return c.Fail(errBoom) },
		"Cancel":   func(c *future.Completer[int]) bool { return c.Future().Cancel(errWhy) },
		"Abandon":  func(c *future.Completer[int]) bool { return c.Future().Abandon(errWhy) },
	}
	for first, settle := range settles {
		t.Run("FUT-1_settles_once_by_"+first, func(t *testing.T) {
			c := future.NewCompleter[int]()
			calls := 0
			c.Future().OnSettle(func(future.Outcome[int]) { calls++ })
			require.True(t, settle(c))
			before, ok := c.Future().Outcome()
			require.True(t, ok)
			for second, settle := range settles {
				require.False(t, settle(c), second)
				after, _ := c.Future().Outcome()
				require.Equal(t, before, after, second)
			}
			require.Equal(t, 1, calls)
		})
	}

	t.Run("FUT-2_Await_returns_the_identical_error", func(t *testing.T) {
		c := future.NewCompleter[int]()
		err := fmt.Errorf("wrapped: %w", errBoom)
		require.True(t, c.Fail(err))
		_, got := c.Future().Await(bg)
		require.Same(t, err, got)
		requireErr(t, future.Failed[int](err), err)
	})

	t.Run("FUT-2_Fail_nil_panics_naming_the_misuse", func(t *testing.T) {
		c := future.NewCompleter[int]()
		require.PanicsWithValue(t, "future: Fail with a nil error; Complete settles a future that succeeded", func() { c.Fail(nil) })
		requirePending(t, c.Future())
		require.PanicsWithValue(t, "future: Failed with a nil error", func() { future.Failed[int](nil) })
	})

	t.Run("FUT-1_one_winner_among_many_goroutines", func(t *testing.T) {
		for range 200 {
			var disposed, won, settled, canceled atomic.Int64
			c := future.NewCompleter(future.WithDispose(func(int) { disposed.Add(1) }))
			c.OnCancel(func(error) { canceled.Add(1) })
			c.Future().OnSettle(func(future.Outcome[int]) { settled.Add(1) })
			const each = 2
			var completed, byCancel atomic.Int64
			together(t, each*4, func(i int) {
				switch i % 4 {
				case 0:
					if c.Complete(i) {
						won.Add(1)
						completed.Add(1)
					}
				case 1:
					if c.Fail(errBoom) {
						won.Add(1)
					}
				case 2:
					if c.Future().Cancel(errWhy) {
						won.Add(1)
						byCancel.Add(1)
					}
				case 3:
					if c.Future().Abandon(errWhy) {
						won.Add(1)
					}
				}
			})
			require.EqualValues(t, 1, won.Load())
			require.EqualValues(t, 1, settled.Load())
			require.EqualValues(t, each-completed.Load(), disposed.Load(), "FUT-3: each value delivered or disposed of")
			require.Equal(t, byCancel.Load(), canceled.Load())
		}
	})

	t.Run("FUT-4_the_outcome_is_published_before_any_callback", func(t *testing.T) {
		c := future.NewCompleter[int]()
		f := c.Future()
		done := f.Done()
		look := func() {
			requireValue(t, f, 5)
			testwait.Done(t, done)
			v, err := f.Await(ended(errWhy))
			require.NoError(t, err)
			require.Equal(t, 5, v)
		}
		looks := 0
		f.OnSettle(func(o future.Outcome[int]) { looks++; require.Equal(t, 5, o.Value); look() })
		c.Complete(5)
		require.Equal(t, 1, looks)
	})

	t.Run("zero_value_has_no_value", func(t *testing.T) {
		var f future.Future[int]
		requireErr(t, &f, future.ErrNoValue)
		for _, use := range []func(f *future.Future[int]){
			func(f *future.Future[int]) { _, err := f.Await(bg); require.Same(t, future.ErrNoValue, err) },
			func(f *future.Future[int]) { testwait.Done(t, f.Done()) },
			func(f *future.Future[int]) {
				var got error
				f.OnSettle(func(o future.Outcome[int]) { got = o.Err })
				require.Same(t, future.ErrNoValue, got)
			},
			func(f *future.Future[int]) { require.False(t, f.Cancel(nil)) },
			func(f *future.Future[int]) { require.False(t, f.Abandon(nil)) },
			func(f *future.Future[int]) { requireErr(t, future.Shield(f), future.ErrNoValue) },
			func(f *future.Future[int]) { requireErr(t, future.Race(bg, f), future.ErrNoValue) },
		} {
			use(&future.Future[int]{})
		}

		var c future.Completer[*closer]
		late := &closer{}
		require.False(t, c.Complete(late))
		require.EqualValues(t, 1, late.closed.Load())
		require.False(t, c.Fail(errBoom))
		c.OnCancel(func(error) { t.Error("OnCancel ran") })
		requireErr(t, c.Future(), future.ErrNoValue)
	})
}

func TestDispose(t *testing.T) {
	t.Run("FUT-3_a_late_value_goes_to_WithDispose", func(t *testing.T) {
		for name, settle := range map[string]func(*future.Completer[*closer]){
			"after Cancel":   func(c *future.Completer[*closer]) { c.Future().Cancel(nil) },
			"after Abandon":  func(c *future.Completer[*closer]) { c.Future().Abandon(nil) },
			"after Fail":     func(c *future.Completer[*closer]) { c.Fail(errBoom) },
			"after Complete": func(c *future.Completer[*closer]) { c.Complete(&closer{}) },
		} {
			var got []*closer
			c := future.NewCompleter(future.WithDispose[*closer](nil),
				future.WithDispose(func(v *closer) { got = append(got, v) }), future.Option[*closer]{})
			settle(c)
			require.Empty(t, got, name)
			late := &closer{}
			require.False(t, c.Complete(late), name)
			require.Len(t, got, 1, name)
			require.Same(t, late, got[0], name)
			require.Zero(t, late.closed.Load(), "not closed as well")
		}
	})

	t.Run("FUT-3_else_a_Closer_is_closed_and_its_error_reported", func(t *testing.T) {
		logged := recordLogs(t)
		c := future.NewCompleter[*closer]()
		c.Future().Cancel(nil)
		fine, bad := &closer{}, &closer{end: func() error { return errBoom }}
		c.Complete(fine)
		require.EqualValues(t, 1, fine.closed.Load())
		require.Empty(t, logged())
		c.Complete(bad)
		require.EqualValues(t, 1, bad.closed.Load())
		require.Equal(t, []string{"ERROR future: disposing of a late value failed error=boom"}, logged())
	})

	t.Run("FUT-3_else_nothing", func(t *testing.T) {
		c := future.NewCompleter[any]()
		c.Future().Cancel(nil)
		require.False(t, c.Complete(7))
		require.False(t, c.Complete(nil))
	})

	t.Run("FUT-3_a_delivered_value_is_never_disposed_of", func(t *testing.T) {
		v := &closer{}
		c := future.NewCompleter(future.WithDispose(func(*closer) { t.Error("disposed of") }))
		require.True(t, c.Complete(v))
		f := c.Future()
		f.Cancel(nil)
		f.Abandon(nil)
		derived := []*future.Future[*closer]{
			future.Shield(f), future.Race(bg, f),
			future.Recover(bg, f, func(context.Context, error) (*closer, error) { return nil, nil }),
		}
		for _, d := range derived {
			requireValue(t, d, v)
			d.Cancel(nil)
		}
		require.Zero(t, v.closed.Load())
	})

	t.Run("FUT-3_a_dispose_that_panics_is_contained_and_reported", func(t *testing.T) {
		logged := recordLogs(t)
		c := future.NewCompleter(future.WithDispose(func(int) { panic(badError{}) }))
		c.Future().Abandon(nil)
		require.False(t, c.Complete(1))
		require.Len(t, logged(), 1)
		require.Contains(t, logged()[0], "disposing of a late value failed error=panic: ")
	})

	t.Run("FUT-3_a_dispose_that_Goexits_is_reported", func(t *testing.T) {
		logged := recordLogs(t)
		c := future.NewCompleter(future.WithDispose(func(int) { goexit() }))
		c.Future().Abandon(nil)
		require.Equal(t, ending{goexit: true}, end(t, func() { c.Complete(1) }))
		require.Equal(t, []string{"ERROR future: disposing of a late value failed error=" + future.ErrGoexit.Error()}, logged())
	})
}

func TestCallbacks(t *testing.T) {
	t.Run("FUT-5_OnSettle_runs_once_in_registration_order", func(t *testing.T) {
		c := future.NewCompleter[int]()
		var got []int
		for i := range 5 {
			if i == 2 {
				c.Future().Done() // makes its channel the first of what waits
			}
			c.Future().OnSettle(func(o future.Outcome[int]) { got = append(got, i) })
		}
		require.Empty(t, got)
		c.Complete(1)
		require.Equal(t, []int{0, 1, 2, 3, 4}, got)
		c.Future().OnSettle(func(o future.Outcome[int]) { got = append(got, 5) })
		require.Equal(t, []int{0, 1, 2, 3, 4, 5}, got, "at once, on this goroutine")
	})

	t.Run("FUT-5_OnSettle_racing_the_settle_runs_once", func(t *testing.T) {
		for range 300 {
			c := future.NewCompleter[int]()
			var calls [4]atomic.Int64
			together(t, 5, func(i int) {
				if i == 4 {
					c.Complete(1)
					return
				}
				c.Future().OnSettle(func(future.Outcome[int]) { calls[i].Add(1) })
			})
			for i := range calls {
				require.EqualValues(t, 1, calls[i].Load())
			}
		}
	})

	t.Run("FUT-5_a_callback_may_call_anything_on_the_same_future", func(t *testing.T) {
		c := future.NewCompleter[int]()
		f := c.Future()
		var got []string
		c.OnCancel(func(cause error) {
			got = append(got, "cancel")
			require.False(t, f.Cancel(nil))
			require.False(t, f.Abandon(nil))
			require.False(t, c.Complete(1))
			require.False(t, c.Fail(errBoom))
			f.OnSettle(func(future.Outcome[int]) { got = append(got, "settle within cancel") })
			c.OnCancel(func(error) { got = append(got, "cancel within cancel") })
			testwait.Done(t, f.Done())
		})
		f.OnSettle(func(o future.Outcome[int]) {
			got = append(got, "settle")
			c.OnCancel(func(error) { got = append(got, "cancel within settle") })
			requireCanceled(t, future.Then(bg, f, func(context.Context, int) (int, error) { return 0, nil }), errWhy)
			_, err := f.Await(bg)
			require.Same(t, o.Err, err)
		})
		testwait.Call(t, func() { f.Cancel(errWhy) })
		require.Equal(t, []string{"cancel", "settle within cancel", "cancel within cancel", "settle", "cancel within settle"}, got)
	})

	t.Run("FUT-4_the_first_panic_goes_on_after_all_ran", func(t *testing.T) {
		logged := recordLogs(t)
		c := future.NewCompleter[int]()
		var got []int
		for i := range 5 {
			c.Future().OnSettle(func(future.Outcome[int]) {
				got = append(got, i)
				if i%2 == 1 {
					panic(i)
				}
			})
		}
		require.Equal(t, ending{panicked: 1}, end(t, func() { c.Complete(1) }))
		require.Equal(t, []int{0, 1, 2, 3, 4}, got)
		requireValue(t, c.Future(), 1)
		require.Len(t, logged(), 1, "the second panic has no way up")
		require.Contains(t, logged()[0], "ERROR future: callback panicked panic=3 stack=goroutine")
		require.Contains(t, logged()[0], "TestCallbacks", "the stack shows whose function it was")
	})

	t.Run("FUT-4_a_Goexit_goes_on_after_all_ran", func(t *testing.T) {
		c := future.NewCompleter[int]()
		var got []int
		for i := range 4 {
			c.Future().OnSettle(func(future.Outcome[int]) {
				got = append(got, i)
				if i%2 == 0 {
					goexit()
				}
			})
		}
		require.Equal(t, ending{goexit: true}, end(t, func() { c.Complete(1) }))
		require.Equal(t, []int{0, 1, 2, 3}, got)
		requireValue(t, c.Future(), 1)
	})

	t.Run("FUT-4_panic_and_Goexit_in_one_settle", func(t *testing.T) {
		for _, goexitFirst := range []bool{false, true} {
			logged := recordLogs(t)
			c := future.NewCompleter[int]()
			var got []int
			for i := range 4 {
				c.Future().OnSettle(func(future.Outcome[int]) {
					got = append(got, i)
					switch {
					case i == 0 && goexitFirst || i == 2 && !goexitFirst:
						goexit()
					case i == 0 || i == 2:
						panic(errBoom)
					}
				})
			}
			panicked, goexited := bothEnds(t, func() { c.Complete(1) })
			require.Equal(t, errBoom, panicked)
			require.True(t, goexited)
			require.Equal(t, []int{0, 1, 2, 3}, got)
			if !goexitFirst {
				require.Equal(t, []string{"ERROR future: callback called runtime.Goexit error=" + future.ErrGoexit.Error()}, logged())
			}
		}
	})

	t.Run("FUT-4_panic_nil_counts", func(t *testing.T) {
		c := future.NewCompleter[int]()
		ran := false
		c.Future().OnSettle(func(future.Outcome[int]) { panic(nil) })
		c.Future().OnSettle(func(future.Outcome[int]) { ran = true })
		e := end(t, func() { c.Complete(1) })
		require.IsType(t, &runtime.PanicNilError{}, e.panicked)
		require.True(t, ran)
	})

	t.Run("FUT-4_OnCancel_that_panics_skips_no_one", func(t *testing.T) {
		c := future.NewCompleter[int]()
		var got []string
		c.Future().OnSettle(func(future.Outcome[int]) { got = append(got, "settle") })
		c.OnCancel(func(error) { got = append(got, "first"); panic("first") })
		c.OnCancel(func(error) { got = append(got, "second") })
		require.Equal(t, ending{panicked: "first"}, end(t, func() { c.Future().Cancel(nil) }))
		require.Equal(t, []string{"first", "second", "settle"}, got)
	})

	t.Run("FUT-4_at_the_end_of_a_ctx_what_callbacks_do_is_contained", func(t *testing.T) {
		for _, how := range []struct {
			end func()
			log string
		}{
			{func() { panic(badError{}) }, "ERROR future: callback panicked panic="},
			{goexit, "ERROR future: callback called runtime.Goexit error="},
		} {
			logged := recordLogs(t)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(bg)
				c := future.NewCompleter[int]()
				d := future.Then(ctx, c.Future(), func(context.Context, int) (int, error) { return 0, nil })
				ran := make(chan struct{})
				d.OnSettle(func(future.Outcome[int]) { how.end() })
				d.OnSettle(func(future.Outcome[int]) { close(ran) })
				cancel(errWhy)
				testwait.Done(t, ran)
				synctest.Wait()
				requireCanceled(t, d, errWhy)
				requireCanceled(t, c.Future(), errWhy)
			})
			require.Len(t, logged(), 1)
			require.Contains(t, logged()[0], how.log)
		}
	})

	t.Run("B30_a_panicking_and_a_Goexiting_OnSettle_leave_delivery_alone", func(t *testing.T) {
		cs, fs := pending(5)
		fs[0].OnSettle(func(future.Outcome[int]) { panic("callback") })
		fs[1].OnSettle(func(future.Outcome[int]) { goexit() })
		reports := 0
		for i, c := range cs { // a net around each delivery, as a worker has
			if e := end(t, func() { c.Complete(i) }); e != (ending{}) {
				reports++
			}
		}
		for i, f := range fs {
			requireValue(t, f, i)
		}
		require.Equal(t, 2, reports)
	})

	t.Run("nil_functions_panic", func(t *testing.T) {
		c := future.NewCompleter[int]()
		require.PanicsWithValue(t, "future: OnSettle with a nil function", func() { c.Future().OnSettle(nil) })
		require.PanicsWithValue(t, "future: OnCancel with a nil function", func() { c.OnCancel(nil) })
	})
}

func TestCancel(t *testing.T) {
	t.Run("FUT-6_OnCancel_runs_before_OnSettle", func(t *testing.T) {
		c := future.NewCompleter[int]()
		var got []string
		note := func(s string) { got = append(got, s) }
		c.Future().OnSettle(func(future.Outcome[int]) { note("settle 1") })
		c.OnCancel(func(cause error) { require.Equal(t, errWhy, cause); note("cancel 1") })
		c.Future().OnSettle(func(future.Outcome[int]) { note("settle 2") })
		c.OnCancel(func(error) { note("cancel 2") })
		require.True(t, c.Future().Cancel(errWhy))
		require.Equal(t, []string{"cancel 1", "cancel 2", "settle 1", "settle 2"}, got, "all had run when Cancel returned")
		c.OnCancel(func(cause error) { require.Equal(t, errWhy, cause); note("cancel 3") })
		require.Equal(t, "cancel 3", got[4], "at once if a Cancel has won")
	})

	t.Run("FUT-6_OnCancel_never_runs_when_settled_otherwise", func(t *testing.T) {
		for name, settle := range map[string]func(c *future.Completer[int]){
			"Complete": func(c *future.Completer[int]) { c.Complete(1) },
			"Fail":     func(c *future.Completer[int]) { c.Fail(errBoom) },
			"Fail with a CanceledError": func(c *future.Completer[int]) {
				c.Fail(&future.CanceledError{Cause: errWhy})
			},
			"Abandon": func(c *future.Completer[int]) { c.Future().Abandon(errWhy) },
		} {
			c := future.NewCompleter[int]()
			c.OnCancel(func(error) { t.Error("before: " + name) })
			settled := false
			c.Future().OnSettle(func(future.Outcome[int]) { settled = true })
			settle(c)
			require.False(t, c.Future().Cancel(nil))
			c.OnCancel(func(error) { t.Error("after: " + name) })
			require.True(t, settled)
		}
	})

	t.Run("FUT-6_futures_canceled_by_one_ctx_do_not_wait_for_one_another", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(bg)
		cs, fs := pending(3)
		gate := make(chan struct{})
		entered := make(chan struct{}, len(cs))
		var ds []*future.Future[int]
		for i, f := range fs {
			cs[i].OnCancel(func(error) { entered <- struct{}{}; <-gate })
			ds = append(ds, future.Then(ctx, f, func(_ context.Context, v int) (int, error) { return v, nil }))
		}
		cancel(errWhy)
		for range cs {
			testwait.Done(t, entered)
		}
		close(gate)
		for _, d := range ds {
			testwait.Done(t, d.Done())
			requireCanceled(t, d, errWhy)
		}
	})

	t.Run("FUT-7_a_nil_cause_stands_for_context.Canceled", func(t *testing.T) {
		c := future.NewCompleter[int]()
		c.Future().Cancel(nil)
		requireCanceled(t, c.Future(), context.Canceled)
		c = future.NewCompleter[int]()
		c.Future().Abandon(nil)
		requireCanceled(t, c.Future(), context.Canceled)
	})

	t.Run("B37_the_cause_is_kept_and_a_late_error_dropped", func(t *testing.T) {
		c := future.NewCompleter[int]()
		require.True(t, c.Future().Cancel(errWhy))
		require.False(t, c.Fail(errBoom))
		_, err := c.Future().Await(bg)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errWhy)
		require.NotErrorIs(t, err, errBoom)
	})
}

func TestAwait(t *testing.T) {
	t.Run("FUT-7_ctx_ends_first", func(t *testing.T) {
		c := future.NewCompleter[int]()
		f := c.Future()
		_, err := f.Await(ended(errWhy))
		require.Equal(t, &future.InterruptedError{Err: context.Canceled, Cause: errWhy}, err)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errWhy)
		requirePending(t, f)

		c.Complete(3)
		v, err := f.Await(ended(errWhy))
		require.NoError(t, err, "a settled future wins over an ended ctx, and was not settled by it")
		require.Equal(t, 3, v)
	})

	t.Run("FUT-7_a_deadline_in_a_bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errWhy)
			defer cancel()
			c := future.NewCompleter[int]()
			start := time.Now()
			_, err := c.Future().Await(ctx)
			require.Equal(t, time.Hour, time.Since(start))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, errWhy)
			require.NotErrorIs(t, err, context.Canceled)
			requirePending(t, c.Future())
		})
	})

	t.Run("FUT-7_a_value_in_a_bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := future.NewCompleter[int]()
			for _, ctx := range []context.Context{bg, t.Context()} {
				go func() {
					v, err := c.Future().Await(ctx)
					require.NoError(t, err)
					require.Equal(t, 8, v)
				}()
			}
			synctest.Wait() // both are durably blocked
			time.AfterFunc(time.Minute, func() { c.Complete(8) })
			v, err := c.Future().Await(t.Context())
			require.NoError(t, err)
			require.Equal(t, 8, v)
		})
	})

	t.Run("FUT-7_settled_wins_over_ended_whenever_both_are_true", func(t *testing.T) {
		for range 200 {
			c := future.NewCompleter[int]()
			ctx, cancel := context.WithCancel(bg)
			together(t, 2, func(i int) {
				if i == 0 {
					c.Complete(1)
					cancel()
					return
				}
				_, err := c.Future().Await(ctx)
				require.NoError(t, err)
			})
		}
	})

	t.Run("FUT-8_timeout_cancellation_and_interruption_are_told_apart", func(t *testing.T) {
		late, cancel := context.WithDeadline(bg, time.Now().Add(-1))
		defer cancel()
		c := future.NewCompleter[int]()
		_, interrupted := c.Future().Await(late)
		d := future.Then(late, c.Future(), func(context.Context, int) (int, error) { return 0, nil })
		_, timedOut := d.Await(bg)
		e := future.NewCompleter[int]()
		e.Future().Cancel(errWhy)
		_, canceled := e.Future().Await(bg)

		is := func(err error) (i, c, deadline, cancel bool) {
			_, i = errors.AsType[*future.InterruptedError](err)
			_, c = errors.AsType[*future.CanceledError](err)
			return i, c, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled)
		}
		all := func(a, b, c, d bool) [4]bool { return [4]bool{a, b, c, d} }
		require.Equal(t, [4]bool{true, false, true, false}, all(is(interrupted)))
		require.Equal(t, [4]bool{false, true, true, true}, all(is(timedOut)))
		require.Equal(t, [4]bool{false, true, false, true}, all(is(canceled)))
	})

	t.Run("nil_ctx_is_a_ConfigError", func(t *testing.T) {
		_, err := future.Completed(1).Await(noCtx)
		requireConfigError(t, err, "ctx")
	})
}

func TestDone(t *testing.T) {
	c := future.NewCompleter[int]()
	f := c.Future()
	done := f.Done()
	require.Equal(t, done, f.Done(), "one channel")
	select {
	case <-done:
		t.Fatal("closed while pending")
	default:
	}
	c.Complete(1)
	testwait.Done(t, done)
	testwait.Done(t, f.Done())
	testwait.Done(t, future.Completed(1).Done())
}

func TestAllocs(t *testing.T) {
	dispose := future.WithDispose(func(int) {})
	var c *future.Completer[int]
	require.EqualValues(t, 1, testing.AllocsPerRun(100, func() {
		c = future.NewCompleter(dispose)
	}), "FUT-12 NewCompleter with options")
	settled := future.Completed(1)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	require.EqualValues(t, 0, testing.AllocsPerRun(100, func() {
		_, _ = settled.Await(ctx)
		settled.Outcome()
		settled.Done()
		settled.Cancel(errWhy)
	}), "FUT-12 a settled future")
	require.EqualValues(t, 1, testing.AllocsPerRun(100, func() {
		c = future.NewCompleter[int]()
		c.Complete(1)
		_, _ = c.Future().Await(ctx)
	}), "FUT-12 create, complete, await")
	require.EqualValues(t, 2, testing.AllocsPerRun(100, func() {
		c = future.NewCompleter[int]()
		c.Future().Done()
		c.Complete(1)
	}), "FUT-12 Done's channel is made when somebody asks")
	_ = c
}

// together runs fn(0) to fn(n-1) on goroutines that start at one moment.
func together(t *testing.T, n int, fn func(i int)) {
	t.Helper()
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { <-start; fn(i) })
	}
	close(start)
	testwait.Call(t, wg.Wait)
}

func requireConfigError(t *testing.T, err error, field string) {
	t.Helper()
	require.ErrorIs(t, err, future.ErrConfig)
	var config *future.ConfigError
	require.ErrorAs(t, err, &config)
	require.Equal(t, field, config.Field)
	require.Error(t, config.Reason)
}
