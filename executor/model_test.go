package executor_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
)

// The model of a pool: a list of what is queued, a list of what waits for
// room, and what each task is doing. Every task stands still until it is told
// what to do next, and the pool and the model are compared whenever all
// goroutines have come to rest.

// order is what a task is told to do next.
type order struct {
	kind  orderKind
	await *future.Future[int]
}

type orderKind int

const (
	doReturn orderKind = iota
	doPanic
	doGoexit
	doAwait
)

type modelState int

const (
	inLine modelState = iota // waits for room
	inQueue
	onWorker
	onStandIn
	hasEnded
)

type modelTask struct {
	id     int
	f      *future.Future[int] // nil for a bare task
	orders chan order
	answer chan error // of PostWait

	// What the pool shows.
	started, awaiting atomic.Bool

	// What the model says.
	state   modelState
	settled bool // the future
	ctxDone bool
	awaits  *modelTask
	host    *modelTask // whose slot it has
	guest   *modelTask // that has its slot
}

func (k *modelTask) active() bool { return k.state == onWorker || k.state == onStandIn }

type model struct {
	t *testing.T
	p *executor.Pool

	size, limit int
	tasks       []*modelTask // all that were accepted or wait
	queue, line []*modelTask
	closed      bool
	want        executor.Stats
}

// run is what every task does.
func (k *modelTask) run(ctx context.Context) {
	k.started.Store(true)
	for o := range k.orders {
		switch o.kind {
		case doReturn:
			return
		case doPanic:
			panic("told to")
		case doGoexit:
			runtime.Goexit()
		case doAwait:
			k.awaiting.Store(true)
			_, _ = o.await.Await(ctx)
			k.awaiting.Store(false)
		}
	}
}

func (m *model) onWorkers() (n int) {
	for _, k := range m.tasks {
		if k.state == onWorker {
			n++
		}
	}
	return n
}

func (m *model) full() bool { return m.onWorkers()+len(m.queue) >= m.limit || len(m.line) > 0 }

// settle lets happen what happens by itself.
func (m *model) settle() {
	for again := true; again; {
		again = false
		if len(m.queue) > 0 && m.onWorkers() < m.size {
			m.queue[0].state = onWorker
			m.queue = m.queue[1:]
			again = true
		}
		if len(m.line) > 0 && m.onWorkers()+len(m.queue) < m.limit {
			k := m.line[0]
			m.line = m.line[1:]
			m.accept(k)
			again = true
		}
		for _, k := range m.tasks {
			if !k.active() || k.awaits == nil {
				continue
			}
			switch j := k.awaits; {
			case j.settled || k.ctxDone:
				k.awaits = nil
				again = true
			case j.state == inQueue && k.guest == nil:
				m.queue = slices.DeleteFunc(m.queue, func(o *modelTask) bool { return o == j })
				j.state, j.host, k.guest = onStandIn, k, j
				again = true
			}
		}
	}
}

func (m *model) accept(k *modelTask) {
	m.want.Accepted++
	k.state = inQueue
	m.queue = append(m.queue, k)
}

func (m *model) newTask() *modelTask {
	return &modelTask{id: len(m.tasks), orders: make(chan order)}
}

// decided checks the answer to a post of k.
func (m *model) decided(k *modelTask, err error) {
	switch {
	case m.closed:
		require.ErrorIs(m.t, err, executor.ErrClosed)
	case m.full():
		require.ErrorIs(m.t, err, executor.ErrQueueFull)
	default:
		require.NoError(m.t, err)
		m.tasks = append(m.tasks, k)
		m.accept(k)
		return
	}
	m.want.Rejected++
}

func (m *model) post() {
	k := m.newTask()
	m.decided(k, m.p.Post(bg, k.run))
}

func (m *model) submit() {
	k := m.newTask()
	k.f = executor.Submit(bg, m.p, func(ctx context.Context) (int, error) { k.run(ctx); return k.id, nil })
	o, settled := k.f.Outcome()
	if m.closed || m.full() {
		require.True(m.t, settled)
	}
	m.decided(k, o.Err)
}

