package fold

// This oracle is written from the specification alone. It knows a shop with one
// seat whose worker has left while a replacement is being looked for.

// shop predicts what becomes of the search.
type shop struct {
	closing       bool // the shop was closing before the search ended
	oneSeatIsAll  bool // losing the seat closes the shop
	hiresAnyway   bool // the inversion: a replacement starts in a closing shop too
	seatsAnswered int
}

type news struct {
	starts, complaints int
	state              string // "open", "closed"
}

// searchEnds says what follows from one of "found", "refused", "no agency",
// "vanished", "never began".
func (s *shop) searchEnds(how string) news {
	s.seatsAnswered++
	switch {
	case s.closing && s.hiresAnyway && how == "found":
		return news{starts: 1, state: "open"}
	case s.closing:
		return news{complaints: 1, state: "closed"}
	case how == "found":
		return news{starts: 1, state: "open"}
	case s.oneSeatIsAll:
		return news{complaints: 1, state: "closed"}
	default:
		return news{complaints: 1, state: "open"}
	}
}
