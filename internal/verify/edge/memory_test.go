package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-go/cadre/executor"
)

const (
	payload = 16 << 10 // bytes that a task carries
	places  = 1000     // of the queue
	ballast = 48 << 20 // bytes that live anyway
	tooLow  = "32MiB"  // below what lives: the collector runs all the time
)

// memoryLedger is what a child says about its pool and its memory.
type memoryLedger struct {
	Stats    executor.Stats
	Ran      int64
	Refused  uint64        // as the producer saw it
	Took     time.Duration // by the clock
	CPU      float64       // seconds
	GC       float64       // the collector's part of that
	Cycles   uint32
	HeapPeak uint64 // of what lives, at the ends of the cycles
}

// TestMemoryLimit has a process live above its GOMEMLIMIT. The limit is soft:
// the queue's bound is what keeps the tasks from filling the memory.
func TestMemoryLimit(t *testing.T) {
	free, tight := runMemoryChild(t, "off"), runMemoryChild(t, tooLow)
	for _, l := range []memoryLedger{free, tight} {
		t.Logf("%d tasks in %v, %.0f per CPU second, %d collections, %.0f%% of the CPU in the collector, %d MiB lived at most, %d refusals",
			l.Ran, l.Took.Round(time.Millisecond), float64(l.Ran)/l.CPU, l.Cycles, 100*l.GC, l.HeapPeak>>20, l.Refused)
	}
	t.Logf("with GOMEMLIMIT=%s and %d MiB that live anyway: %.2f of the throughput without a limit, by CPU time",
		tooLow, ballast>>20, free.CPU/tight.CPU)
	if tight.Cycles <= free.Cycles {
		t.Errorf("%d collections with a limit, %d without: it was not reached", tight.Cycles, free.Cycles)
	}
}

func runMemoryChild(t *testing.T, limit string) (l memoryLedger) {
	t.Helper()
	tasks := sizes(20_000)[1]
	cmd := command(t, "memory", "GOMEMLIMIT="+limit, fmt.Sprint("EDGE_TASKS=", tasks))
	out, err := cmd.Output()
	check(t, err)
	check(t, json.Unmarshal(out, &l))
	s := l.Stats
	equal(t, "Accepted", s.Accepted, uint64(tasks))
	equal(t, "Finished", s.Finished, uint64(tasks))
	equal(t, "Rejected", s.Rejected, l.Refused)
	equal(t, "Attempted", s.Attempted, s.Accepted+s.Rejected)
	equal(t, "ran", l.Ran, int64(tasks))
	equal(t, "queued and running", s.Queued+s.Running, 0)
	// The ballast and what the queue holds, four times: what is allocated while
	// the collector marks counts as living. All tasks together are 320 MB.
	if most := uint64(ballast + 4*places*payload); l.HeapPeak > most {
		t.Errorf("%d bytes lived, more than %d", l.HeapPeak, most)
	}
	return l
}

func memoryChild() int {
	tasks, _ := strconv.Atoi(os.Getenv("EDGE_TASKS"))
	keep := make([][]byte, 0, ballast>>20)
	for range cap(keep) {
		keep = append(keep, make([]byte, 1<<20))
	}
	p, err := executor.New(executor.Config{Size: 2, QueueLimit: places})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var l memoryLedger
	var ran atomic.Int64
	started := time.Now()
	for accepted := 0; accepted < tasks; {
		cargo := make([]byte, payload)
		err := p.Post(context.Background(), func(context.Context) {
			for i := range cargo {
				cargo[i] += byte(i)
			}
			ran.Add(1)
		})
		switch {
		case err == nil:
			accepted++
		case errors.Is(err, executor.ErrQueueFull):
			l.Refused++
			l.HeapPeak = max(l.HeapPeak, liveHeap())
			runtime.Gosched()
		default:
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := p.Shutdown(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l.Took, l.Ran, l.Stats = time.Since(started), ran.Load(), p.Stats()
	l.HeapPeak = max(l.HeapPeak, liveHeap())
	l.CPU = cpu().Seconds()
	l.Cycles, l.GC = collector()
	runtime.KeepAlive(keep)
	return report(l)
}

// liveHeap is what the last collection found to live.
func liveHeap() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// collector returns how often the collector has run, and its part of the time
// that was not idle.
func collector() (cycles uint32, part float64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.GC() // after which the times are up to date
	s := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"},
	}
	metrics.Read(s)
	gc, spare := s[0].Value.Float64(), s[1].Value.Float64()
	all, idle := s[2].Value.Float64(), s[3].Value.Float64()
	return m.NumGC, (gc - spare) / (all - idle - spare)
}
