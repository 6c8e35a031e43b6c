package fold

import (
	"fmt"
)

type (
	state  = State[int, int, int, int]
	event  = Event[int, int, int, int]
	action = Action[int, int, int, int]
)

// ledger is a test's own record of a run: what was accepted and how it ended,
// which identities were issued, and what became of each worker. It holds the
// invariants that a state alone does not show.
type ledger struct {
	accepted map[JobID]int // payloads
	rejected uint64
	ended    map[JobID]bool
	ids      map[identity]bool
	stops    map[Incarnation]bool
	started  map[Incarnation]int // workers whose start was ordered
	live     map[int]bool        // roles whose last incarnation has not exited
	fate     map[int]string      // of each prepared worker
	retired  bool
	errs     []string
}

type identity struct {
	kind string
	id   uint64
}

func newLedger(workers []int) *ledger {
	l := &ledger{
		accepted: map[JobID]int{}, ended: map[JobID]bool{}, ids: map[identity]bool{},
		stops: map[Incarnation]bool{}, started: map[Incarnation]int{},
		live: map[int]bool{}, fate: map[int]string{},
	}
	for _, w := range workers {
		l.fate[w] = ""
	}
	return l
}

func (l *ledger) add(format string, args ...any) {
	l.errs = append(l.errs, fmt.Sprintf(format, args...))
}

func (l *ledger) issue(kind string, id uint64) {
	key := identity{kind, id}
	if id == 0 || l.ids[key] {
		l.add("I-15 %v issued twice", key)
	}
	l.ids[key] = true
}

func (l *ledger) end(w int, how string) {
	was, known := l.fate[w]
	if !known || was != "" {
		l.add("I-23 worker %d is %s and was %q (known: %v)", w, how, was, known)
	}
	l.fate[w] = how
}

// before notes what an event claims, if it is applied.
func (l *ledger) apply(before *state, ev *event, v Verdict) {
	if v != Applied {
		return
	}
	switch ev.Kind {
	case Started:
		l.end(l.started[ev.Incarnation], "started")
	case Exited, StartRejected:
		delete(l.live, ev.Role)
	case PreparationEnded:
		if ev.Ending == Prepared {
			l.fate[ev.Worker] = ""
		}
	}
}

// record checks the actions of one step against the state before and after.
func (l *ledger) record(before, after *state, ev *event, v Verdict, out []action) {
	l.apply(before, ev, v)
	diagnostics := 0
	for i := range out {
		a := &out[i]
		if i > 0 && class[out[i-1].Kind] > class[a.Kind] {
			l.add("I-21 %d before %d", out[max(i-1, 0)].Kind, a.Kind)
		}
		if l.retired && a.Kind != Reject && a.Kind != Notice && a.Kind != Fault {
			l.add("I-17 action %d after the end", a.Kind)
		}
		drain := after.mode != Serving
		switch a.Kind {
		case Start, BeginActivation, Deliver, Prepare:
			if drain {
				l.add("I-8 action %d in a drain", a.Kind)
			}
		case Schedule:
			if drain && a.Timer != DrainTimer {
				l.add("I-8 restart scheduled in a drain")
			}
		}
		switch a.Kind {
		case Start:
			l.issue("incarnation", uint64(a.Incarnation))
			l.started[a.Incarnation] = a.Worker
			if l.live[a.Role] {
				l.add("I-16 two live incarnations of role %d", a.Role)
			}
			l.live[a.Role] = true
		case Accept:
			l.issue("job", uint64(a.Job))
			l.accepted[a.Job] = ev.Job
			if before.count[Idle] == 0 && before.queue.n >= before.cfg.Backlog {
				l.add("I-5 queued over the bound")
			}
		case Reject:
			l.rejected++
		case Complete, ReturnQueued, ReturnAssigned:
			payload, ok := l.accepted[a.Job]
			if !ok || l.ended[a.Job] {
				l.add("I-2 outcome of job %d (accepted: %v)", a.Job, ok)
			}
			if a.Kind != Complete && a.Payload != payload {
				l.add("I-2 payload of job %d", a.Job)
			}
			l.ended[a.Job] = true
		case Deliver:
			l.issue("assignment", uint64(a.Assignment))
			m := &after.members[a.Role]
			if m.phase != Busy || m.assignment != a.Assignment || m.incarnation != a.Incarnation || m.record.id != a.Job {
				l.add("I-19 delivery of job %d to %d", a.Job, a.Role)
			}
		case RequestStop:
			l.issue("stop", uint64(a.Stop))
			if l.stops[a.Incarnation] {
				l.add("I-16 second stop request")
			}
			l.stops[a.Incarnation] = true
		case Prepare:
			l.issue("prep", uint64(a.Prep))
		case Schedule:
			if a.Timer == DrainTimer {
				l.issue("drain timer", 1)
			} else {
				l.issue("timer", uint64(a.Timer))
			}
		case Discard:
			l.end(a.Worker, "discarded")
		case Notice, Fault:
			diagnostics++
		case RetireStopped:
			if after.mode != Stopped || before.mode == Stopped {
				l.add("I-20 stopped")
			}
			for w, how := range l.fate {
				if how == "" {
					l.add("I-23 worker %d has no end", w)
				}
			}
			if len(l.ended) != len(l.accepted) {
				l.add("I-2 %d outcomes of %d", len(l.ended), len(l.accepted))
			}
			l.retired = true
		case RetireForced:
			if len(l.ended) != len(l.accepted) {
				l.add("I-2 %d outcomes of %d", len(l.ended), len(l.accepted))
			}
			l.retired = true
		}
	}
	if v != Applied && v != Outrun && ev.Kind != Submit {
		if len(out) != 1 || diagnostics != 1 {
			l.add("I-18 %d actions of a refused event", len(out))
		}
	}
	for role := range after.members {
		m := &after.members[role]
		if m.assignment != 0 && l.ended[m.record.id] {
			l.add("I-19 job %d has ended and is assigned", m.record.id)
		}
		// A drain that waits for a live worker's exit has asked for it.
		if after.mode == Draining && m.missing&MissingExit != 0 && !l.stops[m.incarnation] {
			l.add("SUP-80 role %d waits for an exit that nobody asked for", role)
		}
	}
	for i := range after.queue.n {
		if l.ended[after.queue.at(i).id] {
			l.add("I-19 job %d has ended and is queued", after.queue.at(i).id)
		}
	}
	c := after.Counts()
	if c.Accepted != uint64(len(l.accepted)) || c.Rejected != l.rejected || c.Settled != uint64(len(l.ended)) {
		l.add("I-1 %+v", c)
	}
	if before.mode != after.mode && (after.mode == Serving || before.mode >= Stopped) {
		l.add("I-17 mode %d after %d", after.mode, before.mode)
	}
}
