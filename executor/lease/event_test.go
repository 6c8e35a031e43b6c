package lease_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/executor/lease"
	"github.com/cadre-go/cadre/internal/testwait"
)

// exitLog is a log that ends whoever writes to it.
type exitLog struct{ slog.Handler }

func (exitLog) Enabled(context.Context, slog.Level) bool  { return true }
func (exitLog) Handle(context.Context, slog.Record) error { runtime.Goexit(); return nil }

func TestDelivery(t *testing.T) {
	t.Run("LEASE-69 an OnEvent that brings about the next event keeps nobody waiting", func(t *testing.T) {
		var old leased
		told, stop := make(chan struct{}), make(chan struct{})
		var first sync.Once
		p, _ := newPool(t, config{OnEvent: func(lease.Event) {
			first.Do(func() { close(told) })
			select {
			case <-stop:
			default:
				_ = old.Release()
			}
		}})
		defer close(stop)
		old = acquire(t, p)
		release(t, old)
		held := acquire(t, p)
		_ = old.Release()
		testwait.Done(t, told)
		ch := waiting(t, p, bg, p)
		release(t, held)
		release(t, got(t, ch))
		testwait.Call(t, func() { _ = p.Close() })
	})
	t.Run("LEASE-69 a waiter is served between two events", func(t *testing.T) {
		told, next := make(chan struct{}), make(chan struct{})
		p, _ := newPool(t, config{OnEvent: func(lease.Event) { told <- struct{}{}; <-next }})
		old := acquire(t, p)
		release(t, old)
		held := acquire(t, p)
		_, _, _ = old.Release(), old.Release(), old.Release()
		testwait.Done(t, told) // the first; the others are in the ring
		ch := begin(bg, p)
		testwait.Until(t, func() bool { return p.Boxed() == 1 })
		release(t, held)
		next <- struct{}{}
		testwait.Done(t, told) // the second
		release(t, got(t, ch))
		next <- struct{}{}
		testwait.Done(t, told) // the third, though nothing has happened since
		close(next)
		go func() {
			for range told {
			}
		}()
		require.NoError(t, p.Close())
		close(told)
	})
	t.Run("LEASE-69 what comes after the end goes nowhere and is counted", func(t *testing.T) {
		n := 0
		p, _ := newPool(t, config{OnEvent: func(lease.Event) { n++ }})
		l := acquire(t, p)
		require.NoError(t, p.Close())
		release(t, l)
		for range 1000 {
			require.Error(t, l.Release())
		}
		require.Equal(t, uint64(1000), p.Stats().EventsLost)
		require.Equal(t, 2, n, "closing and closed")
	})
	t.Run("LEASE-69 LEASE-65 the last events are told, whoever exits", func(t *testing.T) {
		for _, exits := range []string{"Logger", "OnEvent"} {
			for _, last := range []lease.EventKind{lease.EventClosed, lease.EventFailed} {
				var kinds []lease.EventKind
				cfg := config{OnEvent: func(e lease.Event) {
					kinds = append(kinds, e.Kind)
					if exits == "OnEvent" {
						runtime.Goexit()
					}
				}}
				if exits == "Logger" {
					cfg.Logger = slog.New(exitLog{slog.DiscardHandler})
				}
				if last == lease.EventFailed {
					cfg.Connect = func(context.Context) (*thing, error) { panic("boom") }
				}
				p, _ := newPool(t, cfg)
				_, _ = p.Acquire(bg)
				_ = p.Close()
				require.Equal(t, []lease.EventKind{lease.EventClosing, last}, kinds, exits)
			}
		}
	})
	t.Run("LEASE-69 whose lease it was", func(t *testing.T) {
		events := make(chan lease.Event, 10)
		p, _ := newPool(t, config{OnEvent: func(e lease.Event) { events <- e }})
		h := p.Handle()
		next := func(kind lease.EventKind) uint64 {
			e := testwait.Value(t, events)
			require.Equal(t, kind, e.Kind)
			return e.Handle
		}
		l := acquire(t, h)
		require.NoError(t, l.Discard(errDirty))
		require.Equal(t, h.ID(), next(lease.EventDiscard))
		require.Error(t, l.Release())
		require.Equal(t, h.ID(), next(lease.EventDoubleRelease))
		armed := acquire(t, h)
		armed.Arm()
		require.Error(t, l.Release())
		require.Zero(t, next(lease.EventDoubleRelease), "somebody else has the permit")
		release(t, armed)
		require.Equal(t, h.ID(), next(lease.EventDiscard))
	})
	t.Run("LEASE-12 in OnEvent an Acquire that would wait is refused", func(t *testing.T) {
		var p *pool
		answers := make(chan error, 10)
		p, _ = newPool(t, config{Slots: 2, OnEvent: func(e lease.Event) {
			if e.Kind != lease.EventDiscard {
				return
			}
			l, err := p.Acquire(bg)
			answers <- err
			_, err = p.Handle().Acquire(bg)
			answers <- err
			_ = l.Release()
		}})
		a, b := acquire(t, p), acquire(t, p)
		release(t, b)
		a.MarkDirty(errDirty)
		require.NoError(t, testwait.Value(t, answers), "a permit was free")
		require.ErrorIs(t, testwait.Value(t, answers), lease.ErrNoCapacity)
		testwait.Call(t, func() { _ = p.Close() })
		release(t, a)
		requireConserved(t, p)
	})
}
