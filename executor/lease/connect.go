package lease

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/future"
)

// connect leads the slot's Connect.
func (pr *preparation[R]) connect(s *slot[R], f *flight[R]) error {
	pr.waited, pr.stage = true, StageConnecting
	if f.posted != nil {
		return pr.connectElsewhere(s, f)
	}
	// Nobody else has to fail with this caller: with its context's end or panic,
	// or a Goexit of the hook.
	var made *incarnation[R]
	shared := errAgain
	defer func() { pr.land(s, f, made, shared) }()
	made, err := pr.dial(pr.ctx, s, f)
	if err != nil && pr.ctx.Err() != nil && !pr.gate.load().Ended() {
		return pr.canceled(pr.ctx, StageConnecting)
	}
	pr.made, shared = made, err
	return pr.failure(err)
}

// connectElsewhere has the Executor connect, for whoever comes for the slot:
// the acquirer may leave meanwhile.
func (pr *preparation[R]) connectElsewhere(s *slot[R], f *flight[R]) error {
	c := pr.core
	forget, err := c.life.register(f.drop)
	if err != nil {
		c.land(s, f, nil, err)
		return pr.failure(err)
	}
	f.c.Future().OnSettle(func(future.Outcome[*incarnation[R]]) { forget() })
	var refused atomic.Bool
	task, failed := c.post(under(context.WithoutCancel(pr.ctx)), func(ctx context.Context) {
		var made *incarnation[R]
		shared := errAgain // a Goexit, or a panic of the context, is the leader's
		defer func() { c.land(s, f, made, shared) }()
		made, shared = c.dial(ctx, s, f)
	}, func() {
		refused.Store(true)
		c.land(s, f, nil, errAgain)
	})
	if failed != nil {
		return pr.failure(failed)
	}
	f.task = task
	close(f.posted)
	if o, ok := f.c.Future().Outcome(); ok && o.Err != nil { // dropped before it could be told
		task.Cancel(o.Err)
	}
	if err := pr.await(f); err != errAgain {
		return pr.failure(err)
	}
	if pr.refused = refused.Load(); pr.refused {
		return nil // at the next step it connects here
	}
	if _, err = task.Await(pr.ctx); err == nil || pr.ctx.Err() != nil {
		return nil
	}
	return pr.failure(&ConnectError{c.cfg.Name, int(s.index), err})
}

// dial calls Connect and gives the slot what it returns. It returns that, or a
// *ConnectError or the pool's end.
func (c *core[R]) dial(ctx context.Context, s *slot[R], f *flight[R]) (*incarnation[R], error) {
	// Ahead of the look whether the pool has ended: a Shutdown must not find
	// the pool at rest, and Connect be called after it.
	c.alive.Add(1)
	var inc *incarnation[R]
	given := false
	defer func() {
		switch {
		case given:
		case inc != nil: // a foreign clock has ended this goroutine
			c.disposeElsewhere(inc)
		default:
			c.gone()
		}
	}()
	bounded, free, err := c.bounded(ctx, c.cfg.ConnectTimeout, f)
	if err != nil {
		return nil, err
	}
	defer free()
	generation := c.generation.Load() // a Reset meanwhile is about this one too
	c.at("connecting")
	c.counts.connects.Add(1)
	var value R
	if failed := c.hookUnder(bounded, "Connect", func() { value, err = c.cfg.Connect(bounded) }); failed != nil {
		return nil, failed
	}
	if err != nil {
		if c.gate.load().Ended() {
			return nil, c.terminal()
		}
		return nil, &ConnectError{c.cfg.Name, int(s.index), err}
	}
	inc = &incarnation[R]{value: value, slot: s.index, generation: generation, condemned: true}
	now := c.clock.now()
	inc.born, inc.idle, inc.checked = now, now, now
	s.mu.Lock()
	inc.condemned = false
	s.cur = inc
	s.viewLocked()
	s.mu.Unlock()
	given = true
	if c.gate.load().Ended() { // the landing disposes of it
		return nil, c.terminal()
	}
	return inc, nil
}

// validate leads the slot's Validate of inc, which has no users and cannot get
// any meanwhile.
func (pr *preparation[R]) validate(s *slot[R], f *flight[R], inc *incarnation[R]) error {
	pr.waited, pr.stage = true, StageValidating
	var sound *incarnation[R] // inc, once Validate has passed it
	now := int64(0)
	defer func() {
		s.mu.Lock()
		if sound != nil {
			inc.checked, inc.returned = now, false
		} else {
			s.condemnLocked(inc)
		}
		s.mu.Unlock()
		pr.land(s, f, sound, nil)
		if sound == nil {
			pr.disposeElsewhere(inc)
		}
	}()
	bounded, free, err := pr.bounded(pr.ctx, pr.cfg.ValidateTimeout, f)
	if err != nil {
		return pr.failure(err)
	}
	defer free()
	failed := pr.hookUnder(bounded, "Validate", func() { err = pr.cfg.Validate(bounded, inc.value) })
	switch {
	case failed != nil:
		return pr.failure(failed)
	case pr.ctx.Err() != nil:
		return pr.canceled(pr.ctx, StageValidating)
	case pr.gate.load().Ended():
		return pr.refusal()
	case err != nil:
		pr.counts.validationsFailed.Add(1)
		return nil // connect afresh
	}
	now = pr.clock.now()
	pr.made, sound = inc, inc
	return nil
}

// bounded returns the context of a hook, which ends with the pool, and what
// frees it. It returns the pool's end if that has come.
func (c *core[R]) bounded(ctx context.Context, d time.Duration, f *flight[R]) (*callerContext, func(), error) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.CancelFunc(func() {})
	if d > 0 {
		ctx, stop = context.WithTimeout(ctx, d)
	}
	forget, err := c.life.register(func(cause error) {
		cancel(cause)
		f.drop(cause)
	})
	if err != nil {
		stop()
		cancel(nil)
		return nil, nil, err
	}
	return &callerContext{Context: ctx, flight: f}, func() {
		forget()
		stop()
		cancel(nil)
	}, nil
}
