package fold

// This oracle is written from the specification alone. It knows one customer
// with one order at a counter with one clerk, and nothing of the fold.

// clerk predicts what the customer hears, and when.
type clerk struct {
	secondChance bool // an order whose clerk left goes back to the line
	lastWins     bool // the inversion: of two facts that waited, the later one counts

	waiting []string // "finished" and "left", in the order in which they were heard
	taken   bool
	over    bool
}

// answer is what the customer hears.
type answer struct {
	what   string // "", "here you are", "given back from the clerk", "given back from the line"
	why    string
	order  int
	result int
}

// hear takes one of "taken", "finished", "left", "closing".
func (c *clerk) hear(fact string) answer {
	if c.over {
		return answer{}
	}
	switch fact {
	case "closing":
		c.over = true
		return answer{what: "given back from the clerk", why: "closing", order: 7}
	case "taken":
		c.taken = true
	default:
		c.waiting = append(c.waiting, fact)
	}
	if !c.taken || len(c.waiting) == 0 {
		return answer{}
	}
	c.over = true
	decisive := c.waiting[0]
	if c.lastWins {
		decisive = c.waiting[len(c.waiting)-1]
	}
	switch {
	case decisive == "finished":
		return answer{what: "here you are", result: 70}
	case c.secondChance: // there is no other clerk
		return answer{what: "given back from the line", why: "nobody works here", order: 7}
	default:
		return answer{what: "given back from the clerk", why: "the clerk left", order: 7}
	}
}
