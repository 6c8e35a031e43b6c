//lint:file-ignore SA1012 nil contexts are part of what is tested

package supervised

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/internal/testwait"
)

// held is a worker that says which job it has, and completes it when told to.
type held struct {
	has  chan int
	next chan struct{}
}

func newHeld() *held { return &held{make(chan int, 100), make(chan struct{})} }

func (h *held) Serve(ctx context.Context, in *inbox) error {
	return handler(func(ctx context.Context, a assignment) error {
		h.has <- a.Job()
		select {
		case <-h.next:
			return a.Complete(10 * a.Job())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}).Serve(ctx, in)
}

func rejection(t *testing.T, err error) *RejectedError[int] {
	t.Helper()
	var e *RejectedError[int]
	require.ErrorAs(t, err, &e)
	return e
}

func TestSubmit(t *testing.T) {
	t.Run("SUP-20 an accepted job completes", func(t *testing.T) {
		p, _ := start(t, plain(2, handler(tenfold)))
		for i := range 20 {
			ticket := submit(t, p, i)
			require.Equal(t, 10*i, result(t, ticket))
			require.Equal(t, JobID(i+1), ticket.ID)
		}
		s := p.Stats()
		require.Equal(t, uint64(20), s.Accepted)
		require.Equal(t, uint64(20), s.Settled)
	})
	t.Run("SUP-20 a rejected job comes back unchanged", func(t *testing.T) {
		h := newHeld()
		cfg := plain(1, h)
		cfg.Backlog = 1
		p, _ := start(t, cfg)
		first := submit(t, p, 1)
		require.Equal(t, 1, testwait.Value(t, h.has))
		second := submit(t, p, 2)
		_, err := p.Submit(context.Background(), 3)
		e := rejection(t, err)
		require.Equal(t, 3, e.Job)
		require.Equal(t, BacklogFull, e.Reason)
		require.ErrorIs(t, err, ErrBacklogFull)
		close(h.next)
		require.Equal(t, 10, result(t, first))
		require.Equal(t, 20, result(t, second))
	})
	t.Run("SUP-21 a ctx that has ended, a nil one, a stopped pool and a zero one", func(t *testing.T) {
		p, _ := start(t, plain(1, handler(tenfold)))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := p.Submit(ctx, 1)
		require.Equal(t, ContextDone, rejection(t, err).Reason)
		require.ErrorIs(t, err, ErrSubmitContext)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, uint64(1), p.Stats().Rejected)
		_, err = p.Submit(nil, 1)
		require.ErrorIs(t, err, ErrConfig)
		stop(t, p)
		_, err = p.Submit(context.Background(), 7)
		require.Equal(t, 7, rejection(t, err).Job)
		require.ErrorIs(t, err, ErrPoolStopping)
		var zero pool
		_, err = zero.Submit(context.Background(), 8)
		require.ErrorIs(t, err, ErrPoolStopping)
	})
	t.Run("SUP-14 the zero pool never panics", func(t *testing.T) {
		for _, p := range []*pool{nil, {}} {
			p.Stop()
			require.ErrorIs(t, p.Wait(t.Context()), ErrPoolStopping)
			require.ErrorIs(t, p.Shutdown(t.Context()), ErrPoolStopping)
			require.ErrorIs(t, p.Close(), ErrPoolStopping)
			testwait.Done(t, p.Done())
			require.Equal(t, Stats{Mode: "stopped"}, p.Stats())
		}
		require.ErrorIs(t, assignment{}.Complete(1), ErrForeignAssignment)
		require.Zero(t, assignment{}.Job())
		require.NoError(t, assignment{}.Context().Err())
		_, err := new(inbox).Next(t.Context())
		require.ErrorIs(t, err, ErrInboxClosed)
	})
	t.Run("SUP-25 a canceled future ends the waiting alone", func(t *testing.T) {
		h := newHeld()
		p, s := start(t, plain(1, h))
		ticket := submit(t, p, 1)
		testwait.Value(t, h.has)
		require.True(t, ticket.Outcome.Cancel(nil))
		h.next <- struct{}{}
		d := s.find(t, UnclaimedOutcome)
		require.Equal(t, Completion[int]{ticket.ID, "a", 10}, d.Value)
		require.Equal(t, ticket.ID, d.Job)

		ticket = submit(t, p, 2)
		require.True(t, ticket.Outcome.Abandon(nil))
		testwait.Value(t, h.has)
		p.Stop()
		testwait.Done(t, p.Done())
		s.mu.Lock()
		defer s.mu.Unlock()
		var e *ReturnedError[int]
		for _, d := range s.got {
			if r, ok := d.Value.(*ReturnedError[int]); ok {
				e = r
			}
		}
		require.NotNil(t, e)
		require.Equal(t, 2, e.Job)
		require.Equal(t, PoolShutdown, e.Reason)
	})
}
