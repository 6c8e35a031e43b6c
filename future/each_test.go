package future_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/testwait"
)

func requireUnwatched(t *testing.T, cs ...*future.Completer[int]) {
	t.Helper()
	for i, c := range cs {
		require.False(t, link.Watched(c), "a subscription is left on %d", i)
	}
}

func TestEach(t *testing.T) {
	t.Run("FUT-10_every_future_once_as_they_settle", func(t *testing.T) {
		cs, fs := pending(4)
		cs[2].Complete(2)
		cs[0].Fail(errBoom)
		var order []int
		for i, o := range future.Each(bg, fs...) {
			order = append(order, i)
			want, _ := fs[i].Outcome()
			require.Equal(t, want, o)
			switch len(order) {
			case 2:
				cs[3].Complete(3)
				cs[1].Complete(1)
			}
		}
		require.Equal(t, []int{0, 2, 3, 1}, order)
	})

	t.Run("FUT-10_waits_for_what_is_pending", func(t *testing.T) {
		cs, fs := pending(50)
		seen := map[int]int{}
		testwait.Call(t, func() {
			go func() {
				for i, c := range cs {
					c.Complete(i)
				}
			}()
			for i, o := range future.Each(bg, fs...) {
				seen[i]++
				require.Equal(t, i, o.Value)
			}
		})
		require.Len(t, seen, len(cs))
	})

	t.Run("FUT-10_leaves_nothing_behind", func(t *testing.T) {
		for name, leave := range map[string]func(*[]int){
			"break":  func(*[]int) {},
			"panic":  func(*[]int) { panic("body") },
			"Goexit": func(*[]int) { goexit() },
		} {
			cs, fs := pending(3)
			cs[1].Complete(1)
			var seen []int
			e := end(t, func() {
				for i := range future.Each(bg, fs...) {
					seen = append(seen, i)
					require.True(t, link.Watched(cs[0]))
					leave(&seen)
					break
				}
			})
			require.Equal(t, []int{1}, seen, name)
			require.Equal(t, name == "panic", e.panicked != nil, name)
			require.Equal(t, name == "Goexit", e.goexit, name)
			requireUnwatched(t, cs...)
			requirePending(t, fs[0])
		}
	})

	t.Run("FUT-10_the_end_of_ctx_yields_what_is_pending_as_interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(bg)
		defer cancel(nil)
		cs, fs := pending(4)
		cs[3].Complete(3)
		var order []int
		for i, o := range future.Each(ctx, fs...) {
			order = append(order, i)
			switch i {
			case 3:
				cancel(errWhy)
			case 0:
				require.Equal(t, &future.InterruptedError{Err: context.Canceled, Cause: errWhy}, o.Err)
				require.False(t, o.Canceled())
				cs[1].Complete(1) // settled wins over ended
			case 1:
				require.Equal(t, future.Outcome[int]{Value: 1}, o)
			case 2:
				require.IsType(t, &future.InterruptedError{}, o.Err)
			}
		}
		require.Equal(t, []int{3, 0, 1, 2}, order)
		requirePending(t, fs[0])
		requireUnwatched(t, cs...)

		for range future.Each(ctx, fs[0], fs[2]) {
			break
		}
		requireUnwatched(t, cs...)
	})

	t.Run("FUT-10_the_end_of_ctx_passes_over_what_was_yielded_before", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(bg)
		defer cancel(nil)
		cs, fs := pending(3)
		cs[1].Complete(1)
		var order []int
		for i := range future.Each(ctx, fs...) {
			order = append(order, i)
			cancel(errWhy)
		}
		require.Equal(t, []int{1, 0, 2}, order)
	})

	t.Run("FUT-10_ctx_ends_while_waiting", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(bg)
		_, fs := pending(1)
		count := 0
		testwait.Call(t, func() {
			go cancel(errWhy)
			for _, o := range future.Each(ctx, fs...) {
				count++
				require.ErrorIs(t, o.Err, errWhy)
			}
		})
		require.Equal(t, 1, count)
	})

	t.Run("duplicates_come_once_for_each_index", func(t *testing.T) {
		cs, fs := pending(1)
		seen := map[int]int{}
		cs[0].Complete(4)
		for i, o := range future.Each(bg, fs[0], fs[0]) {
			seen[i]++
			require.Equal(t, 4, o.Value)
		}
		require.Equal(t, map[int]int{0: 1, 1: 1}, seen)
	})

	t.Run("can_be_ranged_over_again_and_keeps_its_own_slice", func(t *testing.T) {
		fs := []*future.Future[int]{future.Completed(1), future.Completed(2)}
		each := future.Each(bg, fs...)
		for range 2 {
			sum := 0
			for _, o := range each {
				sum += o.Value
				clear(fs)
			}
			require.Equal(t, 3, sum)
		}
		for range future.Each[int](bg) {
			t.Error("no futures")
		}
	})

	t.Run("bad_input_panics_naming_Each", func(t *testing.T) {
		require.PanicsWithValue(t, "future: Each: ctx is <nil>: a context is required",
			func() { future.Each(noCtx, future.Completed(1)) })
		require.PanicsWithValue(t, "future: Each: future is <nil>: a future is required",
			func() { future.Each[int](bg, nil) })
	})
}
