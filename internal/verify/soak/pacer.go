package main

import (
	"context"
	"time"

	"github.com/cadre-go/cadre/timer"
)

// pacer is the timer that clients rest by between two operations.
type pacer struct{ timer *timer.Timer }

func (p *pacer) open() (err error) {
	p.timer, err = timer.New(timer.Config{Name: "pacer"})
	return err
}

func (p *pacer) pause(ctx context.Context, d time.Duration) {
	_, _ = p.timer.Delay(ctx, d).Await(ctx)
}

func (p *pacer) close() error {
	if p.timer == nil {
		return nil
	}
	return p.timer.Close()
}
