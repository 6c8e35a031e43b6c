package sched

// Box is the content of a mailbox: the acquisitions that the owner has not seen
// yet, in the order of their arrival, and two stacks, of handles that were
// closed and of waiters that left. It is bounded by the callers: each has one
// waiter, and takes it out if it leaves early.
//
// A handle's closed flag is set before Leave, and Sched refuses every waiter of
// a closed handle, so the order of a Push and a Leave does not matter.
type Box struct {
	acquires list
	leaving  *Handle
	canceled *Waiter
	dead     bool
}

// Push adds w. It returns false if the box is dead.
func (b *Box) Push(w *Waiter) bool {
	if b.dead {
		return false
	}
	b.acquires.push(w, boxed)
	return true
}

// Cancel tells that w, which was pushed, has been canceled. It returns true if
// w was still in the box: then it is out of it, and nobody else has it.
// Otherwise the owner learns of it from Canceled.
func (b *Box) Cancel(w *Waiter) bool {
	if w.links[boxed].in {
		b.acquires.remove(w, boxed)
		return true
	}
	w.next, b.canceled = b.canceled, w
	return false
}

// Leave adds the deregistration of h, once at most for each handle. It returns
// false if the box is dead.
func (b *Box) Leave(h *Handle) bool {
	if b.dead {
		return false
	}
	h.leaving, b.leaving = b.leaving, h
	return true
}

// Next takes one command out: the handle of a deregistration, or a waiter, or
// neither if there is none.
func (b *Box) Next() (*Handle, *Waiter) {
	if h := b.leaving; h != nil {
		b.leaving, h.leaving = h.leaving, nil
		return h, nil
	}
	w := b.acquires.first
	if w != nil {
		b.acquires.remove(w, boxed)
	}
	return nil, w
}

// Canceled takes out one waiter that left after the owner had got it, or nil.
func (b *Box) Canceled() *Waiter {
	w := b.canceled
	if w != nil {
		b.canceled, w.next = w.next, nil
	}
	return w
}

// Len returns the number of waiters in the box.
func (b *Box) Len() int { return b.acquires.n }

// Empty reports whether there is no command.
func (b *Box) Empty() bool { return b.acquires.n == 0 && b.leaving == nil }

// Kill refuses everything from now on. What is in the box stays for Next.
func (b *Box) Kill() { b.dead = true }
