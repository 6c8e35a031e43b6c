package lease_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
)

var (
	bg       = context.Background()
	noCtx    context.Context
	errCause = errors.New("the cause")
	errDirty = errors.New("dirty")
	quiet    = slog.New(slog.DiscardHandler)
)

// thing is what the tests lease.
type thing struct {
	n        int
	disposed atomic.Int32
}

// maker makes things and disposes of them, and knows of all.
type maker struct {
	mu   sync.Mutex
	all  []*thing
	gate chan struct{} // if it is not nil, Connect waits for it or its context
	err  error
}

func (m *maker) connect(ctx context.Context) (*thing, error) {
	m.mu.Lock()
	gate, err := m.gate, m.err
	m.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	x := &thing{n: len(m.all) + 1}
	m.all = append(m.all, x)
	return x, nil
}

func (m *maker) dispose(x *thing) { x.disposed.Add(1) }

// made returns how many things were made and how many are not disposed of.
func (m *maker) made() (made, alive int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.all {
		if x.disposed.Load() == 0 {
			alive++
		}
	}
	return len(m.all), alive
}

// requireOnce fails unless every thing was disposed of exactly once.
func (m *maker) requireOnce(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.all {
		require.Equal(t, int32(1), x.disposed.Load(), "thing %d", x.n)
	}
}

type (
	config = lease.Config[*thing]
	pool   = lease.Pool[*thing]
	leased = lease.Lease[*thing]
)

// newPool makes a pool that is closed when the test ends.
func newPool(t *testing.T, cfg config) (*pool, *maker) {
	t.Helper()
	return testPool(t, cfg, false, nil)
}

func testPool(t *testing.T, cfg config, slow bool, probe func(string)) (*pool, *maker) {
	t.Helper()
	m := &maker{}
	if cfg.Slots == 0 {
		cfg.Slots = 1
	}
	if cfg.Connect == nil {
		cfg.Connect = m.connect
	}
	if cfg.Dispose == nil {
		cfg.Dispose = m.dispose
	}
	if cfg.Logger == nil {
		cfg.Logger = quiet
	}
	p, err := lease.NewTest(cfg, slow, probe)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p, m
}

type acquirer interface {
	Acquire(context.Context) (leased, error)
}

func acquire(t *testing.T, from acquirer) leased {
	t.Helper()
	l, err := from.Acquire(bg)
	require.NoError(t, err)
	return l
}

func release(t *testing.T, l leased) {
	t.Helper()
	require.NoError(t, l.Release())
}

type answer struct {
	lease leased
	err   error
}

// waiting begins an Acquire that has to wait, and returns when it is in the
// queue.
func waiting(t *testing.T, p *pool, ctx context.Context, from acquirer) <-chan answer {
	t.Helper()
	before := p.Stats().Waiters
	ch := begin(ctx, from)
	testwait.Until(t, func() bool { return p.Stats().Waiters == before+1 })
	return ch
}

func begin(ctx context.Context, from acquirer) <-chan answer {
	ch := make(chan answer, 1)
	go func() {
		l, err := from.Acquire(ctx)
		ch <- answer{l, err}
	}()
	return ch
}

// got waits for the lease of an Acquire.
func got(t *testing.T, ch <-chan answer) leased {
	t.Helper()
	a := testwait.Value(t, ch)
	require.NoError(t, a.err)
	return a.lease
}

// failed waits for the error of an Acquire.
func failed(t *testing.T, ch <-chan answer, target error) error {
	t.Helper()
	a := testwait.Value(t, ch)
	require.ErrorIs(t, a.err, target)
	return a.err
}

// atRest waits until nobody is in the middle of anything or waits, and checks
// the pool.
func atRest(t *testing.T, p *pool) {
	t.Helper()
	testwait.Until(t, func() bool {
		st := p.Stats()
		return st.Preparing == 0 && st.Free+st.Leased == st.Capacity && st.Waiters+p.Boxed()+p.Left() == 0
	})
	require.NoError(t, p.Check())
	requireConserved(t, p)
}

// requireConserved checks that every acquisition is accounted for.
func requireConserved(t *testing.T, p *pool) {
	t.Helper()
	st := p.Stats()
	sum := st.Leases + st.Saturated + st.TimedOut + st.NoCapacity + st.HandleClosed + st.ClosedRejections +
		st.FailedRejections + st.ConnectErrors + st.Exited + uint64(st.Waiters)
	for _, n := range st.Canceled {
		sum += n
	}
	require.Equal(t, st.Acquires, sum, "%+v", st)
}

// owners counts the goroutines that pools of this package run.
func owners() int {
	n := 0
	for _, g := range strings.Split(string(testwait.Stacks()), "\n\n") {
		if strings.Contains(g, "lease.(*core[...]).own(") {
			n++
		}
	}
	return n
}

// requireOwners waits until n pools have a goroutine. One that has just ended
// may still be on its last instruction.
func requireOwners(t *testing.T, n int) {
	t.Helper()
	testwait.Until(t, func() bool { return owners() == n })
}

// ended returns a context that has ended with that cause.
func ended(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(bg)
	cancel(cause)
	return ctx
}

// goexit runs fn on a goroutine of its own and reports whether it exited.
func goexit(t *testing.T, fn func()) (exited bool) {
	t.Helper()
	exited = true
	testwait.Call(t, func() {
		fn()
		exited = false
	})
	return exited
}

func collect(t *testing.T, cond func() bool) {
	t.Helper()
	testwait.Until(t, func() bool { runtime.GC(); return cond() })
}

// lockedBuffer is a log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func logTo(b *lockedBuffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

func name(format string, args ...any) string { return fmt.Sprintf(format, args...) }
