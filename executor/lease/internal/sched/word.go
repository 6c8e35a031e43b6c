package sched

// Word is the content of a pool's gate, as read once. It changes by one
// compare-and-swap, so takes, returns, demand and the end have one total order.
//
//	bits 63..24  turn: how many permits have been taken, modulo 2^40
//	bits 23..3   free: how many permits may be taken
//	bit  2       demand: somebody waits, so only the owner takes
//	bit  1       closed
//	bit  0       failed
//
// The turn is in the same word because the choice of a slot depends on it: a
// counter of its own would be one more cache line that every caller writes.
type Word uint64

const (
	failedBit Word = 1 << iota
	closedBit
	demandBit
	freeUnit

	freeMask = 1<<21 - 1
	turnUnit = freeUnit * (freeMask + 1)

	// MaxCapacity is the largest number of permits that a Word counts.
	MaxCapacity = 1 << 20
)

// Full returns the word of a pool whose permits are all free.
func Full(capacity int) Word { return Word(capacity) * freeUnit }

// Free returns the number of free permits.
func (w Word) Free() int { return int(w / freeUnit & freeMask) }

// Turn returns how many permits have been taken.
func (w Word) Turn() uint64 { return uint64(w / turnUnit) }

// Demand reports whether somebody waits.
func (w Word) Demand() bool { return w&demandBit != 0 }

// Closed reports whether the close was published.
func (w Word) Closed() bool { return w&closedBit != 0 }

// Failed reports whether a failure was published.
func (w Word) Failed() bool { return w&failedBit != 0 }

// Ended reports whether nothing may be taken any more.
func (w Word) Ended() bool { return w&(closedBit|failedBit) != 0 }

// Take returns the word with a permit taken, for a caller who overtakes nobody.
func (w Word) Take() (Word, bool) {
	if w.Demand() {
		return w, false
	}
	return w.TakeFirst()
}

// TakeFirst is the owner's Take, which ignores the demand: it is the owner who
// serves it.
func (w Word) TakeFirst() (Word, bool) {
	if w.Ended() || w.Free() == 0 {
		return w, false
	}
	return w - freeUnit + turnUnit, true
}

// Put returns the word with a permit given back.
func (w Word) Put() Word { return w + freeUnit }

// WithDemand returns the word with demand set or cleared.
func (w Word) WithDemand(on bool) Word {
	if on {
		return w | demandBit
	}
	return w &^ demandBit
}

// WithClosed returns the word with the close published.
func (w Word) WithClosed() Word { return w | closedBit }

// WithFailed returns the word with the failure published.
func (w Word) WithFailed() Word { return w | failedBit }
