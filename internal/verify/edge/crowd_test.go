package edge

import (
	"sync"
	"testing"
)

// crowd is a number of goroutines that all wait for something.
type crowd struct {
	t    *testing.T
	all  sync.WaitGroup
	done chan struct{}
	base int
}

func newCrowd(t *testing.T) *crowd {
	return &crowd{t: t, done: make(chan struct{}), base: waiting()}
}

// add starts n that call wait.
func (w *crowd) add(n int, wait func(i int)) {
	for i := range n {
		w.all.Go(func() { wait(i) })
	}
}

// settle returns when n of them wait, but for a few: the count is not exact.
func (w *crowd) settle(n int) {
	w.t.Helper()
	until(w.t, "all wait", func() bool { return waiting() >= w.base+n-8 })
}

// gone waits until all of them have ended.
func (w *crowd) gone() {
	w.t.Helper()
	go func() { w.all.Wait(); close(w.done) }()
	await(w.t, "all that waited", w.done)
}
