package bench

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/alitto/pond/v2"

	"github.com/cadre-go/cadre/executor"
)

// The workload of every subject: queueLimit tasks may wait, and a producer that
// meets a full queue yields and tries again.
const queueLimit = 1024

// subject is one way to have tasks run by a fixed number of goroutines.
type subject struct {
	name string
	// start returns post, which posts task and reports whether it was
	// accepted, and drain, which waits for all that was.
	start func(b *testing.B, workers int, task func()) (post func() bool, drain func())
}

var subjects = []subject{
	{"cadre", startCadre},
	{"channel", startChannel},
	{"mutex-ring", startMutexRing},
	{"pond", startPond},
}

// startCadre is the pool with everything it does for a task: a scope, labels,
// a net for panic and Goexit, custody.
func startCadre(b *testing.B, workers int, task func()) (func() bool, func()) {
	pool, err := executor.New(executor.Config{Size: workers, QueueLimit: queueLimit})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	withCtx := func(context.Context) { task() }
	post := func() bool { return pool.Post(ctx, withCtx) == nil }
	return post, func() {
		if err := pool.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// startChannel is a bare channel of functions: no context, no net, no
// accounting, no rejection but select/default.
func startChannel(_ *testing.B, workers int, task func()) (func() bool, func()) {
	tasks := make(chan func(), queueLimit)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for task := range tasks {
				task()
			}
		})
	}
	post := func() bool {
		select {
		case tasks <- task:
			return true
		default:
			return false
		}
	}
	return post, func() { close(tasks); wg.Wait() }
}

// startMutexRing is the queue that the pool does not have: a ring under a
// mutex with a condition variable. It does no more for a task than the channel.
func startMutexRing(_ *testing.B, workers int, task func()) (func() bool, func()) {
	var (
		mu         sync.Mutex
		filled     = sync.NewCond(&mu)
		ring       [queueLimit]func()
		head, tail int
		idle       int
		closed     bool
		wg         sync.WaitGroup
	)
	next := func() func() {
		mu.Lock()
		defer mu.Unlock()
		for head == tail {
			if closed {
				return nil
			}
			idle++
			filled.Wait()
			idle--
		}
		task := ring[head%queueLimit]
		ring[head%queueLimit] = nil
		head++
		return task
	}
	for range workers {
		wg.Go(func() {
			for task := next(); task != nil; task = next() {
				task()
			}
		})
	}
	post := func() bool {
		mu.Lock()
		if tail-head == queueLimit {
			mu.Unlock()
			return false
		}
		ring[tail%queueLimit] = task
		tail++
		wake := idle > 0
		mu.Unlock()
		if wake {
			filled.Signal()
		}
		return true
	}
	return post, func() {
		mu.Lock()
		closed = true
		mu.Unlock()
		filled.Broadcast()
		wg.Wait()
	}
}

func startPond(b *testing.B, workers int, task func()) (func() bool, func()) {
	pool := pond.NewPool(workers, pond.WithQueueSize(queueLimit), pond.WithNonBlocking(true))
	post := func() bool {
		err := pool.Go(task)
		if err != nil && !errors.Is(err, pond.ErrQueueFull) {
			b.Fatal(err)
		}
		return err == nil
	}
	return post, pool.StopAndWait
}

// produce posts n times from producers goroutines.
func produce(n, producers int, post func() bool) {
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := p; i < n; i += producers {
				for !post() {
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
}
