package lease_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/executortest"
	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
)

// once returns a probe that calls fn the first time that point is reached.
func once(point string, fn func()) func(string) {
	var reached sync.Once
	return func(at string) {
		if at == point {
			reached.Do(fn)
		}
	}
}

func TestLanding(t *testing.T) {
	sound := func(context.Context, *thing) error { return nil }
	for _, c := range []struct {
		name string
		cfg  config
		warm bool // the slot has a resource when the flight begins
	}{
		{"a Connect", config{}, false},
		{"a Connect on the Executor", config{Executor: executor.Go()}, false},
		{"a Validate", config{Validate: sound}, true},
	} {
		for what, end := range map[string]func(*pool){
			"closes": func(p *pool) { go func() { _ = p.Close() }(); <-p.Done() },
			"fails":  func(p *pool) { p.Fail(); <-p.Done() },
		} {
			t.Run(name("LEASE-51 LEASE-55 LEASE-58 the pool %s before the landing of %s", what, c.name), func(t *testing.T) {
				var p *pool
				var ready atomic.Bool
				ctx, cancel := context.WithCancelCause(bg)
				p, m := testPool(t, c.cfg, false, func(at string) {
					if at == "landing" && ready.CompareAndSwap(true, false) {
						cancel(errCause) // the acquirer has no use for the resource
						end(p)
					}
				})
				if c.warm {
					release(t, acquire(t, p))
				}
				ready.Store(true)
				require.Error(t, testwait.Value(t, begin(ctx, p)).err)
				testwait.Call(t, func() { _ = p.Shutdown(bg) })
				require.False(t, ready.Load())
				m.requireOnce(t)
				require.NoError(t, p.Check())
				requireConserved(t, p)
			})
		}
	}
	t.Run("LEASE-50 after a panic of the leader's context", func(t *testing.T) {
		for _, method := range []string{"Err", "Value"} {
			cancelable, cancel := context.WithCancel(bg)
			defer cancel()
			bad := &badContext{Context: cancelable}
			fails := true
			p, _ := newPool(t, config{Connect: func(context.Context) (*thing, error) {
				if fails {
					bad.arm(method)
					return nil, errCause
				}
				return &thing{}, nil
			}})
			require.Equal(t, method, panicked(func() { _, _ = p.Acquire(bad) }))
			fails = false
			release(t, got(t, begin(bg, p)))
			require.Equal(t, uint64(1), p.Stats().Exited)
			atRest(t, p)
		}
	})
	t.Run("LEASE-61 a Connect is counted before the pool can be told to be at rest", func(t *testing.T) {
		var p *pool
		var shutdown error
		ex := executortest.NewManual()
		p, m := testPool(t, config{Executor: ex}, false, once("connecting", func() {
			_ = p.Close()
			shutdown = p.Shutdown(ended(errCause))
		}))
		ctx, cancel := context.WithCancelCause(bg)
		ch := begin(ctx, p)
		testwait.Until(t, func() bool { return ex.Queued() == 1 })
		cancel(errCause)
		failed(t, ch, errCause)
		ex.RunAll()
		require.ErrorIs(t, shutdown, errCause, "there was a Connect to come")
		require.NoError(t, p.Shutdown(bg))
		m.requireOnce(t)
	})
}

