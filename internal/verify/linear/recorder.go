package linear

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// recorder collects the operations of a history. Its clock is a counter: that
// one operation returned before another was called is all that matters.
type recorder struct {
	clock atomic.Int64
	mu    sync.Mutex
	ops   []porcupine.Operation
}

// do records one call and what it answered.
func (r *recorder) do(client int, in any, call func() any) {
	at := r.clock.Add(1)
	out := call()
	r.add(client, in, out, at, r.clock.Add(1))
}

// begin records something that happens at some instant from now on, or not at
// all: nobody sees it return.
func (r *recorder) begin(client int, in any) {
	r.add(client, in, nil, r.clock.Add(1), math.MaxInt64)
}

func (r *recorder) add(client int, in, out any, from, to int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: from, Return: to})
}

// step is a model's transition: whether out may be the answer to in, and the
// state after it. States are compared with ==.
type step[S comparable] func(state S, in, out any) (bool, S)

// check fails the test if the history fits no order of the model.
func check[S comparable](t *testing.T, r *recorder, initial S, next step[S]) {
	t.Helper()
	model := porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, in, out any) (bool, any) {
			ok, s := next(state.(S), in, out)
			return ok, s
		},
		Equal: func(a, b any) bool { return a.(S) == b.(S) },
	}
	switch porcupine.CheckOperationsTimeout(model, r.ops, 20*time.Second) {
	case porcupine.Illegal:
		for _, op := range r.ops {
			t.Logf("client %d: [%d, %d] %+v answers %+v", op.ClientId, op.Call, op.Return, op.Input, op.Output)
		}
		t.Fatal("the history fits no order")
	case porcupine.Unknown:
		t.Log("a history was too large to decide")
	}
}

// clients runs fn on n goroutines at once, and waits for them.
func clients(n int, fn func(client int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			fn(i)
		})
	}
	close(start)
	wg.Wait()
}
