package executor

import "sync/atomic"

// The queue's whole state, but for the tasks themselves, is in two words. Every
// post changes the first in one atomic step, which admits the task, gives it
// its position and is refused once the queue has closed; every worker that
// moves on changes the second in one.
//
// A task holds a place from its admission until it ends, or is canceled, or
// moves to a stand-in. The number of places taken is
//
//	ticket - head + extra
//
// where extra is the number of workers with a task, less the number of tasks
// between head and ticket that do not wait any more. What workers do never
// makes it larger: taking a task moves it from the one term to the other. So a
// reading of the second word that is a little old errs on the safe side.

// entry is the first word, as read once.
//
//	bits 63..2  ticket: how many tasks have been admitted
//	bit  1      slow: whoever wants to post takes the pool's lock
//	bit  0      closed: nothing is admitted any more
type entry uint64

const (
	entryClosed = 1 << iota
	entrySlow
	entryTicket // the unit
)

func (e entry) ticket() uint64 { return uint64(e) / entryTicket }
func (e entry) slow() bool     { return e&entrySlow != 0 }
func (e entry) closed() bool   { return e&entryClosed != 0 }

// exit is the second word, as read once.
//
//	bits 63..28  head: the first ticket whose task has not left, modulo 2^36
//	bits 27..4   extra, plus extraBias
//	bit  2       frozen: the queue is being compacted, and head stays
//	bit  1       slow: others wait for places
//	bit  0       closed
type exit uint64

const (
	exitClosed = 1 << iota
	exitSlow
	exitFrozen

	exitExtra = 1 << 4  // the unit
	exitHead  = 1 << 28 // the unit
	extraBias = 1 << 23
	headMask  = 1<<36 - 1

	// maxPlaces bounds a Config. With it extra, of which the negative part
	// is bounded by the size of the ring, stays within its bits.
	maxPlaces = 1 << 21
)

func (x exit) head() uint64 { return uint64(x) / exitHead }
func (x exit) extra() int   { return int(uint64(x)/exitExtra%(2*extraBias)) - extraBias }
func (x exit) frozen() bool { return x&exitFrozen != 0 }
func (x exit) slow() bool   { return x&exitSlow != 0 }
func (x exit) closed() bool { return x&exitClosed != 0 }

// behind returns how many tickets up to the given one have not left.
func (x exit) behind(ticket uint64) int { return int((ticket - x.head()) & headMask) }

// places returns how many places are taken.
func places(e entry, x exit) int { return x.behind(e.ticket()) + x.extra() }

// gate is the two words, each on a cache line of its own: posts write the
// first, workers the second, and neither shares one with what all only read.
type gate struct {
	_     [64]byte
	entry atomic.Uint64
	_     [56]byte
	bound atomic.Uint64 // tickets below it have room: read by all, written once in a while
	_     [56]byte
	exit  atomic.Uint64
	_     [56]byte
}

func (g *gate) init() { g.exit.Store(extraBias * exitExtra) }

func (g *gate) in() entry { return entry(g.entry.Load()) }
func (g *gate) out() exit { return exit(g.exit.Load()) }

// admit takes the ticket that e shows, if nothing changed since it was read.
func (g *gate) admit(e entry) bool {
	return g.entry.CompareAndSwap(uint64(e), uint64(e)+entryTicket)
}

// leave gives a place back.
func (g *gate) leave() exit {
	x := g.exit.Add(^uint64(exitExtra - 1))
	return exit(x)
}

// slow makes posts take the lock, and whoever gives a place back look for those
// who wait.
func (g *gate) slow() {
	g.entry.Or(entrySlow)
	g.exit.Or(exitSlow)
}

func (g *gate) fast() {
	g.exit.And(^uint64(exitSlow))
	g.entry.And(^uint64(entrySlow))
}

// close refuses everything from this instant on.
func (g *gate) close() {
	g.entry.Or(entryClosed)
	g.exit.Or(exitClosed)
}

// both returns a reading of both words at one instant.
func (g *gate) both() (entry, exit) {
	for {
		x := g.out()
		e := g.in()
		if g.out() == x { // it never shows a value twice
			return e, x
		}
	}
}
