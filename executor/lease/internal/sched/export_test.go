package sched

// Copy is a deep copy in progress: it says where the copy of each waiter and
// handle is.
type Copy struct {
	Waiter func(*Waiter) *Waiter
	Handle func(*Handle) *Handle
}

// Waiter's, Handle's, Box's and Sched's fields, copied.
func (c Copy) Waiters(dst, src *Waiter) {
	dst.Handle, dst.next = c.Handle(src.Handle), c.Waiter(src.next)
	dst.arrival, dst.seen, dst.gone = src.arrival, src.seen, src.gone
	for i, l := range src.links {
		dst.links[i] = link{c.Waiter(l.prev), c.Waiter(l.next), l.in}
	}
}

func (c Copy) Handles(dst, src *Handle) {
	*dst = Handle{c.list(src.queue), c.Handle(src.prev), c.Handle(src.next), c.Handle(src.leaving)}
}

func (c Copy) Box(src Box) Box {
	return Box{c.list(src.acquires), c.Handle(src.leaving), c.Waiter(src.canceled), src.dead}
}

func (c Copy) Sched(src Sched) Sched {
	src.all = c.list(src.all)
	src.ring.front = c.Handle(src.ring.front)
	src.arriving, src.chosen = c.Waiter(src.arriving), c.Waiter(src.chosen)
	src.settling = c.Waiter(src.settling)
	src.leaving, src.turn = c.Handle(src.leaving), c.Handle(src.turn)
	return src
}

func (c Copy) list(src list) list { return list{c.Waiter(src.first), c.Waiter(src.last), src.n} }

// Encoder writes states as bytes, equal for states that behave alike.
type Encoder struct {
	Buf    []byte
	Waiter func(*Waiter) byte
	Handle func(*Handle) byte
}

func (e *Encoder) Flags(flags ...bool) {
	var b byte
	for i, f := range flags {
		if f {
			b |= 1 << i
		}
	}
	e.Buf = append(e.Buf, b)
}

func (e *Encoder) Box(b *Box) {
	e.Flags(b.dead)
	e.list(b.acquires, boxed)
	for h := b.leaving; h != nil; h = h.leaving {
		e.Buf = append(e.Buf, e.Handle(h))
	}
	e.Buf = append(e.Buf, '|')
	for w := b.canceled; w != nil; w = w.next {
		e.Buf = append(e.Buf, e.Waiter(w))
	}
	e.Buf = append(e.Buf, '|')
}

func (e *Encoder) Sched(s *Sched) {
	e.Flags(s.hand, s.putting, s.stopped, s.end == Closed, s.end == Failed)
	e.Buf = append(e.Buf, e.Waiter(s.arriving), e.Waiter(s.chosen), e.Waiter(s.settling), e.Handle(s.leaving), e.Handle(s.turn))
	e.list(s.all, byArrival)
	h := s.ring.front
	for range s.ring.n {
		e.Buf = append(e.Buf, e.Handle(h))
		h = h.next
	}
	e.Buf = append(e.Buf, '|')
}

func (e *Encoder) Seen(w *Waiter) { e.Flags(w.seen, w.gone) }

func (e *Encoder) list(l list, which int) {
	for w := l.first; w != nil; w = w.links[which].next {
		e.Buf = append(e.Buf, e.Waiter(w))
	}
	e.Buf = append(e.Buf, '|')
}

// Queued lists the queued waiters in the order of their arrival.
func (s *Sched) Queued() []*Waiter {
	var out []*Waiter
	for w := s.all.first; w != nil; w = w.links[byArrival].next {
		out = append(out, w)
	}
	return out
}

// Boxed lists the waiters in the mailbox.
func (b *Box) Boxed() []*Waiter {
	var out []*Waiter
	for w := b.acquires.first; w != nil; w = w.links[boxed].next {
		out = append(out, w)
	}
	return out
}

// Break is a way to break a scheduler that has two queued waiters of two
// handles, and what is said about it.
type Break struct {
	Spoil func(s *Sched)
	Says  string
}

var Breaks = map[string]Break{
	"count":           {func(s *Sched) { s.all.n++ }, "2 waiters are queued, and counted as 3"},
	"limit":           {func(s *Sched) { s.limit = 1 }, "2 waiters are queued, with a limit of 1"},
	"order":           {func(s *Sched) { s.all.first.arrival = 9 }, "arrival 2 is queued behind 9"},
	"order of two":    {func(s *Sched) { s.all.first.arrival = 2 }, "arrival 2 is queued behind 2"},
	"handle's count":  {func(s *Sched) { s.all.first.Handle.queue.n = 2 }, "a handle has 1 queued waiters, and counts 2"},
	"handle's order":  {func(s *Sched) { s.all.last.links[byHandle].prev = s.all.first }, "arrival 2 is out of order in its handle's queue"},
	"ring's count":    {func(s *Sched) { s.ring.n = 1 }, "the ring has 1 of 2 handles"},
	"ring's links":    {func(s *Sched) { s.ring.front.next.prev = s.ring.front.next }, "the ring is torn"},
	"ring's members":  {func(s *Sched) { s.ring.leave(s.ring.front) }, "the ring has 1 of 2 handles"},
	"ring of one":     {func(s *Sched) { s.ring.front.next, s.ring.n = s.ring.front, 3 }, tornRing},
	"chosen":          {func(s *Sched) { s.chosen = s.all.first }, "a waiter is chosen, and there is no permit"},
	"left at the end": {func(s *Sched) { s.stopped = true }, "something is left after the end"},
	"in progress":     {func(s *Sched) { s.hand = true }, "an event is in progress"},
}

// tornRing is about a ring that never gets to its second handle.
const tornRing = `the ring is torn
the ring has a handle twice, or one without waiters
the ring has 1 of 2 handles`