// postWait has k wait, if it has to.
func (m *model) postWait() {
	if !m.closed && m.full() {
		k := m.newTask()
		k.answer = make(chan error, 1)
		m.tasks, m.line = append(m.tasks, k), append(m.line, k)
		go func() { k.answer <- m.p.PostWait(bg, k.run) }()
		return
	}
	k := m.newTask()
	m.decided(k, m.p.PostWait(bg, k.run))
}

func (m *model) postWaitEnded() {
	err := m.p.PostWait(ended(errCause), nothing)
	if m.closed {
		require.ErrorIs(m.t, err, executor.ErrClosed)
	} else {
		require.ErrorIs(m.t, err, errCause)
	}
	m.want.Rejected++
}

func (m *model) cancel(k *modelTask) {
	require.Equal(m.t, !k.settled, k.f.Cancel(errCause))
	if k.settled {
		return
	}
	k.settled = true
	if k.state == inQueue {
		m.queue = slices.DeleteFunc(m.queue, func(o *modelTask) bool { return o == k })
		k.state = hasEnded
		m.want.Skipped++
		return
	}
	k.ctxDone = true
}

func (m *model) abandon(k *modelTask) {
	require.Equal(m.t, !k.settled, k.f.Abandon(errCause))
	k.settled = true
}

func (m *model) end(k *modelTask, kind orderKind) {
	k.orders <- order{kind: kind}
	k.state = hasEnded
	k.settled = true
	if k.host != nil && k.host.guest == k {
		k.host.guest = nil
	}
	switch kind {
	case doPanic:
		m.want.Panicked++
	case doGoexit:
		m.want.Exited++
	default:
		m.want.Finished++
	}
}

func (m *model) await(k, on *modelTask) {
	k.orders <- order{doAwait, on.f}
	k.awaits = on
}

func (m *model) close() {
	m.closed = true
	for _, k := range m.line {
		require.ErrorIs(m.t, testwait.Value(m.t, k.answer), executor.ErrClosed)
		k.state = hasEnded
		m.want.Rejected++
	}
	m.line = nil
}

func (m *model) escalate() {
	err := m.p.Shutdown(ended(errCause))
	running := 0
	for _, k := range m.tasks {
		if k.active() {
			k.ctxDone = true
			running++
		}
	}
	if incomplete := (*executor.ShutdownError)(nil); errors.As(err, &incomplete) {
		require.ErrorIs(m.t, err, errCause)
		require.Len(m.t, incomplete.Running, running)
		require.Len(m.t, incomplete.Discarded, len(m.queue))
	} else {
		require.NoError(m.t, err)
		require.Zero(m.t, running+len(m.queue))
	}
	for _, k := range m.queue {
		k.state, k.settled = hasEnded, true
		m.want.Discarded++
	}
	m.queue = nil
	m.close()
}

// pick returns one of the tasks that ok holds for, or nil.
func (m *model) pick(n byte, ok func(k *modelTask) bool) *modelTask {
	var those []*modelTask
	for _, k := range m.tasks {
		if ok(k) {
			those = append(those, k)
		}
	}
	if len(those) == 0 {
		return nil
	}
	return those[int(n)%len(those)]
}

func (m *model) idle(n byte) *modelTask {
	return m.pick(n, func(k *modelTask) bool { return k.active() && k.awaits == nil })
}

func (m *model) submitted(n byte) *modelTask {
	return m.pick(n, func(k *modelTask) bool { return k.f != nil })
}

// step does one thing.
func (m *model) step(op, a, b byte) string {
	switch op % 16 {
	case 0, 1:
		m.post()
		return "post"
	case 2, 3, 4:
		m.submit()
		return "submit"
	case 5:
		m.postWait()
		return "post and wait"
	case 6:
		m.postWaitEnded()
		return "post and wait with an ended ctx"
	case 7:
		if k := m.submitted(a); k != nil {
			m.cancel(k)
			return fmt.Sprint("cancel ", k.id)
		}
	case 8:
		if k := m.submitted(a); k != nil {
			m.abandon(k)
			return fmt.Sprint("abandon ", k.id)
		}
	case 9, 10, 11:
		if k := m.idle(a); k != nil {
			kind := orderKind(b) % doAwait
			m.end(k, kind)
			return fmt.Sprint("end ", k.id, " by ", kind)
		}
	case 15:
		switch {
		case a >= 32:
		case b%2 == 0:
			go func() { _ = m.p.Shutdown(bg) }()
			synctest.Wait()
			m.close()
			return "shut down"
		default:
			m.escalate()
			return "shut down at once"
		}
		fallthrough
	default:
		k := m.idle(a)
		on := m.pick(b, func(o *modelTask) bool { return o.f != nil && o != k && !o.settled })
		if k != nil && on != nil {
			m.await(k, on)
			return fmt.Sprint(k.id, " awaits ", on.id)
		}
	}
	return "nothing"
}

