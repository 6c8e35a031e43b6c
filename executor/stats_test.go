package executor_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
	"github.com/cadre-go/cadre/timer/timertest"
)

func TestStats(t *testing.T) {
	t.Run("B11_rejected_tasks_are_counted", func(t *testing.T) {
		p := newPool(t, executor.Config{Name: "b11", Size: 2, QueueLimit: 2})
		g := occupy(t, p, 2)
		accepted, full := 2, 0
		for range 98 {
			if p.Post(bg, func(context.Context) {}) == nil {
				accepted++
			} else {
				full++
			}
		}
		require.Equal(t, executor.Stats{
			Name: "b11", Size: 2, QueueLimit: 2, Workers: 2, Queued: 2, Running: 2,
			Attempted: 100, Accepted: 4, Rejected: 96,
		}, p.Stats())
		require.Equal(t, 4, accepted)
		require.Equal(t, 96, full)
		g.Open()
		closeAll(t, p)
		require.Error(t, p.Post(bg, func(context.Context) {}))
		require.Equal(t, executor.Stats{
			Name: "b11", Size: 2, QueueLimit: 2,
			Attempted: 101, Accepted: 4, Rejected: 97, Finished: 4,
		}, p.Stats())
	})
	t.Run("EXEC-10_every_end_has_its_counter", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: 8, Logger: newLogs().Logger()})
		g := occupy(t, p, 1)
		settledOf := executor.Submit(bg, p, value(1))
		require.NoError(t, p.Post(bg, func(context.Context) { panic(1) }))
		require.NoError(t, p.Post(bg, func(context.Context) { runtime.Goexit() }))
		executor.Submit(bg, p, value(1)).Cancel(nil)
		require.NoError(t, p.PostWait(bg, func(context.Context) {}))
		g.Open()
		settled(t, settledOf)
		barrier(t, p)
		g = occupy(t, p, 1)
		require.NoError(t, p.Post(bg, func(context.Context) {}))
		require.Error(t, p.Shutdown(ended(errCause)))
		s := p.Stats()
		custody(t, s)
		require.Equal(t, 1, s.Running)
		g.Open()
		testwait.Done(t, p.Done())
		s = p.Stats()
		require.Equal(t, executor.Stats{
			Name: "executor", Size: 1, QueueLimit: 8,
			Attempted: 9, Accepted: 9, Finished: 5, Panicked: 1, Exited: 1, Skipped: 1, Discarded: 1,
		}, s)
	})
	t.Run("EXEC-10_a_task_is_accounted_for_before_its_outcome_shows", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: executor.NoQueue})
		for i := range 300 {
			f := executor.Submit(bg, p, func(context.Context) (int, error) {
				if i%3 == 0 {
					panic(i)
				}
				return i, nil
			})
			for {
				if _, ok := f.Outcome(); ok {
					break
				}
				runtime.Gosched()
			}
			s := p.Stats()
			custody(t, s)
			require.Zero(t, s.Running)
			require.EqualValues(t, i+1, s.Finished+s.Panicked)
		}
	})
	t.Run("EXEC-10_a_worker_that_runs_callbacks_has_no_place", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: executor.NoQueue})
		g, in := newGate(t), make(chan struct{})
		hold := newGate(t)
		f := executor.Submit(bg, p, func(context.Context) (int, error) { <-hold.C; return 1, nil })
		f.OnSettle(func(future.Outcome[int]) { close(in); <-g.C })
		hold.Open()
		testwait.Done(t, in)
		s := p.Stats()
		custody(t, s)
		require.EqualValues(t, 1, s.Finished)
		require.Zero(t, s.Running)
		require.ErrorIs(t, p.Post(bg, func(context.Context) {}), executor.ErrQueueFull, "no worker is free")
		require.Empty(t, p.Running())
		g.Open()
		for p.Post(bg, func(context.Context) {}) != nil {
			runtime.Gosched()
		}
	})
	t.Run("B11_EXEC-10_at_every_instant", hammerStats)
}

