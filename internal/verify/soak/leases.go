package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/lease"
)

// errConnect is how every 20th Connect fails.
var errConnect = errors.New("no connection, as told")

// leases is a pool of four TCP connections, for many more clients than that may
// wait: calls that are answered, refused, cut off in the middle; connections that
// expire, are found broken, taken away and replaced.
type leases struct {
	*book
	server  *echo
	hooks   *executor.Pool // runs Connect, Validate and sweeps
	pool    *lease.Pool[*connection]
	handles []*lease.Handle[*connection]

	connects, connected, disposed, detached, leased atomic.Uint64
}

func newLeases() (*desk, error) {
	l := &leases{book: newBook("leases")}
	var err error
	if l.server, err = listen(); err != nil {
		return nil, err
	}
	if l.hooks, err = executor.New(executor.Config{Name: "hooks", Size: 4, QueueLimit: 64}); err != nil {
		return nil, errors.Join(err, l.server.close())
	}
	l.pool, err = lease.New(lease.Config[*connection]{
		Name: "leases", Slots: 4, MaxWaiters: 16, Executor: l.hooks,
		AcquireTimeout: 40 * time.Millisecond, ConnectTimeout: 20 * time.Second,
		MaxLifetime: 3 * time.Second, MaxIdle: time.Second, SweepInterval: 500 * time.Millisecond,
		ValidateAfter: 20 * time.Millisecond, ValidateTimeout: 20 * time.Second,
		Connect: func(ctx context.Context) (*connection, error) {
			if l.connects.Add(1)%20 == 0 {
				return nil, errConnect
			}
			c, err := dial(ctx, l.server.Addr().String())
			if err == nil {
				l.connected.Add(1)
			}
			return c, err
		},
		Validate: func(ctx context.Context, c *connection) error {
			return l.alone(c, func() error {
				_, err := c.exchange(ctx, "ping")
				return err
			})
		},
		Dispose: func(c *connection) {
			l.disposed.Add(1)
			_ = l.alone(c, c.Conn.Close)
		},
		KeepOn: func(err error) bool { return errors.Is(err, errRefused) },
	})
	if err != nil {
		return nil, errors.Join(err, l.hooks.Close(), l.server.close())
	}
	const clients = 32
	for range clients {
		l.handles = append(l.handles, l.pool.Handle())
	}
	return &desk{book: l.book, subject: l, clients: clients, pace: 60 * time.Millisecond}, nil
}

// alone uses a connection that nobody else may be using.
func (l *leases) alone(c *connection, use func() error) error {
	if c.users.Add(1) != 1 {
		l.bad("two use one connection")
	}
	defer c.users.Add(-1)
	return use()
}

func (l *leases) play(c *player) {
	h := l.handles[c.number]
	ctx, id := stamped(c)
	switch c.IntN(8) {
	case 0, 1, 2:
		l.call(ctx, h, fmt.Sprint(id), time.Minute)
	case 3:
		l.call(ctx, h, "refuse", time.Minute)
	case 4:
		l.call(ctx, h, "stall", time.Duration(1+c.IntN(5))*time.Millisecond)
	case 5:
		ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(c.IntN(20))*time.Millisecond, errLeft)
		defer cancel()
		l.hold(ctx, c, h.Acquire)
	case 6:
		l.hold(ctx, c, h.TryAcquire)
	case 7:
		if c.ops%10 == 0 {
			l.pool.Reset()
		}
		l.hold(ctx, c, h.Acquire)
	}
}

// call is a request within some time.
func (l *leases) call(ctx context.Context, h *lease.Handle[*connection], request string, within time.Duration) {
	start := time.Now()
	err := h.Do(ctx, func(ctx context.Context, c *connection) error {
		l.leased.Add(1)
		l.since(start)
		ctx, cancel := context.WithTimeoutCause(ctx, within, errLeft)
		defer cancel()
		return l.alone(c, func() error {
			answer, err := c.exchange(ctx, request)
			if err == nil && answer != request {
				l.bad("%q got the answer %q", request, answer)
			}
			return err
		})
	})
	l.entered("call", err)
}

