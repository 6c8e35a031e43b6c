package lazyctx_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/internal/lazyctx"
	"github.com/cadre-go/cadre/internal/testwait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errCause = errors.New("the cause")

// counted is a context of a foreign type that counts the functions registered
// with it.
type counted struct {
	context.Context
	mu   sync.Mutex
	live int
}

func (c *counted) Value(any) any { return nil }

func (c *counted) AfterFunc(fn func()) func() bool {
	c.mu.Lock()
	c.live++
	c.mu.Unlock()
	over := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.live--
	}
	stop := context.AfterFunc(c.Context, func() { over(); fn() })
	return func() bool {
		stopped := stop()
		if stopped {
			over()
		}
		return stopped
	}
}

// ending is a context that has ended and has told nobody yet.
type ending struct {
	context.Context
	done chan struct{}
	err  error
}

func (e *ending) Value(any) any                { return nil }
func (e *ending) Done() <-chan struct{}        { return e.done }
func (e *ending) Err() error                   { return e.err }
func (e *ending) AfterFunc(func()) func() bool { return func() bool { return true } }

func (c *counted) registered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live
}

func requireLive(t *testing.T, ctx context.Context) {
	t.Helper()
	require.NoError(t, ctx.Err())
	select {
	case <-ctx.Done():
		t.Fatal("the context has ended")
	default:
	}
}

func requireEnded(t *testing.T, ctx context.Context, err, cause error) {
	t.Helper()
	testwait.Done(t, ctx.Done())
	require.Equal(t, err, ctx.Err())
	require.Equal(t, cause, context.Cause(ctx))
}

func TestCancel(t *testing.T) {
	t.Run("EXEC-4 the cause is kept", func(t *testing.T) {
		for _, asked := range []bool{false, true} {
			c := &lazyctx.Ctx{Parent: t.Context()}
			if asked {
				requireLive(t, c)
			}
			c.Cancel(errCause)
			requireEnded(t, c, context.Canceled, errCause)
			c.Cancel(errors.New("another"))
			requireEnded(t, c, context.Canceled, errCause)
		}
	})
	t.Run("EXEC-4 it reaches the children", func(t *testing.T) {
		c := &lazyctx.Ctx{Parent: t.Context()}
		child, cancel := context.WithTimeout(c, time.Hour)
		defer cancel()
		c.Cancel(errCause)
		requireEnded(t, child, context.Canceled, errCause)
	})
	t.Run("it ends the registration with the parent", func(t *testing.T) {
		parent := &counted{Context: t.Context()}
		c := &lazyctx.Ctx{Parent: parent}
		requireLive(t, c)
		require.Equal(t, 1, parent.registered())
		c.Cancel(errCause)
		require.Zero(t, parent.registered())
	})
	t.Run("the parent does not hear of it", func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := &lazyctx.Ctx{Parent: parent}
		requireLive(t, c)
		c.Cancel(errCause)
		requireLive(t, parent)
	})
	t.Run("a parent that ended first gives the cause", func(t *testing.T) {
		parent, cancel := context.WithCancelCause(t.Context())
		cancel(errCause)
		c := &lazyctx.Ctx{Parent: parent}
		testwait.Done(t, c.Done())
		c.Cancel(errors.New("another"))
		requireEnded(t, c, context.Canceled, errCause)
	})
	t.Run("EXEC-11 it may come before the parent is known", func(t *testing.T) {
		type key struct{}
		var c lazyctx.Ctx
		c.Cancel(errCause)
		c.Parent = context.WithValue(t.Context(), key{}, 1)
		requireEnded(t, &c, context.Canceled, errCause)
		require.Equal(t, 1, c.Value(key{}))
		c.Release()
		requireEnded(t, &c, context.Canceled, errCause)
	})
}

