package executor_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/testwait"
)

// stressTime is how long a stress test runs.
func stressTime(t testing.TB) time.Duration {
	env := os.Getenv("CADRE_STRESS")
	if env == "" {
		return 300 * time.Millisecond
	}
	d, err := time.ParseDuration(env)
	require.NoError(t, err, "CADRE_STRESS")
	return d
}

// stress is one pool under load from all sides.
type stress struct {
	t *testing.T
	p *executor.Pool

	accepted, ran, discarded atomic.Int64 // bare tasks
	twice                    atomic.Int64 // of any kind

	mu sync.Mutex
	fs []*future.Future[int]
}

func TestStress(t *testing.T) {
	t.Run("EXEC-1_EXEC-6_EXEC-10_EXEC-11_EXEC-13_EXEC-14_EXEC-17_EXEC-23_each_task_ends_once", func(t *testing.T) {
		var seed uint64
		for end := time.Now().Add(stressTime(t)); time.Now().Before(end) && !t.Failed(); seed++ {
			s := &stress{t: t}
			s.round(seed)
		}
	})
}

func (s *stress) round(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	cfg := executor.Config{
		Size: 1 + r.IntN(3), QueueLimit: []int{executor.NoQueue, 1, 2, 5}[r.IntN(4)], Logger: newLogs().Logger(),
		OnDiscard: func(ctx context.Context, _ error) {
			if attr(ctx, "bare") == "true" {
				s.discarded.Add(1)
			}
		},
	}
	p, err := executor.New(cfg)
	require.NoError(s.t, err)
	s.p = p

	sampled, stop := make(chan error, 1), make(chan struct{})
	go func() {
		for {
			if err := custodyError(p.Stats()); err != nil {
				sampled <- err
				return
			}
			for _, info := range p.Running() {
				if info.Worker < 0 || info.Worker >= cfg.Size {
					sampled <- fmt.Errorf("%+v", info)
					return
				}
			}
			select {
			case <-stop:
				sampled <- nil
				return
			default:
				runtime.Gosched()
			}
		}
	}()

	var wg sync.WaitGroup
	ctx, cancel := context.WithCancelCause(bg)
	for i := range 4 {
		wg.Go(func() { s.produce(ctx, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	how := r.IntN(4)
	for range r.IntN(2000) {
		runtime.Gosched()
	}
	switch how {
	case 0:
		_ = p.Shutdown(ended(errCause))
	case 1:
		_ = p.Post(bg, func(context.Context) { _ = p.Close() })
	case 2:
		go func() { _ = p.Close() }()
	}
	cancel(errCause)
	testwait.Done(s.t, done)

	require.NoError(s.t, p.Close())
	testwait.Done(s.t, p.Done())
	close(stop)
	what := fmt.Sprintf("seed %d: %+v", seed, p.Stats())
	require.NoError(s.t, testwait.Value(s.t, sampled), what)
	end := p.Stats()
	require.NoError(s.t, custodyError(end), what)
	require.Zero(s.t, end.Queued+end.Running+end.Lent+end.Workers, what)
	require.Zero(s.t, s.twice.Load(), what)
	require.Equal(s.t, s.accepted.Load(), s.ran.Load()+s.discarded.Load(), what)
	for _, f := range s.fs {
		testwait.Done(s.t, f.Done())
	}
}

// once returns what a task calls when it begins.
func (s *stress) once() func() {
	var begun atomic.Bool
	return func() {
		if begun.Swap(true) {
			s.twice.Add(1)
		}
	}
}

// bare returns a task and what to tell of the answer to posting it.
func (s *stress) bare(r *rand.Rand) (task func(context.Context), posted func(error)) {
	once, kind := s.once(), r.IntN(6)
	task = func(context.Context) {
		once()
		s.ran.Add(1)
		switch kind {
		case 0:
			panic("a bare task")
		case 1:
			runtime.Goexit()
		case 2:
			runtime.Gosched()
		}
	}
	return task, func(err error) {
		switch {
		case err == nil:
			s.accepted.Add(1)
		case !errors.Is(err, executor.ErrRejected):
			s.t.Errorf("an error that is no rejection: %v", err)
		}
	}
}

// submit submits a task that does this and that, to some depth.
func (s *stress) submit(ctx context.Context, r *rand.Rand, depth int) *future.Future[int] {
	once, kind, seed := s.once(), r.IntN(10), r.Uint64()
	f := executor.Submit(ctx, s.p, func(ctx context.Context) (int, error) {
		once()
		r := rand.New(rand.NewPCG(seed, 1))
		switch kind {
		case 0:
			panic("a submitted task")
		case 1:
			runtime.Goexit()
		case 2:
			return 0, errCause
		case 3, 4, 5, 6:
			if depth == 0 {
				break
			}
			g := s.submit(ctx, r, depth-1)
			if r.IntN(3) == 0 {
				go g.Cancel(errCause)
			}
			if r.IntN(3) == 0 {
				own := rand.New(rand.NewPCG(seed, 2))
				g = future.Then(ctx, g, func(ctx context.Context, n int) (int, error) { return s.submit(ctx, own, 0).Await(ctx) })
			}
			if r.IntN(3) == 0 {
				child, cancel := context.WithCancel(ctx)
				go cancel()
				_, _ = g.Await(child)
			}
			return g.Await(ctx)
		case 7:
			if depth > 0 {
				_, err := executor.Map(ctx, s.p, upTo(3), square).Await(ctx)
				return 0, err
			}
		case 8:
			runtime.Gosched()
		}
		return 1, nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fs = append(s.fs, f)
	return f
}

// produce loads the pool until ctx ends, or for a while.
func (s *stress) produce(ctx context.Context, r *rand.Rand) {
	bare := withIn(bg, "bare", true)
	for range 100 {
		if ctx.Err() != nil && r.IntN(10) == 0 {
			return
		}
		switch r.IntN(8) {
		case 0, 1:
			task, posted := s.bare(r)
			posted(s.p.Post(bare, task))
		case 2:
			task, posted := s.bare(r)
			waiting, cancel := context.WithCancelCause(bare)
			if r.IntN(2) == 0 {
				go cancel(errCause)
			}
			posted(s.p.PostWait(waiting, task))
			cancel(nil)
		case 3:
			f := s.submit(ctx, r, 3)
			switch r.IntN(3) {
			case 0:
				go f.Cancel(errCause)
			case 1:
				go f.Abandon(errCause)
			}
		case 4:
			s.submit(bg, r, 3)
		case 5: // a queue full of holes
			for range 20 {
				s.submit(bg, r, 0).Cancel(errCause)
			}
		case 6:
			waiting, cancel := context.WithCancelCause(ctx)
			f := executor.Map(waiting, s.p, upTo(4), func(ctx context.Context, n int) (int, error) {
				return s.submit(ctx, rand.New(rand.NewPCG(uint64(n), 3)), 1).Await(ctx)
			})
			switch r.IntN(3) {
			case 0:
				go cancel(errCause)
			case 1:
				go f.Cancel(errCause)
			}
			testwait.Done(failOnly{s.t}, f.Done())
			cancel(nil)
		case 7:
			_, _ = s.submit(bg, r, 2).Await(bg)
		}
	}
}

// failOnly lets other goroutines than the test's fail it.
type failOnly struct{ testing.TB }

func (t failOnly) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}
