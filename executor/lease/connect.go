package lease

import (
	"context"
	"time"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
)

// connect leads the slot's Connect.
func (pr *preparation[R]) connect(s *slot[R], f *flight) error {
	pr.waited, pr.stage = true, StageConnecting
	if pr.cfg.Executor != nil && !pr.refused {
		return pr.connectElsewhere(s, f)
	}
	returned := false
	defer func() {
		if !returned { // Goexit of the hook
			pr.land(s, f, errAgain)
		}
	}()
	err := pr.dial(pr.ctx, s, f)
	returned = true
	if err != nil && pr.ctx.Err() != nil && !pr.gate.load().Ended() {
		pr.land(s, f, errAgain) // nobody else has to fail with this caller's context
		return pr.canceled(pr.ctx, StageConnecting)
	}
	pr.land(s, f, err)
	if err != nil {
		return pr.failure(err)
	}
	return nil
}

// connectElsewhere has the Executor connect, for whoever comes for the slot:
// the acquirer may leave meanwhile.
func (pr *preparation[R]) connectElsewhere(s *slot[R], f *flight) error {
	c := pr.core
	f.posted = make(chan struct{})
	forget, err := c.life.register(f.drop)
	if err != nil {
		close(f.posted)
		c.land(s, f, err)
		return pr.failure(err)
	}
	f.c.Future().OnSettle(func(future.Outcome[struct{}]) { forget() })
	returned := false
	defer func() {
		if !returned { // Goexit in Post, or in a Connect that Post ran
			c.land(s, f, errAgain)
		}
	}()
	failed := c.hook("Executor", func() {
		f.task = executor.Submit(context.WithoutCancel(pr.ctx), c.cfg.Executor, func(ctx context.Context) (struct{}, error) {
			f.began.Store(true)
			err := error(&ConnectError{c.cfg.Name, int(pr.ticket.slot), future.ErrGoexit})
			defer func() { c.land(s, f, err) }()
			err = c.dial(ctx, s, f)
			return struct{}{}, nil
		})
	})
	if failed != nil {
		f.task = future.Failed[struct{}](failed)
	}
	returned = true
	close(f.posted)
	if o, ok := f.c.Future().Outcome(); ok && o.Err != nil { // dropped before it could be told
		f.task.Cancel(o.Err)
	}
	f.task.OnSettle(func(o future.Outcome[struct{}]) {
		if o.Err != nil && !f.began.Load() { // refused or dropped
			c.land(s, f, errAgain)
		}
	})
	if failed != nil {
		return pr.failure(failed)
	}
	if o, ok := f.task.Outcome(); ok && o.Err != nil && !f.began.Load() {
		pr.refused = true
	}
	return pr.follow(f)
}

// dial calls Connect and gives the slot what it returns. It returns nil, a
// *ConnectError or the pool's end.
func (c *core[R]) dial(ctx context.Context, s *slot[R], f *flight) error {
	ctx, free, err := c.bounded(ctx, c.cfg.ConnectTimeout, f)
	if err != nil {
		return err
	}
	defer free()
	generation := c.generation.Load() // a Reset meanwhile is about this one too
	c.counts.connects.Add(1)
	c.alive.Add(1)
	var inc *incarnation[R]
	kept := false
	defer func() {
		switch {
		case kept:
		case inc != nil: // the pool has ended, or a foreign clock this goroutine
			c.disposeElsewhere(inc)
		default:
			c.gone()
		}
	}()
	var value R
	if failed := c.hook("Connect", func() { value, err = c.cfg.Connect(ctx) }); failed != nil {
		return failed
	}
	if err != nil {
		if c.gate.load().Ended() {
			return c.terminal()
		}
		return &ConnectError{c.cfg.Name, int(s.index), err}
	}
	inc = &incarnation[R]{value: value, slot: s.index, generation: generation, condemned: true}
	now := c.clock.now()
	inc.born, inc.idle, inc.checked = now, now, now
	s.mu.Lock()
	// After the end the owner has looked at the slot, and nobody else will.
	if kept = !c.gate.load().Ended(); kept {
		inc.condemned = false
		s.cur = inc
		s.viewLocked()
	}
	s.mu.Unlock()
	if !kept {
		return c.terminal()
	}
	return nil
}

// validate leads the slot's Validate of inc, which has no users and cannot get
// any meanwhile.
func (pr *preparation[R]) validate(s *slot[R], f *flight, inc *incarnation[R]) error {
	pr.waited, pr.stage = true, StageValidating
	sound, now := false, int64(0)
	defer func() {
		dead := pr.judge(s, inc, sound, now)
		pr.land(s, f, nil) // what the others find is theirs to see to
		if dead {
			pr.disposeElsewhere(inc)
		}
	}()
	ctx, free, err := pr.bounded(pr.ctx, pr.cfg.ValidateTimeout, f)
	if err != nil {
		return pr.failure(err)
	}
	defer free()
	failed := pr.hook("Validate", func() { err = pr.cfg.Validate(ctx, inc.value) })
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
	sound = true
	return nil
}

// judge condemns inc unless it was sound at now, and reports whether it has to be
// disposed of.
func (c *core[R]) judge(s *slot[R], inc *incarnation[R], sound bool, now int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if inc.condemned {
		return false
	}
	if sound && !c.gate.load().Ended() {
		inc.used, inc.checked = false, now
		return false
	}
	s.condemnLocked(inc)
	return true
}

// bounded returns the context of a hook, which ends with the pool, and what
// frees it. It returns the pool's end if that has come.
func (c *core[R]) bounded(ctx context.Context, d time.Duration, f *flight) (context.Context, func(), error) {
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
	return ctx, func() {
		forget()
		stop()
		cancel(nil)
	}, nil
}
