package executor

import "sync/atomic"

// gate is the word that admits tasks. Admission, closing and the count of
// places change in one atomic step, so that closing is an exact cut-off and
// capacity is exact.
//
//	bits 63..28  ticket: how many tasks went into the ring, modulo 2^36
//	bit  27      closed: nothing is admitted any more
//	bit  26      slow: whoever wants to post takes the pool's lock
//	bits 25..0   places: tasks that wait for a worker or have one
type gate struct{ word atomic.Uint64 }

// reading is one value of a gate.
type reading uint64

const (
	placeBits  = 26
	slowBit    = 1 << placeBits
	closedBit  = slowBit << 1
	ticketUnit = closedBit << 1
	ticketMask = 1<<36 - 1

	maxPlaces = 1 << 24 // of a Config; far below what the word could count
)

func (r reading) places() int    { return int(r & (slowBit - 1)) }
func (r reading) slow() bool     { return r&slowBit != 0 }
func (r reading) closed() bool   { return r&closedBit != 0 }
func (r reading) ticket() uint64 { return uint64(r) / ticketUnit }

func (g *gate) load() reading { return reading(g.word.Load()) }

// admit takes a place and a ticket, if nothing changed since r was read.
func (g *gate) admit(r reading) bool {
	return g.word.CompareAndSwap(uint64(r), uint64(r)+ticketUnit+1)
}

// leave gives a place back.
func (g *gate) leave() reading { return reading(g.word.Add(^uint64(0))) }

// goSlow makes posts take the lock, if nothing changed since r was read.
func (g *gate) goSlow(r reading) bool {
	return g.word.CompareAndSwap(uint64(r), uint64(r)|slowBit)
}

func (g *gate) goFast() { g.word.And(^uint64(slowBit)) }

// close closes the gate and returns what it showed before.
func (g *gate) close() reading { return reading(g.word.Or(closedBit)) }
