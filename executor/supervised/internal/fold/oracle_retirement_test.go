package fold

// This oracle is written from the specification alone. It knows a watchman who
// locks up when the last one has gone, or when an alarm clock rings.

type watchman struct {
	trustsEarlyRing bool // the inversion

	away, told bool // what he waits for
	clock      string
	state      string // "", "locked", "gave up"
}

type round struct {
	complaint bool
	verdict   string // in this round: "", "locked", "gave up"
	clockOff  bool   // the alarm clock was put off
}

// hear takes one of "left", "told", "clock set", "clock broken", "ring".
func (w *watchman) hear(fact string) round {
	if w.state != "" {
		return round{complaint: true}
	}
	switch fact {
	case "left":
		w.away = true
	case "told":
		w.told = true
	case "clock set":
		w.clock = "set"
	case "clock broken":
		w.state = "gave up"
		return round{verdict: w.state}
	case "ring":
		if w.clock != "set" && !w.trustsEarlyRing {
			return round{complaint: true}
		}
		w.state = "gave up"
		return round{verdict: w.state}
	}
	if w.away && w.told {
		w.state = "locked"
		return round{verdict: w.state, clockOff: true}
	}
	return round{}
}