func TestFollower(t *testing.T) {
	t.Run("LEASE-50 those who come while a Connect is being posted", func(t *testing.T) {
		for range 200 { // for the race detector
			p, _ := newPool(t, config{PermitsPerSlot: 4, Executor: executor.Go()})
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					if p.Do(bg, use) != nil {
						panic("no lease")
					}
				})
			}
			testwait.Call(t, all.Wait)
			require.Equal(t, uint64(1), p.Stats().Connects)
			require.NoError(t, p.Close())
		}
	})
	t.Run("LEASE-50 a follower that is the Executor's only task lends its worker", func(t *testing.T) {
		ex, err := executor.New(executor.Config{Size: 1, Logger: quiet})
		require.NoError(t, err)
		defer func() { require.NoError(t, ex.Close()) }()
		p, _ := newPool(t, config{PermitsPerSlot: 2, Executor: ex})
		follow := make(chan struct{})
		follower := executor.Submit(bg, ex, func(ctx context.Context) (int, error) {
			<-follow
			return 0, p.Do(ctx, use)
		})
		leader := begin(bg, p)
		testwait.Until(t, func() bool { return ex.Stats().Queued == 1 })
		close(follow)
		testwait.Done(t, follower.Done())
		_, err = follower.Await(bg)
		require.NoError(t, err)
		release(t, got(t, leader))
	})
	t.Run("LEASE-58 those who come for a Connect that the pool's end refuses", func(t *testing.T) {
		for range 100 {
			p, _ := newPool(t, config{PermitsPerSlot: 4, Executor: executor.Go()})
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() { _ = p.Do(bg, use) })
			}
			all.Go(func() { _ = p.Close() })
			testwait.Call(t, all.Wait)
			testwait.Call(t, func() { _ = p.Shutdown(bg) })
			requireConserved(t, p)
		}
	})
	t.Run("LEASE-50 a hook that would wait for itself is refused", func(t *testing.T) {
		for where, ex := range map[string]executor.Executor{"here": nil, "on the Executor": executor.Go()} {
			var p *pool
			var nested []error
			m := &maker{}
			try := func(ctx context.Context) {
				_, err := p.Acquire(ctx)
				nested = append(nested, err)
				_, err = p.TryAcquire(context.WithoutCancel(ctx))
				nested = append(nested, err)
			}
			p, _ = newPool(t, config{
				PermitsPerSlot: 2, Executor: ex,
				Connect:  func(ctx context.Context) (*thing, error) { try(ctx); return m.connect(ctx) },
				Validate: func(ctx context.Context, _ *thing) error { try(ctx); return nil },
			})
			for range 2 { // connecting, validating
				release(t, got(t, begin(bg, p)))
			}
			require.Len(t, nested, 4)
			for _, err := range nested {
				require.ErrorIs(t, err, lease.ErrNoCapacity, where)
			}
			atRest(t, p)
		}
	})
	t.Run("LEASE-52 one that comes late validates what was used meanwhile", func(t *testing.T) {
		asked := 0
		p, m := newPool(t, config{PermitsPerSlot: 2, Validate: func(context.Context, *thing) error { asked++; return nil }})
		m.gate = make(chan struct{})
		leader := begin(bg, p)
		testwait.Until(t, func() bool { return p.Stats().Connects == 1 })
		late := &lateContext{Context: bg, resume: make(chan struct{})}
		follower := begin(late, p)
		testwait.Until(t, func() bool { return p.Stats().Preparing == 2 })
		late.armed.Store(true)
		close(m.gate)
		release(t, got(t, leader))
		close(late.resume)
		release(t, got(t, follower))
		require.Equal(t, 1, asked)
		require.Equal(t, uint64(1), p.Stats().Connects)
	})
	t.Run("LEASE-57 one that began after a Reset does not take what is older", func(t *testing.T) {
		p, m := newPool(t, config{PermitsPerSlot: 2})
		m.gate = make(chan struct{})
		before := begin(bg, p)
		testwait.Until(t, func() bool { return p.Stats().Connects == 1 })
		p.Reset()
		after := begin(bg, p)
		testwait.Until(t, func() bool { return p.Stats().Preparing == 2 })
		close(m.gate)
		l := got(t, after)
		require.Equal(t, 2, l.Value().n)
		release(t, l)
		release(t, got(t, before))
		atRest(t, p)
	})
}

// lateContext is a context whose Err, once it is armed, takes its time.
type lateContext struct {
	context.Context
	armed  atomic.Bool
	resume chan struct{}
}

func (c *lateContext) Err() error {
	if c.armed.Load() {
		<-c.resume
	}
	return c.Context.Err()
}

// badContext is a context that panics with a method's name once that method is
// armed; Value with its key's, if it has been told to.
type badContext struct {
	context.Context
	method atomic.Value // string
	key    any          // Value panics for this one only; nil: for all
}

func (c *badContext) arm(method string) { c.method.Store(method) }

func (c *badContext) at(method string) {
	if c.method.Load() == method {
		panic(method)
	}
}

func (c *badContext) Err() error            { c.at("Err"); return c.Context.Err() }
func (c *badContext) Done() <-chan struct{} { c.at("Done"); return c.Context.Done() }

func (c *badContext) Value(key any) any {
	if c.key == nil || c.key == key {
		c.at("Value")
	}
	return c.Context.Value(key)
}

// panicked returns what fn panics with.
func panicked(fn func()) (v any) {
	defer func() { v = recover() }()
	fn()
	return nil
}
