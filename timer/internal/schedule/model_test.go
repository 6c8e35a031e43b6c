package schedule

import (
	"math"
	"slices"
	"testing"
)

// The model lies in the package itself, since it makes an instance of the Set:
// the fuzzer is blind to what an external test covers of a generic type.

// record is an entry of a Set.
type record struct {
	node Node
	name int
}

func (e *record) Scheduled() *Node { return &e.node }

// model is a Set that sorts a slice.
type model []due

type due struct {
	deadline int64
	e        *record
}

func (m *model) push(e *record, deadline int64) {
	i := 0
	for i < len(*m) && (*m)[i].deadline <= deadline {
		i++
	}
	*m = slices.Insert(*m, i, due{deadline, e})
}

func (m *model) next() int64 {
	if len(*m) == 0 {
		return Never
	}
	return (*m)[0].deadline
}

func (m *model) remove(e *record) bool {
	i := slices.IndexFunc(*m, func(d due) bool { return d.e == e })
	if i < 0 {
		return false
	}
	*m = slices.Delete(*m, i, i+1)
	return true
}

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// player plays a program on a Set and on its model, entry by entry.
type player struct {
	t   tester
	p   []byte
	set Set[*record]
	mod model
	all []*record // that there ever were
	now int64
}

func (p *player) next() int64 {
	if len(p.p) == 0 {
		return 0
	}
	b := p.p[0]
	p.p = p.p[1:]
	return int64(b)
}

func (p *player) push(e *record, at int64) {
	p.set.Push(e, at)
	p.mod.push(e, at)
}

// add pushes new entries, some of one deadline and some of others, so that a
// few bytes cross the boundaries of chunks.
func (p *player) add() {
	many, d, step := p.next(), p.next(), p.next()%4
	for i := range many%80 + 1 {
		e := &record{name: len(p.all)}
		p.all = append(p.all, e)
		p.push(e, After(p.now, d+i*step))
	}
}

func (p *player) step() {
	switch p.next() % 9 {
	case 0:
		p.add()
	case 1: // an instant of any size
		at := int64(math.MinInt64)
		if x := p.next(); x >= 4 {
			at = Never - x%3
		} else {
			at += x
		}
		e := &record{name: len(p.all)}
		p.all = append(p.all, e)
		p.push(e, at)
	case 2, 3: // take out any that ever was, in or not
		if i := p.next() + p.next()<<8; len(p.all) > 0 {
			e := p.all[i%int64(len(p.all))]
			p.equal("Remove", p.mod.remove(e), p.set.Remove(e))
		}
	case 4: // the last of the heap, or near to it
		for range p.next() % 70 {
			if e := p.last(); e != nil {
				p.equal("Remove", p.mod.remove(e), p.set.Remove(e))
			}
		}
	case 5, 6:
		if x := p.next(); x < 200 {
			p.now = After(p.now, x)
			p.pop(p.now)
		} else {
			p.pop(Never - x%2) // the end of time, for once
		}
	case 7:
		for range p.next() % 80 {
			p.take()
		}
		if p.next() == 255 {
			p.drain()
		}
	case 8: // an entry that was in goes in again
		if i := p.next(); len(p.all) > 0 {
			e := p.all[i%int64(len(p.all))]
			p.equal("Remove", p.mod.remove(e), p.set.Remove(e))
			p.push(e, After(p.now, p.next()))
		}
	}
	p.check()
}

// pop takes out whatever is due, as the timer does: what is pushed meanwhile
// waits for the next time, due or not.
func (p *player) pop(now int64) {
	pushed := p.set.Pushed()
	var fresh *record
	for i := 0; ; i++ {
		newer := len(p.mod) > 0 && p.mod[0].e == fresh
		p.equal("Newer", newer, p.set.Newer(pushed))
		if newer {
			return
		}
		due := p.mod.next() <= now && p.mod.next() != Never
		e, ok := p.set.Pop(now)
		p.equal("Pop", due, ok)
		if !ok {
			return
		}
		p.first(e)
		if i == 3 {
			fresh = e
			p.push(e, now-1)
		}
	}
}

// last is the entry in the heap's last place.
func (p *player) last() *record {
	if n := p.set.items.len; n > 0 {
		return p.set.items.at(n - 1).entry
	}
	return nil
}

// take takes out the first entry as it becomes due.
func (p *player) take() {
	at := p.mod.next()
	e, ok := p.set.Pop(at)
	p.equal("Pop", at != Never, ok)
	if ok {
		p.first(e)
	}
}

// drain takes out all there is.
func (p *player) drain() {
	for _, e := range p.set.Drain() {
		p.first(e)
		p.equal("Remove", false, p.set.Remove(e))
	}
}

// first says that e was taken out, and has to be the model's first.
func (p *player) first(e *record) {
	if len(p.mod) == 0 {
		p.t.Fatalf("entry %d comes, and there is none", e.name)
	}
	if e != p.mod[0].e {
		p.t.Fatalf("entry %d comes before %d", e.name, p.mod[0].e.name)
	}
	p.mod = p.mod[1:]
}

func (p *player) check() {
	if err := p.set.Check(); err != nil {
		p.t.Fatal(err)
	}
	for i := p.set.items.len; i < len(p.set.items.list)*chunkLen; i++ {
		if p.set.items.at(i).entry != nil {
			p.t.Fatalf("place %d of %d still holds an entry", i, p.set.items.len)
		}
	}
	if p.set.Len() != len(p.mod) || p.set.Next() != p.mod.next() {
		p.t.Fatalf("%d entries from %d on, and not %d from %d on", p.set.Len(), p.set.Next(), len(p.mod), p.mod.next())
	}
}

func (p *player) equal(what string, want, got bool) {
	if want != got {
		p.t.Fatalf("%s: %v", what, got)
	}
}

// Play plays data on a Set and on a slice that is kept sorted, and compares
// what comes out, and when, and in which order if deadlines are equal.
func Play(t tester, data []byte) {
	p := &player{t: t, p: data}
	for len(p.p) > 0 {
		p.step()
	}
	p.drain()
	p.check()
}

func FuzzSet(f *testing.F) {
	f.Add([]byte{0, 5, 3, 0, 2, 4, 0, 5, 9, 6, 255})
	f.Add([]byte{1, 255, 1, 0, 8, 0, 3, 7, 1, 7, 2, 255})
	f.Fuzz(func(t *testing.T, data []byte) { Play(t, data[:min(len(data), 200)]) })
}
