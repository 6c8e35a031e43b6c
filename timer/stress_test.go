package timer_test

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/goid"
	"github.com/cadre-go/cadre/internal/link"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer"
)

// stressTime is how long the stress test goes on; CADRE_STRESS sets it.
func stressTime(t *testing.T) time.Duration {
	d := 200 * time.Millisecond
	if s := os.Getenv("CADRE_STRESS"); s != "" {
		var err error
		d, err = time.ParseDuration(s)
		require.NoError(t, err)
	}
	return d
}

func TestStress(t *testing.T) {
	t.Run("TIMER-4 TIMER-7 everything at once, and every delay settles once", func(t *testing.T) {
		for end := time.Now().Add(stressTime(t)); time.Now().Before(end); {
			stress(t)
		}
	})
}

// stress has some goroutines do everything to one timer, which one of them
// closes.
func stress(t *testing.T) {
	var log records
	tm, err := timer.New(timer.Config{Logger: log.logger(), Limit: 200})
	require.NoError(t, err)
	var made, settles atomic.Int64
	var tickers sync.Map
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	var delay func(ctx context.Context)
	delay = func(ctx context.Context) {
		made.Add(1)
		f := tm.Delay(ctx, time.Duration(rand.IntN(300)-5)*time.Microsecond)
		chain, fail := rand.IntN(20) == 0, rand.IntN(20)
		f.OnSettle(func(o future.Outcome[time.Time]) {
			settles.Add(1)
			switch {
			case o.Err == nil && chain:
				delay(ctx)
			case !link.Inside(tm, goid.ID()): // no net of the timer's
			case fail == 1:
				panic("boom")
			case fail == 2:
				runtime.Goexit()
			}
		})
		switch rand.IntN(5) {
		case 0:
			f.Cancel(nil)
		case 1:
			f.Abandon(nil)
		}
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 100 {
				switch rand.IntN(12) {
				case 0:
					if k, err := tm.Every(ctx, time.Duration(1+rand.IntN(50))*time.Microsecond, nothing); err == nil {
						tickers.Store(k, nil)
					}
				case 1:
					tickers.Range(func(k, _ any) bool { k.(*timer.Ticker).Stop(); return rand.IntN(2) == 0 })
				case 2:
					own, cancel := context.WithCancel(ctx)
					delay(own)
					cancel()
				case 3:
					short, cancel := context.WithTimeout(ctx, time.Millisecond)
					_ = tm.Sync(short)
					cancel()
				default:
					delay(ctx)
				}
				if err := timer.Check(tm); err != nil {
					t.Error(err)
				}
				if g == 0 && i == 90 {
					_ = tm.Close()
				}
			}
		})
	}
	testwait.Call(t, wg.Wait)
	require.NoError(t, tm.Close())
	testwait.Done(t, tm.Done())
	testwait.Until(t, func() bool { return made.Load() == settles.Load() })
	require.Zero(t, tm.Len())
	tickers.Range(func(k, _ any) bool {
		testwait.Done(t, k.(*timer.Ticker).Done())
		return true
	})
}
