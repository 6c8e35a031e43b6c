package future_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/testwait"
)

// combinator is a combinator whose result's type does not matter.
type combinator func(ctx context.Context, fs ...*future.Future[int]) handle

type handle interface {
	Cancel(error) bool
	Abandon(error) bool
	Done() <-chan struct{}
}

var combinators = map[string]combinator{
	"All":     func(ctx context.Context, fs ...*future.Future[int]) handle { return future.All(ctx, fs...) },
	"Settled": func(ctx context.Context, fs ...*future.Future[int]) handle { return future.Settled(ctx, fs...) },
	"Any":     func(ctx context.Context, fs ...*future.Future[int]) handle { return future.Any(ctx, fs...) },
	"Race":    func(ctx context.Context, fs ...*future.Future[int]) handle { return future.Race(ctx, fs...) },
}

// outcomeOf returns how the result of a combinator settled.
func outcomeOf(t *testing.T, h handle) (err error) {
	t.Helper()
	ok := false
	switch f := h.(type) {
	case *future.Future[int]:
		var o future.Outcome[int]
		o, ok = f.Outcome()
		err = o.Err
	case *future.Future[[]int]:
		var o future.Outcome[[]int]
		o, ok = f.Outcome()
		err = o.Err
	case *future.Future[[]future.Outcome[int]]:
		var o future.Outcome[[]future.Outcome[int]]
		o, ok = f.Outcome()
		err = o.Err
	}
	require.True(t, ok, "pending")
	return err
}

func TestCombinators(t *testing.T) {
	for name, combine := range combinators {
		t.Run("FUT-10_canceling_the_aggregate_reaches_every_pending_input/"+name, func(t *testing.T) {
			cs, fs := pending(4)
			if name == "Any" {
				cs[1].Fail(errBoom)
			} else if name != "Race" {
				cs[1].Complete(1)
			}
			h := combine(bg, fs...)
			require.True(t, h.Cancel(errWhy))
			require.Equal(t, &future.CanceledError{Cause: errWhy}, outcomeOf(t, h))
			for i, f := range fs {
				if i != 1 || name == "Race" {
					requireCanceled(t, f, errWhy)
				}
			}
		})

		t.Run("FUT-10_the_end_of_ctx_cancels_aggregate_and_inputs/"+name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(bg)
			cs, fs := pending(3)
			reached := make(chan struct{}, len(cs))
			for _, c := range cs {
				c.OnCancel(func(error) { reached <- struct{}{} })
			}
			h := combine(ctx, fs...)
			cancel(errWhy)
			for range cs {
				testwait.Done(t, reached)
			}
			require.Equal(t, &future.CanceledError{Cause: errWhy}, outcomeOf(t, h))
			for _, f := range fs {
				requireCanceled(t, f, errWhy)
			}
		})

		t.Run("FUT-10_a_ctx_that_had_ended_before/"+name, func(t *testing.T) {
			_, fs := pending(2)
			h := combine(ended(errWhy), fs...)
			require.Equal(t, &future.CanceledError{Cause: errWhy}, outcomeOf(t, h))
			for _, f := range fs {
				requireCanceled(t, f, errWhy)
			}
		})

		t.Run("FUT-10_abandoning_the_aggregate_leaves_its_inputs_alone/"+name, func(t *testing.T) {
			cs, fs := pending(3)
			var h handle
			// Registered before the combinator's own: the aggregate is
			// abandoned when an input has settled but is not looked at yet.
			fs[0].OnSettle(func(future.Outcome[int]) { require.True(t, h.Abandon(errWhy)) })
			h = combine(bg, fs...)
			cs[0].Fail(errBoom)
			requirePending(t, fs[1])
			cs[1].Complete(1)
			requirePending(t, fs[2])
			require.Equal(t, &future.CanceledError{Cause: errWhy}, outcomeOf(t, h))
		})

		t.Run("FUT-10_inputs_whose_callbacks_end_badly_are_canceled_all_the_same/"+name, func(t *testing.T) {
			logged := recordLogs(t)
			cs, fs := pending(4)
			cs[0].OnCancel(func(error) { panic("first") })
			cs[1].OnCancel(func(error) { panic("second") })
			h := combine(bg, fs...)
			require.Equal(t, ending{panicked: "first"}, end(t, func() { h.Cancel(errWhy) }))
			for _, f := range fs {
				requireCanceled(t, f, errWhy)
			}
			require.Len(t, logged(), 1)

			cs, fs = pending(4)
			cs[0].OnCancel(func(error) { goexit() })
			h = combine(bg, fs...)
			require.Equal(t, ending{goexit: true}, end(t, func() { h.Cancel(errWhy) }))
			for _, f := range fs {
				requireCanceled(t, f, errWhy)
			}
		})

		t.Run("one_future_among_the_inputs_twice/"+name, func(t *testing.T) {
			cs, fs := pending(1)
			h := combine(bg, fs[0], fs[0])
			cs[0].Complete(7)
			require.NoError(t, outcomeOf(t, h))
			require.NoError(t, outcomeOf(t, combine(bg, fs[0], fs[0])))

			_, fs = pending(1)
			h = combine(bg, fs[0], fs[0])
			h.Cancel(errWhy)
			requireCanceled(t, fs[0], errWhy)
		})

		t.Run("bad_input/"+name, func(t *testing.T) {
			_, fs := pending(1)
			requireConfigError(t, outcomeOf(t, combine(noCtx, fs...)), "ctx")
			requireConfigError(t, outcomeOf(t, combine(noCtx)), "ctx")
			requireConfigError(t, outcomeOf(t, combine(bg, fs[0], nil)), "future")
			requirePending(t, fs[0])
		})

		t.Run("the_caller_may_write_to_its_slice/"+name, func(t *testing.T) {
			_, fs := pending(2)
			mine := []*future.Future[int]{fs[0], fs[1]}
			h := combine(bg, mine...)
			clear(mine)
			h.Cancel(errWhy)
			requireCanceled(t, fs[1], errWhy)
		})
	}
}

