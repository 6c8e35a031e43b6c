package workloads

import (
	"context"
	"sync"

	"github.com/jackc/puddle/v2"
	"golang.org/x/sync/semaphore"

	"github.com/cadre-go/cadre/bench/internal/pools"
	"github.com/cadre-go/cadre/executor/lease"
)

const (
	puddles = "puddle"
	// endless is the room for waiters, where a pool bounds them.
	endless = 1 << 16
)

// lessor lends a number of resources to users.
type lessor struct {
	// user returns one party, which has a handle of its own where there are any.
	user  func(party int) user
	close func()
}

// user is one party of a lessor. Its functions may be called concurrently.
type user struct {
	// use acquires, calls hold, and releases.
	use func(ctx context.Context, hold func())
	// try acquires, and reports false if ctx ended first; else it releases.
	try func(ctx context.Context) bool
	// take acquires and returns what releases.
	take func(ctx context.Context) (release func())
}

type lessorKind struct {
	name  string
	lacks string
	start func(slots int) lessor
}

func lessors() []lessorKind {
	return []lessorKind{
		{pools.Cadre, "nothing", lendCadre},
		{puddles, "handles and turns, a net for a resource that an operation left dirty, bounds of waiters and of the wait, leak reports", lendPuddle},
		{"channel of resources", "as puddle; also connecting, close, accounts, net for double release", lendChannel},
		{"semaphore, no resource", "as channel of resources; also the resource", lendSemaphore},
		{"mutex and condition, no ctx", "as channel of resources; also ctx and order", lendCondition},
	}
}

func connect(context.Context) (int, error) { return 1, nil }

func lendCadre(slots int) lessor {
	pool, err := lease.New(lease.Config[int]{Slots: slots, MaxWaiters: endless, Connect: connect})
	check(err)
	return lessor{
		user: func(int) user {
			handle := pool.Handle()
			return makeUser(handle.Acquire, func(l lease.Lease[int]) { check(l.Release()) })
		},
		close: func() { check(pool.Close()) },
	}
}

func lendPuddle(slots int) lessor {
	pool, err := puddle.NewPool(&puddle.Config[int]{
		Constructor: connect,
		Destructor:  func(int) {},
		MaxSize:     int32(slots),
	})
	check(err)
	return lessor{
		user:  func(int) user { return makeUser(pool.Acquire, (*puddle.Resource[int]).Release) },
		close: pool.Close,
	}
}

func lendChannel(slots int) lessor {
	free := make(chan *int, slots)
	for range slots {
		free <- new(int)
	}
	acquire := func(ctx context.Context) (*int, error) {
		select {
		case resource := <-free:
			return resource, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	release := func(resource *int) { free <- resource }
	return lessor{user: func(int) user { return makeUser(acquire, release) }, close: func() {}}
}

func lendSemaphore(slots int) lessor {
	permits := semaphore.NewWeighted(int64(slots))
	acquire := func(ctx context.Context) (struct{}, error) { return struct{}{}, permits.Acquire(ctx, 1) }
	release := func(struct{}) { permits.Release(1) }
	return lessor{user: func(int) user { return makeUser(acquire, release) }, close: func() {}}
}

func lendCondition(slots int) lessor {
	var mu sync.Mutex
	returned := sync.NewCond(&mu)
	free := make([]*int, slots)
	for i := range free {
		free[i] = new(int)
	}
	acquire := func(context.Context) (*int, error) {
		mu.Lock()
		for len(free) == 0 {
			returned.Wait()
		}
		last := len(free) - 1
		resource := free[last]
		free = free[:last]
		mu.Unlock()
		return resource, nil
	}
	release := func(resource *int) {
		mu.Lock()
		free = append(free, resource)
		mu.Unlock()
		returned.Signal()
	}
	return lessor{user: func(int) user { return makeUser(acquire, release) }, close: func() {}}
}

func makeUser[T any](acquire func(context.Context) (T, error), release func(T)) user {
	return user{
		use: func(ctx context.Context, hold func()) {
			resource, err := acquire(ctx)
			check(err)
			hold()
			release(resource)
		},
		try: func(ctx context.Context) bool {
			resource, err := acquire(ctx)
			if err != nil {
				return false
			}
			release(resource)
			return true
		},
		take: func(ctx context.Context) func() {
			resource, err := acquire(ctx)
			check(err)
			return func() { release(resource) }
		},
	}
}
