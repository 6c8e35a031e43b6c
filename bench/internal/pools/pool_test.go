package pools

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

func TestEveryKindRunsWhatIsPosted(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			const tasks = 100
			pool := kind.Start(2, 16)
			var ran atomic.Int64
			var running sync.WaitGroup
			running.Add(2 * tasks)
			task := func() { ran.Add(1); running.Done() }
			post := pool.Load([]func(){task, task})
			for range tasks {
				post(0)
				post(1)
			}
			running.Wait()
			pool.Close()
			if got := ran.Load(); got != 2*tasks {
				t.Errorf("%d of %d tasks ran", got, 2*tasks)
			}
		})
	}
}

func TestEveryKindSaysWhatItLacks(t *testing.T) {
	for _, kind := range Kinds() {
		if kind.Lacks == "" || kind.Full == "" {
			t.Errorf("%s does not", kind.Name)
		}
	}
}

func TestLibrariesAreKinds(t *testing.T) {
	names := Libraries()
	for _, own := range []string{Cadre, Labeled, Channel, MutexRing, Goroutines} {
		if slices.Contains(names, own) {
			t.Errorf("%s is no library", own)
		}
	}
	if len(names) < 7 {
		t.Errorf("the libraries are %v", names)
	}
}

func TestRingRefusesWhenItIsFull(t *testing.T) {
	r := &ring{tasks: make([]func(), 2)}
	r.filled.L = &r.mu
	order := []int{}
	for i := range 2 {
		if !r.try(func() { order = append(order, i) }) {
			t.Fatalf("task %d was refused", i)
		}
	}
	if r.try(func() {}) {
		t.Error("there was room for a third")
	}
	r.next()()
	if !r.try(func() { order = append(order, 2) }) {
		t.Error("a place that was free again was refused")
	}
	r.next()()
	r.next()()
	if !slices.Equal(order, []int{0, 1, 2}) {
		t.Errorf("the tasks came out as %v", order)
	}
}