func TestParent(t *testing.T) {
	t.Run("EXEC-4 its end reaches the context and its children", func(t *testing.T) {
		for _, asked := range []bool{false, true} {
			parent, cancel := context.WithCancelCause(t.Context())
			c := &lazyctx.Ctx{Parent: parent}
			if asked {
				requireLive(t, c)
			}
			child, stop := context.WithCancel(c)
			cancel(errCause)
			requireEnded(t, c, context.Canceled, errCause)
			requireEnded(t, child, context.Canceled, errCause)
			stop()
		}
	})
	t.Run("EXEC-4 its deadline is one for the context", func(t *testing.T) {
		for _, asked := range []bool{false, true} {
			parent, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errCause)
			c := &lazyctx.Ctx{Parent: parent}
			deadline, ok := c.Deadline()
			require.True(t, ok)
			require.WithinRange(t, deadline, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
			if asked {
				child, stop := context.WithCancel(c)
				testwait.Done(t, child.Done())
				requireEnded(t, child, context.DeadlineExceeded, errCause)
				stop()
			}
			testwait.Done(t, parent.Done())
			requireEnded(t, c, context.DeadlineExceeded, errCause)
			cancel()
		}
	})
	t.Run("one that has ended closes Done at once", func(t *testing.T) {
		parent, cancel := context.WithCancelCause(t.Context())
		cancel(errCause)
		c := &lazyctx.Ctx{Parent: parent}
		select {
		case <-c.Done():
		default:
			t.Fatal("the context has not ended")
		}
		require.Equal(t, errCause, context.Cause(c))
	})
	t.Run("what has ended stays as it was", func(t *testing.T) {
		parent, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		c := &lazyctx.Ctx{Parent: parent}
		require.Equal(t, context.DeadlineExceeded, c.Err())
		requireEnded(t, c, context.DeadlineExceeded, context.DeadlineExceeded)
		c.Cancel(errCause)
		requireEnded(t, c, context.DeadlineExceeded, context.DeadlineExceeded)
	})
	t.Run("its end shows at once", func(t *testing.T) {
		for range 100 {
			parent, cancel := context.WithCancelCause(t.Context())
			one, two := &lazyctx.Ctx{Parent: parent}, &lazyctx.Ctx{Parent: parent}
			requireLive(t, one)
			requireLive(t, two)
			cancel(errCause)
			require.Equal(t, context.Canceled, one.Err())
			two.Release()
			requireEnded(t, two, context.Canceled, errCause)
		}
	})
	t.Run("its values show through", func(t *testing.T) {
		type key struct{}
		c := &lazyctx.Ctx{Parent: context.WithValue(t.Context(), key{}, 1)}
		require.Equal(t, 1, c.Value(key{}))
		requireLive(t, c)
		require.Equal(t, 1, c.Value(key{}))
		require.Nil(t, c.Value("none"))
		c.Cancel(nil)
		require.Equal(t, 1, c.Value(key{}))
		requireEnded(t, c, context.Canceled, context.Canceled)
	})
	t.Run("one that never ends is no registration", func(t *testing.T) {
		c := &lazyctx.Ctx{Parent: context.Background()}
		requireLive(t, c)
		c.Cancel(errCause)
		requireEnded(t, c, context.Canceled, errCause)
	})
	t.Run("DIAG-4 labels of whoever ended it do not come along", func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		c := &lazyctx.Ctx{Parent: parent}
		running, release := make(chan struct{}), make(chan struct{})
		ended := make(chan struct{})
		// A goroutine inherits the labels of whoever starts it: here, of
		// the one that passes the parent's end on.
		context.AfterFunc(c, func() {
			defer close(ended)
			close(running)
			<-release
		})
		pprof.Do(t.Context(), pprof.Labels("who", "canceled"), func(context.Context) { cancel() })
		testwait.Done(t, running)
		var profile bytes.Buffer
		err := pprof.Lookup("goroutine").WriteTo(&profile, 1)
		close(release)
		testwait.Done(t, ended)
		require.NoError(t, err)
		require.NotContains(t, profile.String(), `"who"`)
	})
}