// check compares the pool with the model.
func (m *model) check(history []string) {
	synctest.Wait()
	m.settle()
	s := m.p.Stats()
	require.NoError(m.t, custodyError(s), history)
	want := m.want
	want.Attempted = want.Accepted + want.Rejected
	want.Queued = len(m.queue)
	for _, k := range m.tasks {
		if k.active() {
			want.Running++
		}
		if k.state == onStandIn {
			want.Lent++
		}
		if k.state != hasEnded {
			require.Equal(m.t, k.active(), k.started.Load(), "has task %d started? after %v", k.id, history)
		}
		if k.active() {
			require.Equal(m.t, k.awaits != nil, k.awaiting.Load(), "does task %d await? after %v", k.id, history)
		}
		if k.f != nil {
			_, settled := k.f.Outcome()
			require.Equal(m.t, k.settled, settled, "has task %d settled? after %v", k.id, history)
		}
		if k.answer != nil && (k.active() || k.state == inQueue) && len(k.answer) > 0 {
			require.NoError(m.t, <-k.answer)
		}
	}
	want.Name, want.Size, want.QueueLimit, want.Workers = s.Name, s.Size, s.QueueLimit, s.Workers
	require.Equal(m.t, want, s, history)
	require.Len(m.t, m.p.Running(), want.Running, history)
	if !m.closed {
		require.Equal(m.t, m.size, s.Workers, history)
	}
}

// checkPool runs the operations that data stands for, in a bubble.
func checkPool(t *testing.T, data []byte) {
	if len(data) < 2 {
		return
	}
	cfg := executor.Config{Size: 1 + int(data[0]%3), QueueLimit: int(data[1]%5) - 1, Logger: newLogs().Logger()}
	if cfg.QueueLimit == 0 {
		cfg.QueueLimit = 4
	}
	p := newPool(t, cfg)
	m := &model{t: t, p: p, size: cfg.Size, limit: cfg.Size + max(cfg.QueueLimit, 0)}
	history := []string{fmt.Sprint("Size ", cfg.Size, " QueueLimit ", cfg.QueueLimit)}
	for ops := data[2:]; len(ops) >= 3; ops = ops[3:] {
		history = append(history, m.step(ops[0], ops[1], ops[2]))
		m.check(history)
	}

	for _, k := range m.tasks { // so that none awaits another any more
		if k.f != nil {
			m.cancel(k)
			m.check(history)
		}
	}
	for k := m.idle(0); k != nil; k = m.idle(0) {
		m.end(k, doReturn)
		m.check(history)
	}
	require.NoError(t, p.Shutdown(bg))
	testwait.Done(t, p.Done())
	m.closed = true
	m.check(history)
	for _, k := range m.tasks {
		if k.f != nil {
			futuretest.RequireSettled(t, k.f)
		}
	}
}

func TestModel(t *testing.T) {
	t.Run("TEST-4_EXEC-3_EXEC-10_EXEC-11_EXEC-13_EXEC-14_a_naive_pool_does_the_same", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) {
			data := rapid.SliceOfN(rapid.Byte(), 50, 200).Draw(r, "data")
			if !t.Run("", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { checkPool(t, data) }) }) {
				r.Fatalf("the pool and the model differ")
			}
		})
	})
}

func FuzzPool(f *testing.F) {
	f.Add([]byte{0, 2, 2, 0, 0, 2, 0, 0, 12, 0, 0, 9, 1, 1, 9, 0, 2})
	f.Add([]byte{1, 0, 2, 0, 0, 2, 0, 0, 5, 0, 0, 7, 0, 0, 15, 0, 1, 9, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) { checkPool(t, data[:min(len(data), 300)]) })
	})
}
