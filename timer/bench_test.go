package timer_test

import (
	"context"
	"testing"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/timer"
)

func benchTimer(b *testing.B, cfg timer.Config) *timer.Timer {
	b.Helper()
	tm, err := timer.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = tm.Close() })
	b.ReportAllocs()
	return tm
}

func BenchmarkDelayPending(b *testing.B) {
	tm := benchTimer(b, timer.Config{})
	ctx := context.Background()
	for i := range b.N {
		tm.Delay(ctx, time.Hour+time.Duration(i))
	}
}

func BenchmarkDelayCancel(b *testing.B) {
	tm := benchTimer(b, timer.Config{})
	ctx := context.Background()
	for b.Loop() {
		tm.Delay(ctx, time.Hour).Cancel(nil)
	}
}

func BenchmarkDelayCancelAmong100000(b *testing.B) {
	tm := benchTimer(b, timer.Config{})
	ctx := context.Background()
	const n = 100_000
	fs := make([]*future.Future[time.Time], n)
	for i := range fs {
		fs[i] = tm.Delay(ctx, time.Hour+time.Duration(i*7919%n)*time.Millisecond)
	}
	i := 0
	for b.Loop() {
		k := i * 7919 % n
		fs[k].Cancel(nil)
		fs[k] = tm.Delay(ctx, time.Hour+time.Duration(k)*time.Millisecond)
		i++
	}
}

func BenchmarkDelayCancelableContext(b *testing.B) {
	tm := benchTimer(b, timer.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for b.Loop() {
		tm.Delay(ctx, time.Hour).Cancel(nil)
	}
}

func BenchmarkDelayFire(b *testing.B) {
	tm := benchTimer(b, timer.Config{})
	ctx := context.Background()
	for b.Loop() {
		_, _ = tm.Delay(ctx, time.Nanosecond).Await(ctx)
	}
}

func BenchmarkDelayZero(b *testing.B) {
	tm := benchTimer(b, timer.Config{})
	ctx := context.Background()
	for b.Loop() {
		tm.Delay(ctx, 0)
	}
}