func TestRelease(t *testing.T) {
	t.Run("FUT-11 it ends the registration with the parent", func(t *testing.T) {
		parent := &counted{Context: t.Context()}
		c := &lazyctx.Ctx{Parent: parent}
		requireLive(t, c)
		require.Equal(t, 1, parent.registered())
		c.Release()
		require.Zero(t, parent.registered())
		c.Release()
		requireLive(t, c)
	})
	t.Run("EXEC-11 canceled afterwards does nothing", func(t *testing.T) {
		for _, asked := range []bool{false, true} {
			c := &lazyctx.Ctx{Parent: t.Context()}
			if asked {
				requireLive(t, c)
			}
			c.Release()
			c.Cancel(errCause)
			requireLive(t, c)
		}
	})
	t.Run("unasked it ends with its parent", func(t *testing.T) {
		parent, cancel := context.WithCancelCause(t.Context())
		c := &lazyctx.Ctx{Parent: parent}
		c.Release()
		requireLive(t, c)
		cancel(errCause)
		requireEnded(t, c, context.Canceled, errCause)
	})
	t.Run("FUT-11 nothing registers afterwards", func(t *testing.T) {
		parent := &counted{Context: t.Context()}
		c := &lazyctx.Ctx{Parent: parent}
		c.Release()
		requireLive(t, c)
		require.Zero(t, parent.registered())
	})
	t.Run("an end that the parent has not passed on yet shows", func(t *testing.T) {
		parent := &ending{Context: t.Context(), done: make(chan struct{})}
		c := &lazyctx.Ctx{Parent: parent}
		requireLive(t, c)
		parent.err = context.DeadlineExceeded
		close(parent.done)
		c.Release()
		requireEnded(t, c, context.DeadlineExceeded, context.DeadlineExceeded)
	})
	t.Run("asked it outlives its parent", func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		c := &lazyctx.Ctx{Parent: parent}
		requireLive(t, c)
		c.Release()
		cancel()
		requireLive(t, c)
	})
	t.Run("what has ended stays ended", func(t *testing.T) {
		c := &lazyctx.Ctx{Parent: t.Context()}
		c.Cancel(errCause)
		c.Release()
		requireEnded(t, c, context.Canceled, errCause)
	})
}

func TestChildren(t *testing.T) {
	t.Run("EXEC-4 a child costs no goroutine", func(t *testing.T) {
		c := &lazyctx.Ctx{Parent: t.Context()}
		before := runtime.NumGoroutine()
		for range 1000 {
			_, cancel := context.WithCancel(c)
			defer cancel()
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), before)
		c.Cancel(errCause)
	})
	t.Run("EXEC-5 nothing is built before somebody can tell", func(t *testing.T) {
		parent := t.Context()
		spare := make([]lazyctx.Ctx, 102)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			c := &spare[0]
			spare, c.Parent = spare[1:], parent
			if c.Err() != nil || c.Value("k") != nil {
				t.Error("it has ended")
			}
			c.Release()
		}))
	})
}

func TestRace(t *testing.T) {
	for i := range 400 {
		parent, cancelParent := context.WithCancelCause(t.Context())
		counting := &counted{Context: parent}
		c := &lazyctx.Ctx{Parent: counting}
		start := make(chan struct{})
		var all sync.WaitGroup
		for _, do := range []func(){
			func() { c.Cancel(errCause) },
			func() {
				if i%2 == 0 {
					cancelParent(errCause)
				}
			},
			c.Release,
			func() { c.Done() },
			func() { c.Done() },
			func() {
				child, cancel := context.WithCancel(c)
				defer cancel()
				_ = child.Err()
			},
			func() {
				if err := c.Err(); err != nil && c.Err() == nil {
					t.Error("it has ended and come alive again")
				}
			},
		} {
			all.Go(func() {
				<-start
				do()
			})
		}
		close(start)
		all.Wait()
		if err := c.Err(); err != nil {
			require.Contains(t, []error{errCause, context.Canceled}, context.Cause(c))
		}
		testwait.Until(t, func() bool { return counting.registered() == 0 })
		cancelParent(nil)
	}
}
