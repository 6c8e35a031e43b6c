package pools

import "sync"

// MutexRing is the name of the ring.
const MutexRing = "mutex ring"

// ring is a circular buffer under a mutex with a condition variable, which
// shows what a queue costs that is not the runtime's own.
type ring struct {
	mu         sync.Mutex // protects the fields below
	filled     sync.Cond
	tasks      []func()
	head, tail int
	idle       int
	closed     bool
}

func startRing(workers, queue int) Pool {
	r := &ring{tasks: make([]func(), queue)}
	r.filled.L = &r.mu
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for task := r.next(); task != nil; task = r.next() {
				task()
			}
		})
	}
	return rejecting(plain, r.try, func() {
		r.mu.Lock()
		r.closed = true
		r.mu.Unlock()
		r.filled.Broadcast()
		running.Wait()
	})
}

// next waits for a task; nil means that there will be none.
func (r *ring) next() func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.head == r.tail {
		if r.closed {
			return nil
		}
		r.idle++
		r.filled.Wait()
		r.idle--
	}
	place := &r.tasks[r.head%len(r.tasks)]
	task := *place
	*place = nil
	r.head++
	return task
}

func (r *ring) try(task func()) bool {
	r.mu.Lock()
	if r.tail-r.head == len(r.tasks) {
		r.mu.Unlock()
		return false
	}
	r.tasks[r.tail%len(r.tasks)] = task
	r.tail++
	wake := r.idle > 0
	r.mu.Unlock()
	if wake {
		r.filled.Signal()
	}
	return true
}
