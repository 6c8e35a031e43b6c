package timer

import (
	"context"
	"runtime/pprof"
	"slices"

	"github.com/cadre-go/cadre/internal/goid"
)

// server is what a goroutine of the timer's does.
type server interface {
	// serve returns when there is nothing left to do for ever. It is called
	// again, on a new goroutine, if foreign code ended the old one.
	serve()
}

// life is the whole of one goroutine. was is the number in core.goroutines
// that it takes over.
func (c *core) life(s server, was uint64) {
	// A goroutine is born with the labels of whoever started it.
	pprof.SetGoroutineLabels(context.Background())
	id := goid.ID()
	c.mu.Lock()
	c.goroutines[slices.Index(c.goroutines, was)] = id
	c.mu.Unlock()
	returned := false
	defer func() {
		if !returned { // Goexit: this goroutine does nothing any more
			go c.life(s, id)
			return
		}
		c.goroutineEnded(id)
	}()
	s.serve()
	returned = true
}

func (c *core) goroutineEnded(id uint64) {
	c.mu.Lock()
	i := slices.Index(c.goroutines, id)
	c.goroutines = slices.Delete(c.goroutines, i, i+1)
	last := len(c.goroutines) == 0
	c.mu.Unlock()
	if last {
		c.finish()
	}
}

// finish tells that no goroutine is left and none will come.
func (c *core) finish() {
	close(c.done)
	if c.left != nil {
		c.left()
	}
}

// inside reports whether goroutine id is the timer's.
func (c *core) inside(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.goroutines, id)
}
