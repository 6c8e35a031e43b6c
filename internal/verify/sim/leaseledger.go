package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cadre-go/cadre/executor/lease"
)

// balanceLease is the custody of permits: each is free, or of a lease, or of an
// acquisition on its way to one; and nobody waits while one is free.
func (w *world) balanceLease() {
	s, out, quiet := w.lease.Stats(), w.lease.Outstanding(), w.quiet()
	w.mu.Lock()
	defer w.mu.Unlock()
	held, blocked := 0, 0
	for _, a := range w.acquisitions {
		if a.held {
			held++
		}
		if a.call != nil && !a.call.done && !a.inside {
			blocked++
			if a.caller.ended() && quiet && !a.held && !w.leaseFailed {
				w.badLocked("%v does not return, and its context has ended", a)
			}
		}
	}
	w.notOvertakenLocked()
	if !quiet {
		w.turns.unsure = true
		return
	}
	if len(out) != held {
		w.badLocked("%d leases are held, and %d are outstanding", held, len(out))
	}
	over := w.leaseClosing || w.leaseFailed
	failures := s.Saturated + s.TimedOut + s.NoCapacity + s.HandleClosed + s.ClosedRejections + s.FailedRejections + s.ConnectErrors + s.Exited
	for _, n := range s.Canceled {
		failures += n
	}
	if s.Acquires != s.Leases+failures+uint64(blocked) {
		w.badLocked("%d acquisitions are on their way, and acquires are not leases, failures and those: %+v", blocked, s)
	}
	if over {
		for _, a := range w.acquisitions {
			if a.call != nil && !a.call.done && !a.inside && !a.granted {
				w.badLocked("%v waits, and the pool has ended", a)
			}
		}
		select {
		case <-w.lease.Done():
		default:
			w.badLocked("the lease pool is closed or has failed, and is not done")
		}
		return
	}
	switch {
	case s.Free+s.Leased+s.Preparing != s.Capacity:
		w.badLocked("permits are lost or doubled: %+v", s)
	case s.Leased != held:
		w.badLocked("%d leases are held: %+v", held, s)
	case s.Waiters+s.Preparing != blocked:
		w.badLocked("%d acquisitions are on their way: %+v", blocked, s)
	case s.Waiters > 0 && s.Free > 0:
		w.badLocked("acquisitions wait, and permits are free: %+v", s)
	}
	w.balanceTurnsLocked()
}

// exactTurns reports whether it shows who has been granted a permit: if each
// acquisition connects or validates by itself.
func (w *world) exactTurns() bool {
	s := w.h.Shape
	return s.Permits == 1 && !s.LeaseOnPool && (!s.Aging || s.FIFO)
}

// notOvertakenLocked is LEASE-32, which holds at every instant: also while the
// owner is held up in a hook, and permits come back that nobody grants.
func (w *world) notOvertakenLocked() {
	newcomers := w.acquisitions[w.balanced:]
	disposing := slices.ContainsFunc(w.puppets, func(p *puppet) bool { return p.what == "Dispose" && !p.gone })
	for _, a := range w.acquisitions[:w.balanced] {
		waits := a.call != nil && !a.call.done && !a.granted && !a.inside && !a.caller.ended() && !a.handle.closed
		if !waits || disposing || !w.exactTurns() { // who has been granted may be stuck in Dispose
			continue
		}
		for _, n := range newcomers {
			if n.granted {
				w.badLocked("%v was granted a permit past %v, which waits", n, a)
			}
		}
	}
	w.balanced = len(w.acquisitions)
}

// turns is the model of the order of those who wait: who was queued when things
// last came to rest, and whose turn it was.
type turns struct {
	queue  []*acquisition
	ring   []*handle
	known  int // acquisitions seen
	unsure bool
}

// balanceTurnsLocked is LEASE-27 to 32: in the order of arrival, or handle by
// handle.
func (w *world) balanceTurnsLocked() {
	t := &w.turns
	exact := w.exactTurns()
	var granted, left, still []*acquisition
	for _, a := range t.queue {
		var ce *lease.CanceledError
		switch {
		case a.granted || errors.Is(a.err, lease.ErrConnect) || errors.As(a.err, &ce) && ce.Stage > lease.StageQueued:
			granted = append(granted, a)
		case a.call.done:
			left = append(left, a)
		default:
			still = append(still, a)
		}
	}
	newcomers := w.acquisitions[t.known:]
	t.known = len(w.acquisitions)
	if exact && !t.unsure {
		for _, g := range granted {
			for _, s := range still {
				if s.id < g.id && (w.h.Shape.FIFO || s.handle == g.handle) {
					w.badLocked("%v was granted a permit before %v, which came earlier", g, s)
				}
			}
		}
		if !w.h.Shape.FIFO && len(left) == 0 {
			if want := t.serve(len(granted)); !sameSet(want, granted) {
				w.badLocked("granted were %v, and it was the turn of %v", granted, want)
			}
		} else {
			t.ring = slices.DeleteFunc(t.ring, func(h *handle) bool {
				return !slices.ContainsFunc(still, func(a *acquisition) bool { return a.handle == h })
			})
			t.unsure = len(granted) > 0 && !w.h.Shape.FIFO
		}
	}
	t.queue = still
	for _, n := range newcomers {
		if n.call != nil && !n.call.done && !n.granted && !n.inside {
			t.queue = append(t.queue, n)
			if !slices.Contains(t.ring, n.handle) {
				t.ring = append(t.ring, n.handle)
			}
		}
	}
	if len(t.queue) == 0 {
		t.ring, t.unsure = nil, false
	}
}

// serve takes the next n turns: the oldest of the handle in front, which goes to
// the back if others of it wait.
func (t *turns) serve(n int) (out []*acquisition) {
	queue := slices.Clone(t.queue)
	for range n {
		h := t.ring[0]
		t.ring = t.ring[1:]
		i := slices.IndexFunc(queue, func(a *acquisition) bool { return a.handle == h })
		out = append(out, queue[i])
		queue = slices.Delete(queue, i, i+1)
		if slices.ContainsFunc(queue, func(a *acquisition) bool { return a.handle == h }) {
			t.ring = append(t.ring, h)
		}
	}
	return out
}

func sameSet(a, b []*acquisition) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(x *acquisition) bool { return !slices.Contains(b, x) })
}

func (w *world) leaseLine() string {
	s := w.lease.Stats()
	return fmt.Sprintf("leases (%s): %d free, %d leased, %d preparing, %d waiting", s.State, s.Free, s.Leased, s.Preparing, s.Waiters)
}

// endLeases gives every lease back.
func (w *world) endLeases() {
	for _, a := range w.acquisitions {
		if a.held && a.verb != "do" {
			w.calm(func() { _ = w.returnLease(a, false) })
		}
	}
	w.settle()
	for _, a := range w.acquisitions { // granted by those releases
		if a.held && a.verb != "do" {
			w.calm(func() { _ = w.returnLease(a, false) })
		}
	}
}

func (w *world) closeLease() {
	w.leaseClosing = true
	_ = w.lease.Shutdown(context.Background())
}

// closeLeaseBooksLocked: what was connected was disposed of or detached, once.
func (w *world) closeLeaseBooksLocked() {
	for _, r := range w.resources {
		if r.detached == (r.disposed == 1) {
			w.badLocked("resource %d was disposed of %d times; detached: %v", r.id, r.disposed, r.detached)
		}
	}
	for _, a := range w.acquisitions {
		if a.call != nil && !a.call.done {
			w.badLocked("%v has not returned", a)
		}
	}
}