// hammerStats reads Stats while tasks come to all their ends.
func hammerStats(t *testing.T) {
	p := newPool(t, executor.Config{Size: 2, QueueLimit: 3, Logger: newLogs().Logger()})
	ends := []func(context.Context) (int, error){
		value(1), value(2),
		func(context.Context) (int, error) { return 0, errBoom },
		func(context.Context) (int, error) { panic(errBoom) },
		func(context.Context) (int, error) { runtime.Goexit(); return 0, nil },
		func(context.Context) (int, error) { runtime.Gosched(); return 0, nil },
		func(ctx context.Context) (int, error) { return executor.Submit(ctx, p, value(1)).Await(ctx) },
	}
	over := make(chan struct{})
	var posters, readers sync.WaitGroup
	var attempted, accepted atomic.Uint64
	for range 3 {
		posters.Go(func() {
			for range 500 {
				f := executor.Submit(bg, p, ends[rand.IntN(len(ends))])
				switch rand.IntN(4) {
				case 0:
					f.Cancel(errCause)
				case 1:
					f.OnSettle(func(future.Outcome[int]) { runtime.Gosched() })
				case 2:
					_, _ = f.Await(bg)
				}
				attempted.Add(1)
				if o, ok := f.Outcome(); !ok || !errors.Is(o.Err, executor.ErrRejected) {
					accepted.Add(1)
				}
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			var last executor.Stats
			for {
				s := p.Stats()
				if err := custodyError(s); err != nil {
					t.Error(err)
					return
				}
				if s.Workers != s.Size {
					t.Errorf("workers: %+v", s)
				}
				now, before := reflect.ValueOf(s), reflect.ValueOf(last)
				for i := range now.NumField() {
					if f := now.Field(i); f.Kind() == reflect.Uint64 && f.Uint() < before.Field(i).Uint() {
						t.Errorf("%s went back: %+v, %+v", now.Type().Field(i).Name, last, s)
						return
					}
				}
				last = s
				for _, info := range p.Running() {
					if info.Worker < 0 || info.Worker >= 2 || info.For < 0 {
						t.Errorf("%+v", info)
					}
				}
				select {
				case <-over:
					return
				default:
					runtime.Gosched()
				}
			}
		})
	}
	posters.Wait()
	closeAllAt(t, p, func() { close(over); readers.Wait() })
	s := p.Stats()
	custody(t, s)
	require.Zero(t, s.Queued+s.Running)
	require.GreaterOrEqual(t, s.Attempted, attempted.Load(), "and those of the tasks")
	require.GreaterOrEqual(t, s.Accepted, accepted.Load())
}

// closeAllAt waits until nothing is queued or running, calls then and closes p.
func closeAllAt(t *testing.T, p *executor.Pool, then func()) {
	t.Helper()
	testwait.Until(t, func() bool { s := p.Stats(); return s.Queued+s.Running == 0 })
	then()
	closeAll(t, p)
}

func TestStatsOfStandIns(t *testing.T) {
	t.Run("EXEC-22_what_goes_straight_to_a_stand-in_is_accepted", func(t *testing.T) {
		p := newPool(t, executor.Config{Size: 1, QueueLimit: executor.NoQueue})
		f := executor.Submit(bg, p, func(ctx context.Context) ([]int, error) {
			return executor.Map(ctx, p, []int{1, 2, 3}, double).Await(ctx)
		})
		require.Equal(t, []int{2, 4, 6}, futuretest.Await(t, f))
		barrier(t, p)
		s := p.Stats()
		custody(t, s)
		require.EqualValues(t, 1+3+1, s.Accepted, "the task, its items and the barrier")
	})
}

func TestRunning(t *testing.T) {
	t.Run("EXEC-22_what_runs_and_for_how_long", func(t *testing.T) {
		mock := timertest.NewMock()
		p := newPool(t, executor.Config{Size: 2, Clock: mock})
		require.Empty(t, p.Running())
		first, in := newGate(t), make(chan struct{}, 2)
		post := func(name string, g *gate) {
			require.NoError(t, p.Post(with("task", name), func(context.Context) { in <- struct{}{}; <-g.C }))
			testwait.Done(t, in)
		}
		post("one", first)
		mock.Add(3 * time.Second)
		second := newGate(t)
		post("two", second)
		mock.Add(4 * time.Second)
		ages := map[string]time.Duration{}
		workers := map[int]bool{}
		for _, info := range p.Running() {
			v, _ := info.Diagnostics.Get("task")
			ages[v.String()] = info.For
			workers[info.Worker] = true
		}
		require.Equal(t, map[string]time.Duration{"one": 7 * time.Second, "two": 4 * time.Second}, ages)
		require.Equal(t, map[int]bool{0: true, 1: true}, workers)
		mock.Add(-time.Minute)
		for _, info := range p.Running() {
			require.Zero(t, info.For, "of a clock that was set back")
		}
		first.Open()
		second.Open()
		testwait.Until(t, func() bool { return len(p.Running()) == 0 })
	})
	t.Run("EXEC-22_the_real_clock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, executor.Config{Size: 1})
			require.NoError(t, p.Post(bg, func(context.Context) { time.Sleep(time.Hour) }))
			time.Sleep(time.Minute)
			synctest.Wait()
			require.Len(t, p.Running(), 1)
			require.Equal(t, time.Minute, p.Running()[0].For)
			time.Sleep(time.Hour)
			synctest.Wait()
			require.Empty(t, p.Running())
		})
	})
	t.Run("EXEC-22_a_clock_that_looks_at_the_pool", func(t *testing.T) {
		var p *executor.Pool
		clock := &sickClock{end: func() { p.Stats() }}
		p = newPool(t, executor.Config{Size: 1, Clock: clock})
		g := occupy(t, p, 1)
		clock.sick.Store(true)
		testwait.Call(t, func() { _ = p.Running() }) // no lock is held while the clock is asked
		clock.sick.Store(false)
		g.Open()
	})
}
