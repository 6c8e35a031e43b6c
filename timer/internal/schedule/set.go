// Package schedule holds the decisions of package timer: which entry is due,
// in which order, and what becomes of the ticks of a periodic one.
//
// It is pure: time is an argument, in nanoseconds since an origin that the
// caller chose, and nothing here blocks, starts or locks anything. A caller
// that shares a Set holds a lock of its own.
package schedule

import (
	"fmt"
	"slices"
)

// Never is the instant that does not come. A sum that does not fit becomes
// Never, so that it fires late rather than early.
const Never = 1<<63 - 1

// After returns the instant d after now, or Never if there is no such number.
// d is not negative; the longest one may stand for more, so it gives Never too.
func After(now, d int64) int64 {
	if sum := now + d; sum >= now && d != Never {
		return sum
	}
	return Never
}

// Until returns how long it is from now to at, which is later; the longest
// duration stands for all that are longer.
func Until(now, at int64) int64 {
	if d := at - now; d > 0 {
		return d
	}
	return Never
}

// Node is the place of an entry in a Set. Its zero value is in none.
type Node struct{ place int32 } // 1 + the index in the heap; 0: not in it

// Entry is what a Set holds: something that embeds a Node.
type Entry interface{ Scheduled() *Node }

// Set orders entries by deadline, and those of one deadline by when they were
// pushed. The zero value is an empty Set.
//
// It is a heap of four children a node, with the keys in the heap's own array
// and the place in the entry, so that an entry is taken out by identity.
// Leaving canceled entries in it until they are due would cost less a cancel
// and hold their memory for as long as the longest delay.
type Set[T Entry] struct {
	items chunks[item[T]]
	seq   uint64
}

// Invariant: no child is before its parent; items[i]'s node holds i+1.
type item[T Entry] struct {
	deadline int64
	seq      uint64
	entry    T
}

func (a *item[T]) before(b *item[T]) bool {
	return a.deadline < b.deadline || a.deadline == b.deadline && a.seq < b.seq
}

// Len returns the number of entries.
func (s *Set[T]) Len() int { return s.items.len }

// Next returns the earliest deadline, or Never if there is none.
func (s *Set[T]) Next() int64 {
	if s.items.len == 0 {
		return Never
	}
	return s.items.at(0).deadline
}

// Pushed returns how many entries have ever been pushed.
func (s *Set[T]) Pushed() uint64 { return s.seq }

// Newer reports whether the first entry was pushed after there had been that
// many.
func (s *Set[T]) Newer(pushed uint64) bool {
	return s.items.len > 0 && s.items.at(0).seq > pushed
}

// Push puts e in, due at deadline. e must not be in a Set.
func (s *Set[T]) Push(e T, deadline int64) {
	if e.Scheduled().place != 0 {
		panic("bug: schedule: an entry was pushed twice")
	}
	s.seq++
	s.items.grow()
	s.up(s.items.len-1, item[T]{deadline, s.seq, e})
}

// Pop takes the first entry out if it is due at now. An entry due at Never
// never is.
func (s *Set[T]) Pop(now int64) (e T, ok bool) {
	if at := s.Next(); at > now || at == Never {
		return e, false
	}
	e = s.items.at(0).entry
	s.removeAt(0)
	return e, true
}

// Drain takes every entry out and returns them in order, due or not. It sorts,
// which for many is several times as fast as taking out one after another:
// the heap moves places, and each lies in an entry's own memory.
func (s *Set[T]) Drain() []T {
	items := make([]item[T], s.items.len)
	for i := range items {
		items[i] = *s.items.at(i)
	}
	s.items = chunks[item[T]]{}
	slices.SortFunc(items, func(a, b item[T]) int {
		switch {
		case a.before(&b):
			return -1
		case b.before(&a):
			return 1
		}
		return 0
	})
	entries := make([]T, len(items))
	for i, it := range items {
		it.entry.Scheduled().place = 0
		entries[i] = it.entry
	}
	return entries
}

// Remove takes e out, and returns false if it was not in.
func (s *Set[T]) Remove(e T) bool {
	place := e.Scheduled().place
	if place == 0 {
		return false
	}
	s.removeAt(int(place - 1))
	return true
}

func (s *Set[T]) removeAt(i int) {
	s.items.at(i).entry.Scheduled().place = 0
	last := *s.items.at(s.items.len - 1)
	s.items.shrink()
	if i == s.items.len {
		return
	}
	if i > 0 && last.before(s.items.at((i-1)/4)) {
		s.up(i, last)
	} else {
		s.down(i, last)
	}
}

// up puts it at i, or as far above as it belongs.
func (s *Set[T]) up(i int, it item[T]) {
	for i > 0 {
		parent := (i - 1) / 4
		p := s.items.at(parent)
		if !it.before(p) {
			break
		}
		s.put(i, *p)
		i = parent
	}
	s.put(i, it)
}

// down puts it at i, or as far below as it belongs.
func (s *Set[T]) down(i int, it item[T]) {
	for {
		first := 4*i + 1
		if first >= s.items.len {
			break
		}
		least, l := first, s.items.at(first)
		for k := first + 1; k < min(first+4, s.items.len); k++ {
			if c := s.items.at(k); c.before(l) {
				least, l = k, c
			}
		}
		if !l.before(&it) {
			break
		}
		s.put(i, *l)
		i = least
	}
	s.put(i, it)
}

func (s *Set[T]) put(i int, it item[T]) {
	*s.items.at(i) = it
	it.entry.Scheduled().place = int32(i + 1)
}

// Check returns an error if an invariant of the Set does not hold. Tests call
// it after each step.
func (s *Set[T]) Check() error {
	for i := range s.items.len {
		it := s.items.at(i)
		if place := int(it.entry.Scheduled().place); place != i+1 {
			return fmt.Errorf("the entry at %d has place %d", i, place)
		}
		if i > 0 && it.before(s.items.at((i-1)/4)) {
			return fmt.Errorf("the entry at %d is before its parent", i)
		}
	}
	if room := len(s.items.list) * chunkLen; s.items.len > room || room-s.items.len >= 2*chunkLen {
		return fmt.Errorf("room for %d with %d entries", room, s.items.len)
	}
	return nil
}
