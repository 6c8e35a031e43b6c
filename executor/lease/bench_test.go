package lease_test

import (
	"runtime"
	"testing"

	"github.com/cadre-go/cadre/executor/lease"
)

func benchPool(b *testing.B, slots int, slow bool) *pool {
	m := &maker{}
	p, err := lease.NewTest(config{Slots: slots, MaxWaiters: 1 << 16, Connect: m.connect}, slow, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close() })
	b.ReportAllocs()
	return p
}

func pair(b *testing.B, from acquirer, yield bool) {
	l, err := from.Acquire(bg)
	if err != nil {
		b.Error(err)
		return
	}
	if yield {
		runtime.Gosched()
	}
	_ = l.Release()
}

func BenchmarkPair(b *testing.B) {
	for _, slow := range []bool{false, true} {
		b.Run(name("slow=%v", slow), func(b *testing.B) {
			h := benchPool(b, 1, slow).Handle()
			for b.Loop() {
				pair(b, h, false)
			}
		})
	}
}

func BenchmarkContended(b *testing.B) {
	for _, yield := range []bool{false, true} {
		b.Run(name("slots=2/goroutines=8/yield=%v", yield), func(b *testing.B) {
			p := benchPool(b, 2, false)
			b.SetParallelism(max(8/runtime.GOMAXPROCS(0), 1))
			b.RunParallel(func(pb *testing.PB) {
				h := p.Handle()
				for pb.Next() {
					pair(b, h, yield)
				}
			})
		})
	}
}
