package executor

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/internal/testwait"
)

// testQueue is a queue that starts at a ticket.
func testQueue(limit int, ticket uint64) *queue {
	q := &queue{}
	q.init(limit)
	q.entry.Store(ticket * entryTicket)
	q.exit.Store(extraBias*exitExtra + ticket&headMask*exitHead)
	return q
}

// post admits and pushes a task, or returns nil with the verdict.
func (q *queue) post(t testing.TB) (*task, verdict) {
	e := q.in()
	if v := q.room(e); v != roomy {
		return nil, v
	}
	require.True(t, q.admit(e))
	x := &task{}
	q.push(x, e.ticket())
	return x, roomy
}

func TestQueue(t *testing.T) {
	t.Run("EXEC-2_the_words_tell_each_state_apart", func(t *testing.T) {
		q := testQueue(4, headMask) // every bit of the head is set
		states := func() []bool {
			e, x := q.both()
			return []bool{e.slow(), e.closed(), x.slow(), x.closed(), x.frozen()}
		}
		require.Equal(t, []bool{false, false, false, false, false}, states())
		q.slow()
		require.Equal(t, []bool{true, false, true, false, false}, states())
		q.fast()
		q.close()
		require.Equal(t, []bool{false, true, false, true, false}, states())
	})
	t.Run("EXEC-3_order_where_the_36_bits_of_head_go_round", func(t *testing.T) {
		q := testQueue(3, headMask-4)
		for range 20 {
			var posted []*task
			for range 3 {
				x, _ := q.post(t)
				require.NotNil(t, x)
				posted = append(posted, x)
			}
			_, v := q.post(t)
			require.Equal(t, full, v)
			require.Equal(t, 3, places(q.both()))
			for _, want := range posted {
				require.True(t, q.ready())
				x, _, how := q.take(running, false)
				require.Equal(t, got, how)
				require.Same(t, want, x)
			}
			require.Equal(t, 3, places(q.both()), "workers hold places")
			for range 3 {
				q.leave()
			}
			require.Zero(t, places(q.both()))
			require.False(t, q.ready())
		}
		require.Greater(t, q.in().ticket(), uint64(headMask))
		require.False(t, q.drained())
		q.close()
		require.True(t, q.drained())
		require.False(t, q.admit(q.in()-entryClosed), "nothing is admitted any more")
	})
	t.Run("EXEC-2_every_limit_can_be_filled_exactly", func(t *testing.T) {
		for limit := range 100 {
			q := testQueue(limit, 0)
			require.Less(t, len(q.cells), max(9, 2*(limit+limit/4)), "no more cells than the next power of two")
			for range limit {
				_, v := q.post(t)
				require.Equal(t, roomy, v, limit)
			}
			_, v := q.post(t)
			require.Equal(t, full, v, limit)
		}
	})
	t.Run("EXEC-2_an_old_reading_of_the_entry_is_not_full", func(t *testing.T) {
		q := testQueue(4, 0)
		e := q.in()
		for range 3 { // others come by meanwhile, and are served
			_, v := q.post(t)
			require.Equal(t, roomy, v)
			_, _, how := q.take(running, false)
			require.Equal(t, got, how)
			q.leave()
		}
		q.bound.Store(0) // as whoever read e has read it
		require.NotEqual(t, full, q.room(e), "the queue is empty")
		require.False(t, q.admit(e))
	})
	t.Run("EXEC-3_a_producer_that_stalls_before_its_push", func(t *testing.T) {
		q := testQueue(4, 0)
		first := q.in()
		require.True(t, q.admit(first))
		second, _ := q.post(t)
		_, _, how := q.take(running, false)
		require.Equal(t, nothing, how, "the first is not there yet, and the second waits for it")
		q.close()
		require.False(t, q.drained())
		stalled := &task{}
		q.push(stalled, first.ticket())
		for _, want := range []*task{stalled, second} {
			x, _, _ := q.take(running, false)
			require.Same(t, want, x)
		}
		require.True(t, q.drained())
	})
	t.Run("EXEC-11_holes_are_compacted", func(t *testing.T) {
		q := testQueue(4, headMask-3)
		live, _ := q.post(t)
		var canceled int
		for {
			x, v := q.post(t)
			if v == cramped {
				break
			}
			require.True(t, x.claim(skipped))
			q.leave()
			canceled++
		}
		require.Equal(t, len(q.cells)-1, canceled)
		require.Equal(t, 1, places(q.both()))
		q.exit.Or(exitFrozen)
		_, _, how := q.take(running, false)
		require.Equal(t, frozen, how)
		q.compact()
		require.Equal(t, 1, places(q.both()))
		last, v := q.post(t)
		require.Equal(t, roomy, v)
		for _, want := range []*task{live, last} {
			x, _, _ := q.take(running, false)
			require.Same(t, want, x)
		}
		for i := range q.cells {
			require.Nil(t, q.cells[i].Load(), "a cell keeps what has left")
		}
	})
	t.Run("EXEC-10_a_worker_passes_its_place_on", func(t *testing.T) {
		q := testQueue(2, 0)
		_, _ = q.post(t)
		_, _ = q.post(t)
		_, _, _ = q.take(running, false)
		require.Equal(t, 2, places(q.both()))
		x, _, _ := q.take(running, true)
		require.NotNil(t, x)
		require.Equal(t, 1, places(q.both()))
	})
	t.Run("EXEC-11_takers_cancels_and_compaction_at_once", compactConcurrently)
}

