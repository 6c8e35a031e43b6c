package sim

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/executor/supervised"
	"github.com/cadre-go/cadre/future"
)

// What is dropped without having been closed ends when the collector finds it.
// That does not happen in a bubble, so these histories are played outside.

// collected runs the collector until done is closed.
func collected(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		runtime.GC()
		select {
		case <-done:
			return
		case <-late:
			t.Fatalf("%s was dropped, and has not ended", what)
		case <-time.After(time.Millisecond):
		}
	}
}

func TestDropped(t *testing.T) {
	seed := number(t, "SIM_SEED", rand.Uint64()>>16)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 20 {
		tasks := r.IntN(8)
		done, ran := dropPool(t, tasks)
		collected(t, "a pool", done)
		if got := ran.Load(); got != int64(tasks) {
			t.Fatalf("%d tasks were accepted, and %d ran", tasks, got)
		}

		done, made, disposed := dropLeases(t, r.IntN(3))
		collected(t, "a lease pool", done)
		if m, d := made.Load(), disposed.Load(); m != d {
			t.Fatalf("%d resources were connected, and %d disposed of", m, d)
		}

		done, outcomes := dropSupervised(t, r.IntN(4))
		collected(t, "a supervised pool", done)
		for _, f := range outcomes {
			if _, ok := f.Outcome(); !ok {
				t.Fatal("an accepted job has no outcome")
			}
		}
	}
}

//go:noinline
func dropPool(t *testing.T, tasks int) (<-chan struct{}, *atomic.Int64) {
	ran := new(atomic.Int64)
	p, err := executor.New(executor.Config{Size: 2})
	if err != nil {
		t.Fatal(err)
	}
	for range tasks {
		if err := p.Post(context.Background(), func(context.Context) { ran.Add(1) }); err != nil {
			t.Fatal(err)
		}
	}
	return p.Done(), ran
}

// dropLeases drops a pool, its handle, and the leases that are held.
//
//go:noinline
func dropLeases(t *testing.T, held int) (<-chan struct{}, *atomic.Int64, *atomic.Int64) {
	made, disposed := new(atomic.Int64), new(atomic.Int64)
	p, err := lease.New(lease.Config[*int64]{
		Slots: 3, Leak: lease.LeakReclaim,
		Connect: func(context.Context) (*int64, error) {
			n := made.Add(1)
			return &n, nil
		},
		Dispose: func(*int64) { disposed.Add(1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	h := p.Handle()
	for range held {
		if _, err := h.Acquire(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	back := make(chan struct{})
	go func() { // the permits of the leases that were dropped come back
		defer close(back)
		for late := time.After(20 * time.Second); p.Stats().Free < 3; runtime.GC() {
			select {
			case <-late:
				t.Error("leases were dropped, and their permits are not back")
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	<-back
	return p.Done(), made, disposed
}

//go:noinline
func dropSupervised(t *testing.T, jobs int) (<-chan struct{}, []*future.Future[supervised.Completion[int]]) {
	p, err := supervised.New(context.Background(), supervised.Config[int, int]{
		Roles: []supervised.Role{"a"},
		Factory: func(context.Context, supervised.Role) (supervised.Worker[int, int], error) {
			return supervised.HandlerFunc[int, int](func(_ context.Context, a supervised.Assignment[int, int]) error {
				return a.Complete(a.Job())
			}), nil
		},
		Backlog: 8, Activations: 1, Interruption: supervised.Fail, Recovery: supervised.Temporary(supervised.RetireRole),
		OnDiagnostic: func(supervised.Diagnostic) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []*future.Future[supervised.Completion[int]]
	for j := range jobs {
		ticket, err := p.Submit(context.Background(), j)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ticket.Outcome)
	}
	return p.Done(), out
}
