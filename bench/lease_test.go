package bench

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/jackc/puddle/v2"

	"github.com/cadre-go/cadre/executor/lease"
)

// leaser acquires and releases one of a fixed number of resources, which it
// holds while it calls hold.
type leaser struct {
	name  string
	start func(b *testing.B, slots int) (use func(hold func()), stop func())
}

var leasers = []leaser{{"cadre", leaseCadre}, {"puddle", leasePuddle}}

func leaseCadre(b *testing.B, slots int) (func(func()), func()) {
	pool, err := lease.New(lease.Config[int]{
		Slots:   slots,
		Connect: func(context.Context) (int, error) { return 1, nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	use := func(hold func()) {
		l, err := pool.Acquire(ctx)
		if err != nil {
			b.Error(err)
			return
		}
		hold()
		_ = l.Release()
	}
	return use, func() {
		if err := pool.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func leasePuddle(b *testing.B, slots int) (func(func()), func()) {
	pool, err := puddle.NewPool(&puddle.Config[int]{
		Constructor: func(context.Context) (int, error) { return 1, nil },
		Destructor:  func(int) {},
		MaxSize:     int32(slots),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	use := func(hold func()) {
		r, err := pool.Acquire(ctx)
		if err != nil {
			b.Error(err)
			return
		}
		hold()
		r.Release()
	}
	return use, pool.Close
}

// BenchmarkLease acquires and releases: by one goroutine, and by 8 and 64 on 2
// and 4 slots, which they give back at once or hold across a yield.
func BenchmarkLease(b *testing.B) {
	for _, load := range []struct{ goroutines, slots int }{{1, 1}, {8, 2}, {8, 4}, {64, 2}, {64, 4}} {
		for name, hold := range map[string]func(){"none": func() {}, "yield": runtime.Gosched} {
			for _, l := range leasers {
				b.Run(fmt.Sprintf("goroutines=%d/slots=%d/hold=%s/%s", load.goroutines, load.slots, name, l.name), func(b *testing.B) {
					use, stop := l.start(b, load.slots)
					b.ReportAllocs()
					b.ResetTimer()
					var wg sync.WaitGroup
					for g := range load.goroutines {
						wg.Go(func() {
							for i := g; i < b.N; i += load.goroutines {
								use(hold)
							}
						})
					}
					wg.Wait()
					b.StopTimer()
					stop()
				})
			}
		}
	}
}