func TestStalledProducer(t *testing.T) {
	t.Run("EXEC-17_a_pool_that_closes_between_admission_and_push", func(t *testing.T) {
		p, err := New(Config{Size: 3})
		require.NoError(t, err)
		c := p.core
		parked := func() bool { return c.idle.n.Load() == 3 }
		testwait.Until(t, parked)
		e := c.queue.in()
		require.True(t, c.queue.admit(e))
		c.close()
		testwait.Until(t, parked) // each has looked, and there is one to come
		ran := make(chan struct{})
		x, _ := c.prepare(context.Background(), nil, bare(func(context.Context) { close(ran) }))
		c.queue.push(x, e.ticket())
		c.admitted(false)
		testwait.Done(t, ran)
		testwait.Done(t, p.Done()) // the others learn that it was the last
		require.EqualValues(t, 1, p.Stats().Finished)
	})
}

// compactConcurrently has one producer, which compacts, two workers and two who
// cancel. Each task is taken or canceled, once.
func compactConcurrently(t *testing.T) {
	const n = 6000
	q := testQueue(4, headMask-n/2)
	var mu sync.Mutex // the pool's
	posted := make(chan *task, n)
	var wg sync.WaitGroup
	var taken, canceled [2]int
	for i := range 2 {
		wg.Go(func() {
			for {
				x, _, how := q.take(running, false)
				switch how {
				case got:
					taken[i]++
					x.finish(finished)
					q.leave()
				case frozen:
					mu.Lock()
					mu.Unlock()
				case nothing:
					if q.drained() {
						return
					}
					runtime.Gosched()
				}
			}
		})
		wg.Go(func() {
			for x := range posted {
				if x.claim(skipped) {
					canceled[i]++
					q.leave()
				}
			}
		})
	}
	compactions := 0
	for i := 0; i < n; {
		mu.Lock()
		x, v := q.post(t)
		if v == cramped {
			q.compact()
			compactions++
		}
		mu.Unlock()
		if x == nil {
			runtime.Gosched()
			continue
		}
		i++
		if i%4 != 0 {
			posted <- x
		}
	}
	close(posted)
	q.close()
	wg.Wait()
	require.Equal(t, n, taken[0]+taken[1]+canceled[0]+canceled[1])
	require.Zero(t, places(q.both()))
	t.Logf("%d taken, %d canceled, %d compactions", taken[0]+taken[1], canceled[0]+canceled[1], compactions)
}
