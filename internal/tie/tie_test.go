package tie_test

import (
	"bytes"
	"context"
	"errors"
	"runtime/pprof"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/internal/lazyctx"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/internal/tie"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errCause = errors.New("why")

// counted is a context that counts what is registered with it.
type counted struct {
	context.Context
	funcs map[int]func()
	next  int
	made  func() // called when a registration is made
}

func newCounted() *counted {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return &counted{Context: ctx, funcs: make(map[int]func())}
}

func (c *counted) Done() <-chan struct{} { return make(chan struct{}) }
func (c *counted) Err() error            { return nil }
func (c *counted) Value(any) any         { return nil }

// AfterFunc is what package context calls instead of starting a goroutine.
func (c *counted) AfterFunc(fn func()) func() bool {
	c.next++
	id := c.next
	c.funcs[id] = fn
	if c.made != nil {
		c.made()
	}
	return func() bool {
		_, ok := c.funcs[id]
		delete(c.funcs, id)
		return ok
	}
}

func TestTo(t *testing.T) {
	t.Run("FUT-6 DIAG-4 the end of ctx comes with its cause, once, on a goroutine without labels", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		ended := make(chan error, 2)
		relabeled := make(chan struct{})
		var labels bytes.Buffer
		var tied tie.Tie
		tied.To(ctx, lazyctx.Func(func(cause error) {
			<-relabeled
			_ = pprof.Lookup("goroutine").WriteTo(&labels, 1)
			ended <- cause
		}))
		pprof.Do(context.Background(), pprof.Labels("who", "canceler"), func(context.Context) { cancel(errCause) })
		close(relabeled)
		require.Equal(t, errCause, testwait.Value(t, ended))
		require.NotContains(t, labels.String(), "canceler")
		tied.Cut()
		require.Empty(t, ended)
	})
	t.Run("FUT-11 a ctx that cannot end costs nothing", func(t *testing.T) {
		var tied tie.Tie
		require.Zero(t, testing.AllocsPerRun(100, func() { tied.To(context.Background(), nil) }))
	})
	t.Run("FUT-11 cut, nothing is left with ctx", func(t *testing.T) {
		ctx := newCounted()
		var tied tie.Tie
		tied.To(ctx, lazyctx.Func(func(error) { t.Error("ended") }))
		require.Len(t, ctx.funcs, 1)
		tied.Cut()
		require.Empty(t, ctx.funcs)
		tied.Cut() // again
	})
	t.Run("FUT-11 cut while it is being tied, nothing is left either", func(t *testing.T) {
		ctx := newCounted()
		var tied tie.Tie
		ctx.made = tied.Cut
		tied.To(ctx, lazyctx.Func(func(error) { t.Error("ended") }))
		require.Empty(t, ctx.funcs)
	})
}

func TestToCancel(t *testing.T) {
	parent, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	t.Run("EXEC-11 a Cancel ends it with the cause", func(t *testing.T) {
		own := &lazyctx.Ctx{Parent: parent}
		ended := make(chan error, 1)
		var tied tie.Tie
		tied.ToCancel(own, lazyctx.Func(func(cause error) { ended <- cause }))
		own.Cancel(errCause)
		require.Equal(t, errCause, testwait.Value(t, ended))
	})
	t.Run("EXEC-11 cut, it does not", func(t *testing.T) {
		own := &lazyctx.Ctx{Parent: parent}
		var tied tie.Tie
		tied.ToCancel(own, lazyctx.Func(func(error) { t.Error("ended") }))
		tied.Cut()
		own.Cancel(errCause)
	})
}