// hold takes a lease by itself and gives it back in one of the ways.
func (l *leases) hold(ctx context.Context, c *player, acquire func(context.Context) (lease.Lease[*connection], error)) {
	held, err := acquire(ctx)
	if !l.entered("acquire", err) {
		return
	}
	l.leased.Add(1)
	conn := held.Value()
	switch c.IntN(8) {
	case 0:
		held.MarkDirty(errTask)
	case 1:
		if conn, err := held.Detach(); err == nil {
			l.detached.Add(1)
			_ = conn.Conn.Close()
		} else {
			l.bad("detach: %v", err)
		}
		return
	case 2:
		if err := held.Discard(errTask); err != nil {
			l.bad("discard: %v", err)
		}
		return
	default:
		_ = l.alone(conn, func() error { return nil })
	}
	if err := held.Release(); err != nil {
		l.bad("release: %v", err)
	}
	if c.chance(8) && !errors.Is(held.Release(), lease.ErrReleased) {
		l.bad("a second release went through")
	}
}

// entered counts how an acquisition or a call ended.
func (l *leases) entered(verb string, err error) bool {
	switch {
	case err == nil:
		l.enter(verb + " served")
		return true
	case errors.Is(err, lease.ErrSaturated):
		l.enter(verb + " rejected")
	case errors.Is(err, lease.ErrAcquireTimeout):
		l.enter(verb + " waited too long")
	case errors.Is(err, lease.ErrNoCapacity):
		l.enter(verb + " found nothing free")
	case errors.Is(err, errRefused):
		l.enter(verb + " refused by the server")
	case errors.Is(err, errLeft):
		l.enter(verb + " given up")
	case errors.Is(err, errConnect):
		l.enter(verb + " not connected")
	default:
		l.bad("%s: %v", verb, err)
	}
	return false
}

func (l *leases) watch() int {
	s := l.pool.Stats()
	if s.State != "Running" {
		l.bad("the pool is %s: %v", s.State, l.pool.Err())
	}
	if s.Waiters > 16 {
		l.bad("more wait than may: %+v", s)
	}
	return s.Waiters
}

func (l *leases) rest(ctx context.Context) {
	l.watch()
	l.pool.Reset()
	if _, err := l.pool.Sweep(ctx); err != nil {
		l.bad("sweep: %v", err)
	}
	if !eventually(ctx, func() bool {
		s := l.pool.Stats()
		return s.Free == s.Capacity && s.Waiters == 0 && s.Idle+s.InUse+s.Condemned == 0
	}) {
		l.bad("the pool does not come to rest: %+v", l.pool.Stats())
	}
	l.balance()
}

func (l *leases) balance() {
	s := l.pool.Stats()
	failures := s.Saturated + s.TimedOut + s.NoCapacity + s.HandleClosed + s.ClosedRejections + s.FailedRejections + s.ConnectErrors + s.Exited
	for _, n := range s.Canceled {
		failures += n
	}
	l.equal("acquisitions", s.Leases+failures, s.Acquires)
	l.equal("leases", s.Leases, l.leased.Load())
	l.equal("connections disposed of or detached", l.disposed.Load()+l.detached.Load(), l.connected.Load())
	l.equal("connects", s.Connects, l.connects.Load())
	l.equal("leaks", s.Leaks, 0)
	if n := len(l.pool.Outstanding()); n != 0 {
		l.bad("%d leases are outstanding at rest", n)
	}
}

func (l *leases) end(ctx context.Context) {
	if err := l.pool.Shutdown(ctx); err != nil {
		l.bad("shutdown: %v", err)
	}
	l.balance()
	if err := l.hooks.Shutdown(ctx); err != nil {
		l.bad("shutdown: %v", err)
	}
	if err := l.server.close(); err != nil {
		l.bad("server: %v", err)
	}
}
