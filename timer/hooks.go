package timer

import (
	"context"
	"time"

	"github.com/cadre-go/cadre/internal/link"
)

// What package link gives to the packages above.
func init() {
	link.OnDone = func(t any, left func()) { t.(*Timer).core.left = left }
	link.Stop = func(t any) { t.(*Timer).core.shut() }
	link.Abort = func(t any) {
		c := t.(*Timer).core
		c.shut()
		c.abort()
	}
	link.Inside = func(t any, id uint64) bool { return t.(*Timer).core.inside(id) }
	link.Every = func(t any, ctx context.Context, interval time.Duration, run func(done func()) bool) (any, error) {
		if err := badTicks(ctx, interval); err != nil {
			return nil, err
		}
		k, err := t.(*Timer).every(ctx, interval, run)
		if err != nil {
			return nil, err
		}
		return k, nil
	}
}
