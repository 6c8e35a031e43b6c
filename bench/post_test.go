package bench

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// BenchmarkPost posts and runs an empty task that counts: from the first post
// until everything has run. Compare the subjects within one run only.
func BenchmarkPost(b *testing.B) {
	for _, workers := range []int{2, 8} {
		for _, producers := range []int{1, 8, 64} {
			for _, s := range subjects {
				b.Run(fmt.Sprintf("workers=%d/producers=%d/%s", workers, producers, s.name), func(b *testing.B) {
					var ran atomic.Int64
					post, drain := s.start(b, workers, func() { ran.Add(1) })
					b.ReportAllocs()
					b.ResetTimer()
					produce(b.N, producers, post)
					drain()
					b.StopTimer()
					if got := ran.Load(); got != int64(b.N) {
						b.Fatalf("%d of %d tasks ran", got, b.N)
					}
				})
			}
		}
	}
}
