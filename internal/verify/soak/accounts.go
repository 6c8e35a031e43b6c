package main

import (
	"context"

	"github.com/cadre-go/cadre/executor"
)

// addsUp checks what holds of a pool's numbers at every instant, and returns what
// is queued.
func (b *book) addsUp(p *executor.Pool) int {
	s := p.Stats()
	if s.Attempted != s.Accepted+s.Rejected ||
		s.Accepted != uint64(s.Queued+s.Running)+s.Finished+s.Panicked+s.Exited+s.Skipped+s.Discarded ||
		s.Queued > s.QueueLimit || s.Running-s.Lent > s.Size {
		b.bad("the numbers do not add up: %+v", s)
	}
	return s.Queued
}

// comesToRest waits until nothing of a pool is queued or runs.
func (b *book) comesToRest(ctx context.Context, p *executor.Pool) {
	if !eventually(ctx, func() bool { s := p.Stats(); return s.Queued == 0 && s.Running == 0 }) {
		b.bad("the pool does not come to rest: %+v", p.Stats())
	}
	b.addsUp(p)
}
