package future_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/testwait"
)

// TestStress runs for CADRE_STRESS, a duration; a few rounds if there is none.
func TestStress(t *testing.T) {
	logged := recordLogs(t)
	more := rounds(t, 300)
	for more() {
		stressOnce(t)
	}
	require.Empty(t, logged())
}

// rounds returns a function that tells whether there is time for one more.
func rounds(t *testing.T, n int) func() bool {
	d := os.Getenv("CADRE_STRESS")
	if d == "" {
		return func() bool { n--; return n >= 0 }
	}
	length, err := time.ParseDuration(d)
	require.NoError(t, err)
	end := time.Now().Add(length)
	return func() bool { return time.Now().Before(end) }
}

// stressOnce lets goroutines settle, cancel and wait for a web of futures, and
// then checks that each value was delivered or disposed of, once, and that each
// callback ran once.
func stressOnce(t *testing.T) {
	const n = 4
	ctx, cancel := context.WithCancelCause(bg)
	defer cancel(nil)
	var disposed, onSettle, onCancel [n]atomic.Int64
	var cs [n]*future.Completer[int]
	fs := make([]*future.Future[int], n)
	for i := range cs {
		cs[i] = future.NewCompleter(future.WithDispose(func(int) { disposed[i].Add(1) }))
		cs[i].OnCancel(func(error) { onCancel[i].Add(1) })
		fs[i] = cs[i].Future()
	}

	var made, gone atomic.Int64 // values of Then
	var ran [n]atomic.Int64
	thens := make([]*future.Future[int], n)
	combined := make([]handle, 4)
	double := func(_ context.Context, v int) (int, error) { made.Add(1); return 2 * v, nil }
	together(t, 3*n, func(i int) {
		f := fs[i%n]
		switch i / n {
		case 0: // derive
			d := future.Then(ctx, f, double, future.WithDispose(func(int) { gone.Add(1) }))
			thens[i] = d
			d.OnSettle(func(future.Outcome[int]) { ran[i].Add(1) })
			shields := make([]*future.Future[int], n)
			for k := range shields {
				shields[k] = future.Shield(fs[k])
			}
			name := []string{"All", "Settled", "Any", "Race"}[i]
			combined[i] = combinators[name](ctx, append(shields, d)...)
		case 1: // wait
			f.OnSettle(func(future.Outcome[int]) { onSettle[i%n].Add(1) })
			for range future.Each(ctx, fs...) {
				if i%2 == 0 {
					break
				}
			}
			_, _ = f.Await(ctx)
		case 2: // settle
			switch rand.IntN(5) {
			case 0, 1:
			case 2:
				f.Cancel(errWhy)
			case 3:
				f.Abandon(errWhy)
			case 4:
				cancel(errWhy)
			}
			cs[i%n].Complete(i)
		}
	})
	for i := range n {
		testwait.Done(t, thens[i].Done())
		testwait.Done(t, combined[i].Done())
	}
	// What the end of ctx settles runs its callbacks elsewhere.
	testwait.Until(t, func() bool {
		for i := range n {
			if onSettle[i].Load() == 0 || ran[i].Load() == 0 {
				return false
			}
		}
		return true
	})
	delivered := int64(0)
	for i, f := range fs {
		o, ok := f.Outcome()
		require.True(t, ok)
		at := fmt.Sprint(i, " ", o)
		require.EqualValues(t, 1, onSettle[i].Load(), at)
		require.Equal(t, o.Err != nil, disposed[i].Load() == 1, at)
		require.LessOrEqual(t, onCancel[i].Load(), int64(1), at)
		d, _ := thens[i].Outcome()
		require.EqualValues(t, 1, ran[i].Load(), at)
		if d.Err == nil {
			delivered++
			require.Equal(t, 2*o.Value, d.Value)
		}
	}
	testwait.Until(t, func() bool { return delivered+gone.Load() == made.Load() })
}