func TestAll(t *testing.T) {
	t.Run("FUT-10_values_in_index_order", func(t *testing.T) {
		cs, fs := pending(3)
		cs[1].Complete(1)
		all := future.All(bg, fs...)
		cs[2].Complete(2)
		requirePending(t, all)
		cs[0].Complete(0)
		requireValue(t, all, []int{0, 1, 2})
	})

	t.Run("FUT-10_fails_with_the_first_failure_and_cancels_the_rest", func(t *testing.T) {
		cs, fs := pending(4)
		all := future.All(bg, fs...)
		var seen []bool
		all.OnSettle(func(future.Outcome[[]int]) {
			for _, f := range fs {
				_, ok := f.Outcome()
				seen = append(seen, ok)
			}
		})
		cs[0].Complete(1)
		err := &testError{}
		cs[2].Fail(err)
		requireErr(t, all, err)
		requireValue(t, fs[0], 1)
		requireCanceled(t, fs[1], err)
		requireCanceled(t, fs[3], err)
		require.Equal(t, []bool{true, true, true, true}, seen, "canceled before the aggregate's callbacks")
		requireErr(t, future.All(bg, fs...), mustErr(fs[1]))
	})

	t.Run("FUT-10_a_callback_of_the_aggregate_that_panics_leaves_no_input_running", func(t *testing.T) {
		cs, fs := pending(3)
		all := future.All(bg, fs...)
		ran := false
		cs[1].OnCancel(func(error) { panic("input") })
		all.OnSettle(func(future.Outcome[[]int]) { ran = true })
		require.Equal(t, ending{panicked: "input"}, end(t, func() { cs[0].Fail(errBoom) }))
		require.True(t, ran)
		requireCanceled(t, fs[2], errBoom)
	})

	t.Run("FUT-10_a_loser_may_await_the_aggregate", func(t *testing.T) {
		cs, fs := pending(2)
		all := future.All(bg, fs...)
		cs[1].OnCancel(func(error) { _, err := all.Await(bg); require.Equal(t, errBoom, err) })
		testwait.Call(t, func() { cs[0].Fail(errBoom) })
	})

	t.Run("FUT-10_a_late_value_is_disposed_of_by_its_own_future", func(t *testing.T) {
		a, b, c := future.NewCompleter[*closer](), future.NewCompleter[*closer](), future.NewCompleter[*closer]()
		early, late := &closer{}, &closer{}
		a.Complete(early)
		all := future.All(bg, a.Future(), b.Future(), c.Future())
		c.Fail(errBoom)
		requireErr(t, all, errBoom)
		require.False(t, b.Complete(late))
		require.EqualValues(t, 1, late.closed.Load())
		require.Zero(t, early.closed.Load())
		requireValue(t, a.Future(), early)
	})

	t.Run("FUT-10_of_no_futures", func(t *testing.T) {
		requireValue(t, future.All[int](bg), []int{})
		requireValue(t, future.Settled[int](ended(errWhy)), []future.Outcome[int]{})
	})
}

func mustErr[T any](f *future.Future[T]) error {
	o, _ := f.Outcome()
	return o.Err
}

func TestSettled(t *testing.T) {
	t.Run("B38_index_aligned_outcomes", func(t *testing.T) {
		for range 2 { // a second use starts empty
			cs, fs := pending(3)
			settled := future.Settled(bg, fs...)
			cs[2].Complete(3)
			cs[1].Fail(errBoom)
			requirePending(t, settled)
			cs[0].Complete(1)
			requireValue(t, settled, []future.Outcome[int]{{Value: 1}, {Err: errBoom}, {Value: 3}})
			requireErr(t, future.All(bg, fs...), errBoom)
			requireValue(t, future.Any(bg, fs...), 1)
		}
	})

	t.Run("FUT-10_a_canceled_input_is_an_outcome_like_others", func(t *testing.T) {
		cs, fs := pending(2)
		settled := future.Settled(bg, fs...)
		fs[0].Cancel(errWhy)
		requirePending(t, fs[1])
		cs[1].Complete(1)
		o, _ := settled.Outcome()
		require.NoError(t, o.Err)
		require.True(t, o.Value[0].Canceled())
	})
}

