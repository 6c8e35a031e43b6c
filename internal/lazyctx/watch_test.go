package lazyctx_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/internal/lazyctx"
	"github.com/cadre-go/cadre/internal/testwait"
)

func TestWatch(t *testing.T) {
	cause := errors.New("the cause")

	t.Run("EXEC-11_is_told_of_a_Cancel_with_its_cause", func(t *testing.T) {
		c := &lazyctx.Ctx{Parent: t.Context()}
		var ws [3]lazyctx.Watch
		told := make(chan error, len(ws))
		for i := range ws {
			c.Watch(&ws[i], lazyctx.Func(func(cause error) { told <- cause }))
		}
		ws[1].Stop()
		signal := c.Canceled()
		c.Cancel(cause)
		testwait.Done(t, signal)
		require.Equal(t, cause, testwait.Value(t, told))
		require.Equal(t, cause, testwait.Value(t, told))
		require.Empty(t, told, "one had been stopped")
		for i := range ws {
			ws[i].Stop()
		}

		var late lazyctx.Watch
		c.Watch(&late, lazyctx.Func(func(cause error) { told <- cause }))
		require.Equal(t, cause, testwait.Value(t, told))
		late.Stop()
		testwait.Done(t, c.Canceled())
	})

	t.Run("EXEC-11_stops_in_any_order", func(t *testing.T) {
		for first := range 3 {
			for second := range 3 {
				synctest.Test(t, func(t *testing.T) {
					c := &lazyctx.Ctx{Parent: t.Context()}
					told := make(chan int, 3)
					var ws [3]lazyctx.Watch
					for i := range ws {
						c.Watch(&ws[i], lazyctx.Func(func(error) { told <- i }))
					}
					ws[first].Stop()
					ws[second].Stop()
					ws[second].Stop()
					c.Cancel(cause)
					for i := range ws {
						if i != first && i != second {
							testwait.Done(t, told)
						}
					}
					synctest.Wait()
					require.Empty(t, told)
				})
			}
		}
	})

	t.Run("EXEC-11_that_was_never_set_stops", func(t *testing.T) {
		var w lazyctx.Watch
		require.NotPanics(t, w.Stop)
	})

	t.Run("EXEC-11_is_not_told_of_anything_else", func(t *testing.T) {
		parent, end := context.WithCancelCause(t.Context())
		c := &lazyctx.Ctx{Parent: parent}
		var w, late lazyctx.Watch
		c.Watch(&w, lazyctx.Func(func(error) { t.Error("of the parent's end, or after Release") }))
		c.Release()
		c.Watch(&late, lazyctx.Func(func(error) { t.Error("after Release") }))
		c.Cancel(cause)
		end(cause)
		require.Error(t, c.Err())
		select {
		case <-c.Canceled():
			t.Error("a Ctx that was released is not canceled")
		default:
		}
		w.Stop()
		late.Stop()
	})

	t.Run("EXEC-11_a_released_Ctx_keeps_no_watch", func(t *testing.T) {
		c := &lazyctx.Ctx{Parent: t.Context()}
		w := &lazyctx.Watch{}
		kept := weak.Make(w)
		c.Watch(w, lazyctx.Func(func(error) {}))
		c.Release()
		w = nil
		testwait.Until(t, func() bool { runtime.GC(); return kept.Value() == nil })
		runtime.KeepAlive(c)
	})

	t.Run("EXEC-13_Canceled_builds_nothing", func(t *testing.T) {
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
			c := &lazyctx.Ctx{Parent: context.Background()}
			c.Canceled()
			var w lazyctx.Watch
			c.Watch(&w, lazyctx.Func(func(error) {}))
			w.Stop()
			c.Release()
		}), 3.0) // the Ctx, the channel, the Watch
	})
}
