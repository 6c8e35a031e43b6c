package fold

import (
	"math"
	"slices"
	"testing"
	"time"
)

// world plays the shell of a fold from a string of bytes. It keeps the facts
// that the emitted actions can lead to, those that have been told, and makes
// up some that never were true.
type world struct {
	*rig
	bytes   []byte
	pending []event // true, and not told yet
	spent   []event // told and applied
	now     time.Duration
	job     int
}

// next returns the next byte; the script is over when there is none.
func (w *world) next() (int, bool) {
	if len(w.bytes) == 0 {
		return 0, false
	}
	b := w.bytes[0]
	w.bytes = w.bytes[1:]
	return int(b), true
}

func (w *world) pick(n int) int {
	b, _ := w.next()
	return b % n
}

// worldConfig reads a small pool from the script.
func (w *world) config() Config {
	cfg := Config{
		Pool: 1, Roles: 1 + w.pick(3), Backlog: w.pick(3), Activations: 1 + w.pick(2),
		Interruption: Interruption(1 + w.pick(2)), MaxAttempts: 0,
		Policy: Policy(1 + w.pick(3)), OnLoss: OnLoss(1 + w.pick(2)),
		Budget:      Budget{Max: w.pick(4), Window: 5},
		Backoff:     Backoff{Kind: BackoffKind(1 + w.pick(4)), Initial: 1, Max: 4},
		DrainWithin: time.Duration(w.pick(2)),
	}
	if cfg.Interruption == Retry {
		cfg.MaxAttempts = w.pick(3)
	}
	few := uint64(w.pick(4))
	switch w.pick(12) { // which counter is about to be exhausted
	case 0:
		cfg.First.Job = JobID(math.MaxUint64 - few)
	case 1:
		cfg.First.Ordinal = Ordinal(math.MaxUint64 - few)
	case 2:
		cfg.First.Assignment = AssignmentID(math.MaxUint64 - few)
	case 3:
		cfg.First.Incarnation = Incarnation(math.MaxUint64 - 3 - few)
	case 4:
		cfg.First.Prep = PrepID(math.MaxUint64 - few)
	case 5:
		cfg.First.Timer = TimerID(math.MaxUint64 - few)
	case 6:
		cfg.First.Stop = StopID(math.MaxUint64 - few)
	case 7:
		cfg.First.Recovery = math.MaxUint64 - few
	}
	return cfg
}

// foresee adds the facts that an action can lead to.
func (w *world) foresee(a *action) {
	ev := event{
		Role: a.Role, Pool: 1, Incarnation: a.Incarnation, Assignment: a.Assignment,
		Prep: a.Prep, Timer: a.Timer, Stop: a.Stop, Cause: errTest,
	}
	add := func(kinds ...EventKind) {
		for _, kind := range kinds {
			ev.Kind = kind
			w.pending = append(w.pending, ev)
		}
	}
	switch a.Kind {
	case Start:
		ev.Activates = w.pick(3) == 0
		if w.pick(8) == 0 {
			add(StartRejected)
		} else {
			add(Started)
		}
		ev.Exit = Exit{Kind: ExitKind(1 + w.pick(4))}
		if ev.Exit.Kind != Normal {
			ev.Exit.Cause = errTest
		}
		add(Exited)
	case BeginActivation:
		add(ActivationBegun)
		if w.pick(3) == 0 {
			add(ActivationFailed)
		} else {
			add(Activated)
		}
	case Deliver:
		if w.pick(4) == 0 {
			add(DeliveryRejected)
		} else {
			add(DeliveryAccepted)
		}
		ev.Result = int(a.Job)
		add(Completed)
	case RequestStop:
		ev.Already = w.pick(2) == 0
		add(StopSettled)
	case Prepare:
		add(PreparationBegun)
		ev.Ending = Ending(1 + min(w.pick(9), 4))
		if w.pick(2) == 0 {
			ev.Ending = Prepared
		}
		w.worker++
		ev.Worker = w.worker
		add(PreparationEnded)
	case Schedule:
		if w.pick(6) == 0 {
			add(TimerRejected)
		} else {
			add(TimerScheduled, TimerFired)
		}
	}
}

// tell feeds an event, and looks at what it leads to.
func (w *world) tell(ev event) Verdict {
	w.now += time.Duration(w.pick(3))
	ev.At = w.now
	v, out := w.step(ev)
	for i := range out {
		w.foresee(&out[i])
	}
	return v
}

// happen tells the pending fact at that place; one that is not in order yet
// stays true.
func (w *world) happen(i int) {
	ev := w.pending[i]
	w.pending = slices.Delete(w.pending, i, i+1)
	switch w.tell(ev) {
	case Applied, Outrun:
		w.spent = append(w.spent, ev)
	default:
		switch ev.Kind {
		case PreparationEnded:
			if ev.Ending == NotAttempted {
				ev.Ending = Lost // the factory was entered after all
			}
			w.pending = append(w.pending, ev)
		case TimerFired, ActivationBegun:
			if w.s.mode < Stopped && ev.Kind == TimerFired {
				w.pending = append(w.pending, ev)
			}
		}
	}
}

// forge makes something up from a fact that was told.
func (w *world) forge(ev event) event {
	switch w.pick(7) {
	case 0:
		ev.Pool++
	case 1:
		ev.Incarnation++
	case 2:
		ev.Assignment += 1000
	case 3:
		ev.Timer++
	case 4:
		ev.Role = w.pick(5) - 1
	case 5:
		ev.Stop++
		ev.Prep++
	case 6:
		ev.Kind = EventKind(1 + w.pick(int(lastEvent)))
		ev.Ending = Ending(w.pick(6))
		ev.Used = w.pick(2) == 0
	}
	return ev
}

// play runs the script, then ends the pool: whatever has happened, every job
// has an outcome, and when every fact has been told the pool has ended.
func play(t testing.TB, script []byte) *world {
	w := &world{bytes: script}
	cfg := w.config()
	w.rig = open(t, cfg)
	w.brief = len(script)%8 != 0
	for i := range w.opened {
		w.foresee(&w.opened[i])
	}
	for {
		op, ok := w.next()
		if !ok {
			break
		}
		switch op & 15 {
		case 0, 1, 2:
			w.job++
			w.tell(event{Kind: Submit, Job: w.job, Customer: w.job})
		case 3:
			if len(w.spent) > 0 {
				w.tell(w.spent[w.pick(len(w.spent))])
			}
		case 4:
			if len(w.spent) > 0 {
				if ev := w.forge(w.spent[w.pick(len(w.spent))]); !w.comesTrue(ev) {
					w.tell(ev)
				}
			}
		case 5:
			if w.pick(4) == 0 {
				w.tell(event{Kind: Shutdown})
			}
		default:
			if n := len(w.pending); n > 0 {
				w.happen(w.pick(n))
			}
		}
	}
	w.tell(event{Kind: Shutdown})
	for round := 0; w.s.mode == Draining; round++ {
		if round > 4 || len(w.pending) == 0 {
			w.fail("the drain does not end: %+v", w.s.Unresolved())
		}
		for n := len(w.pending); n > 0; n-- {
			w.happen(0)
		}
	}
	for _, ev := range w.spent { // nothing can be told twice
		w.tell(ev)
	}
	return w
}

// comesTrue reports whether a forged event would take a true one's place: what
// is forged must not be true.
func (w *world) comesTrue(ev event) bool {
	if ev.Kind == Submit || ev.Kind == Shutdown {
		return true
	}
	twin := w.s.clone()
	v, _ := twin.Step(&ev, nil)
	return v == Applied || v == Outrun
}
