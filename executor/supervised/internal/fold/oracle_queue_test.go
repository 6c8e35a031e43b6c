package fold

import "slices"

// These oracles are written from the specification alone. They know a counter
// with some clerks and a line before it, and nothing of the fold.

// line is one clerk and one slice: the order being served, if any, stands
// first.
type line struct {
	places      int
	newestFirst bool // the inversion

	orders []int
	served bool // the first one has a clerk
	begun  bool // and the clerk has begun
}

// seen is what can be seen at the counter after one thing happened.
type seen struct {
	turnedAway bool
	called     int // order that a clerk is called for, -1 if none
	handedOut  int // order that is handed out, -1 if none
}

func (l *line) call() int {
	if l.served || len(l.orders) == 0 {
		return -1
	}
	if l.newestFirst {
		last := len(l.orders) - 1
		newest := l.orders[last]
		l.orders = append([]int{newest}, l.orders[:last]...)
	}
	l.served = true
	return l.orders[0]
}

func (l *line) comes(order int) seen {
	waiting := len(l.orders)
	if l.served {
		waiting--
	}
	if l.served && waiting >= l.places {
		return seen{true, -1, -1}
	}
	l.orders = append(l.orders, order)
	return seen{false, l.call(), -1}
}

func (l *line) canBegin() bool  { return l.served && !l.begun }
func (l *line) canFinish() bool { return l.served && l.begun }

func (l *line) begins() seen {
	l.begun = true
	return seen{false, -1, -1}
}

func (l *line) finishes() seen {
	order := l.orders[0]
	l.orders, l.served, l.begun = l.orders[1:], false, false
	return seen{false, l.call(), order}
}

// hall is several clerks, who may leave and be replaced, and one line.
type hall struct {
	clerks      []desk
	line        []ticket
	places      int
	backInLine  bool // an order whose clerk left goes back to its place
	backInFront bool // the inversion: it goes to the front
	alwaysFirst bool // the inversion: the search for a clerk begins with the first

	next    int // where the search begins
	drawn   int // tickets
	hiring  int // the clerk being replaced, -1 if none
	sighted []sight
}

type ticket struct{ number, order int }

type desk struct {
	state    string // "free", "busy", "sent home", "empty"
	ticket   ticket
	begun    bool
	walkedAt bool // left before it was known whether the order was taken
}

// sight is one thing that can be seen: "call" of a clerk for an order, "give
// back", "hand out", "turn away".
type sight struct {
	what         string
	clerk, order int
}

func newHall(clerks int) *hall {
	h := &hall{hiring: -1, clerks: make([]desk, clerks)}
	for i := range h.clerks {
		h.clerks[i].state = "free"
	}
	return h
}

func (h *hall) see(what string, clerk, order int) {
	h.sighted = append(h.sighted, sight{what, clerk, order})
}

// look returns what was seen since the last look.
func (h *hall) look() []sight {
	s := h.sighted
	h.sighted = nil
	return s
}

func (h *hall) freeClerk() int {
	start := h.next
	if h.alwaysFirst {
		start = 0
	}
	for i := range h.clerks {
		if c := (start + i) % len(h.clerks); h.clerks[c].state == "free" {
			return c
		}
	}
	return -1
}

func (h *hall) callNext() {
	for len(h.line) > 0 {
		c := h.freeClerk()
		if c < 0 {
			return
		}
		t := h.line[0]
		h.line = slices.Delete(h.line, 0, 1)
		h.clerks[c] = desk{state: "busy", ticket: t}
		h.next = (c + 1) % len(h.clerks)
		h.see("call", c, t.order)
	}
}

func (h *hall) comes(order int) {
	if h.freeClerk() < 0 && len(h.line) >= h.places {
		h.see("turn away", -1, order)
		return
	}
	h.drawn++
	h.line = append(h.line, ticket{h.drawn, order})
	h.callNext()
}

func (h *hall) takes(c int) bool {
	d := &h.clerks[c]
	if d.state != "busy" || d.begun {
		return false
	}
	d.begun = true
	if d.walkedAt {
		h.interrupted(c)
	}
	return true
}

// refuses is a clerk who could not be given the order; he is sent home.
func (h *hall) refuses(c int) bool {
	d := &h.clerks[c]
	if d.state != "busy" || d.begun {
		return false
	}
	t := d.ticket
	gone := d.walkedAt
	*d = desk{state: "sent home"}
	h.backTo(t)
	if gone {
		h.leaves(c)
	}
	h.callNext()
	return true
}

func (h *hall) finishes(c int) bool {
	d := &h.clerks[c]
	if d.state != "busy" || !d.begun {
		return false
	}
	h.see("hand out", c, d.ticket.order)
	*d = desk{state: "free"}
	h.callNext()
	return true
}

func (h *hall) goes(c int) bool {
	d := &h.clerks[c]
	switch {
	case d.state == "empty" || d.walkedAt:
		return false
	case d.state == "busy" && !d.begun:
		d.walkedAt = true
	case d.state == "busy":
		h.interrupted(c)
	default:
		h.leaves(c)
	}
	return true
}

func (h *hall) interrupted(c int) {
	t := h.clerks[c].ticket
	if h.backInLine {
		h.backTo(t)
	} else {
		h.see("give back", c, t.order)
	}
	h.leaves(c)
	h.callNext()
}

func (h *hall) backTo(t ticket) {
	at := 0
	for !h.backInFront && at < len(h.line) && h.line[at].number < t.number {
		at++
	}
	h.line = slices.Insert(h.line, at, t)
}

func (h *hall) leaves(c int) {
	h.clerks[c] = desk{state: "empty"}
	if h.hiring < 0 {
		h.hiring = c
	}
}

// hires has the replacement come in, for the first empty desk after that the
// search begins.
func (h *hall) hires() (clerk int) {
	clerk = h.hiring
	if clerk < 0 {
		return clerk
	}
	h.clerks[clerk] = desk{state: "free"}
	h.hiring = slices.IndexFunc(h.clerks, func(d desk) bool { return d.state == "empty" })
	h.callNext()
	return clerk
}