func TestAny(t *testing.T) {
	t.Run("FUT-10_first_success_and_cancels_the_losers", func(t *testing.T) {
		cs, fs := pending(3)
		first := future.Any(bg, fs...)
		cs[0].Fail(errBoom)
		requirePending(t, first)
		cs[2].Complete(2)
		requireValue(t, first, 2)
		o, _ := fs[1].Outcome()
		require.True(t, o.Canceled())
	})

	t.Run("FUT-10_all_failed_is_joined", func(t *testing.T) {
		cs, fs := pending(3)
		first := future.Any(bg, fs...)
		cs[2].Fail(errWhy)
		fs[1].Cancel(nil)
		cs[0].Fail(errBoom)
		_, err := first.Await(bg)
		require.EqualError(t, err, "boom\nfuture: canceled\nwhy")
		require.ErrorIs(t, err, errBoom)
		require.ErrorIs(t, err, errWhy)
		require.Equal(t, "fallback", mustValue(t, future.Recover(bg, future.Then(bg, first, itoa),
			func(context.Context, error) (string, error) { return "fallback", nil })), "a failure, not a cancellation")
	})

	t.Run("FUT-10_of_no_futures", func(t *testing.T) {
		requireErr(t, future.Any[int](bg), future.ErrNoValue)
		requireErr(t, future.Race[int](bg), future.ErrNoValue)
	})
}

func mustValue[T any](t *testing.T, f *future.Future[T]) T {
	t.Helper()
	o, ok := f.Outcome()
	require.True(t, ok)
	require.NoError(t, o.Err)
	return o.Value
}

func TestRace(t *testing.T) {
	t.Run("FUT-10_first_outcome_and_cancels_the_losers", func(t *testing.T) {
		for name, win := range map[string]func(*future.Completer[int]) bool{
			"value":   func(c *future.Completer[int]) bool { return c.Complete(7) },
			"failure": func(c *future.Completer[int]) bool { return c.Fail(errBoom) },
			"cancel":  func(c *future.Completer[int]) bool { return c.Future().Cancel(errWhy) },
		} {
			for _, before := range []bool{true, false} {
				cs, fs := pending(3)
				stopped := 0
				for _, i := range []int{0, 2} {
					cs[i].OnCancel(func(error) { stopped++ })
				}
				if before {
					win(cs[1])
				}
				race := future.Race(bg, fs...)
				if !before {
					win(cs[1])
				}
				want, _ := fs[1].Outcome()
				got, ok := race.Outcome()
				require.True(t, ok, name)
				require.Equal(t, want, got, name)
				require.Equal(t, 2, stopped, name)
			}
		}
	})

	t.Run("FUT-10_an_input_that_had_settled_keeps_its_value", func(t *testing.T) {
		a, b := future.Completed(&closer{}), future.Completed(&closer{})
		race := future.Race(bg, a, b)
		requireValue(t, race, mustValue(t, a))
		race.Cancel(nil)
		require.Zero(t, mustValue(t, a).closed.Load()+mustValue(t, b).closed.Load())
	})

	t.Run("FUT-10_settling_while_it_is_being_built", func(t *testing.T) {
		for range 200 {
			cs, fs := pending(4)
			var stopped atomic.Int64
			for _, c := range cs {
				c.OnCancel(func(error) { stopped.Add(1) })
			}
			var race *future.Future[int]
			together(t, 3, func(i int) {
				if i == 2 {
					race = future.Race(bg, fs...)
				} else {
					cs[i].Complete(i)
				}
			})
			o, ok := race.Outcome()
			if !ok { // an input is published, its callbacks are on their way
				testwait.Done(t, race.Done())
				o, _ = race.Outcome()
			}
			require.NoError(t, o.Err)
			require.GreaterOrEqual(t, stopped.Load(), int64(2))
			for i := range fs {
				testwait.Done(t, fs[i].Done())
			}
		}
	})

	t.Run("the_loop_ends_with_the_first_that_had_settled", func(t *testing.T) {
		fs := make([]*future.Future[int], 2000)
		for i := range fs {
			fs[i] = future.Completed(i)
		}
		allocs := testing.AllocsPerRun(1, func() { future.Race(bg, fs...) })
		require.Less(t, allocs, 50.0)
	})
}

func TestCancelCauseOfLosers(t *testing.T) {
	cs, fs := pending(2)
	future.Race(bg, fs...)
	cs[0].Complete(1)
	o, _ := fs[1].Outcome()
	require.EqualError(t, errors.Unwrap(o.Err), "future: another future settled first")
}
