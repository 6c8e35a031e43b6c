package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
)

// postFunc is an Executor.
type postFunc func(ctx context.Context, task func(context.Context)) error

func (fn postFunc) Post(ctx context.Context, task func(context.Context)) error { return fn(ctx, task) }

func TestTask(t *testing.T) {
	errRefused := errors.New("refused")
	var late []func()
	for _, c := range []struct {
		name string
		ex   postFunc
	}{
		{"runs a task twice", func(ctx context.Context, task func(context.Context)) error {
			task(ctx)
			task(ctx)
			return nil
		}},
		{"refuses a task and runs it later", func(ctx context.Context, task func(context.Context)) error {
			late = append(late, func() { task(ctx) })
			return errRefused
		}},
		{"drops a task and runs it later", func(ctx context.Context, task func(context.Context)) error {
			late = append(late, func() { task(ctx) })
			executor.Discard(ctx, errRefused)
			return nil
		}},
	} {
		t.Run("LEASE-49 LEASE-55 an Executor that "+c.name, func(t *testing.T) {
			late = nil
			m := &maker{}
			p, _ := newPool(t, config{Connect: m.connect, Dispose: m.dispose, Executor: c.ex})
			l := got(t, begin(bg, p))
			require.NoError(t, l.Discard(errDirty))
			release(t, got(t, begin(bg, p)))
			for _, run := range late {
				run()
			}
			made, alive := m.made()
			require.Equal(t, []int{2, 1}, []int{made, alive})
			atRest(t, p)
			testwait.Call(t, func() { _ = p.Shutdown(bg) })
			m.requireOnce(t)
		})
	}
	t.Run("LEASE-57 a sweep that was dropped is not waited for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var drop atomic.Bool
			drop.Store(true)
			m := &maker{}
			p, err := lease.New(config{
				Slots: 1, MaxIdle: time.Minute, SweepInterval: time.Minute, Connect: m.connect, Dispose: m.dispose,
				Executor: postFunc(func(ctx context.Context, task func(context.Context)) error {
					if drop.Load() {
						executor.Discard(ctx, nil)
					} else {
						task(ctx)
					}
					return nil
				}),
			})
			require.NoError(t, err)
			release(t, acquire(t, p))
			time.Sleep(90 * time.Second)
			drop.Store(false)
			time.Sleep(time.Minute)
			synctest.Wait()
			_, alive := m.made()
			require.Zero(t, alive)
			require.NoError(t, p.Close())
		})
	})
}
