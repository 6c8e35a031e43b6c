package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

// opening makes a desk.
type opening func() (*desk, error)

var openings = []opening{newTasks, newRequests, newLeases, newCrashes, newDelays, newSets, newReference}

// referenceName is the desk that latencies are compared with.
const referenceName = "reference"

// A run is one soak: the desks, and what was measured at each rest.
type run struct {
	desks []*desk
	pacer pacer
	rests []rest
	began time.Time
}

// soak loads everything for about as long as it is told, in spells between which
// it rests. The error says what went wrong; the run is complete up to there.
func soak(length, spell time.Duration, open []opening, tell func(format string, args ...any)) (*run, error) {
	r := &run{began: time.Now()}
	for _, o := range open {
		d, err := o()
		if err != nil {
			return r, errors.Join(err, r.end())
		}
		r.desks = append(r.desks, d)
	}
	if err := r.pacer.open(); err != nil {
		return r, errors.Join(err, r.end())
	}
	// A first spell under load opens what is opened lazily, and is not measured.
	err := r.load(min(spell, 2*time.Second), nil)
	r.rest(nil)
	enough := func() bool { // on a slow machine that may take longer
		return time.Since(r.began)+spell/2 >= length && len(r.rests) >= leastRests
	}
	for err == nil && r.violations() == nil && !enough() {
		m := newMeter(r.desks)
		err = r.load(spell, m)
		r.rest(m)
		tell("%s\n", r.rests[len(r.rests)-1].brief())
	}
	if err != nil { // clients hang, and so would the end
		return r, errors.Join(err, r.violations())
	}
	return r, r.end()
}

// spellOf divides a soak into spells: enough for a trend, and each long enough
// for a quantile.
func spellOf(length time.Duration) time.Duration {
	return min(max(length/24, time.Second), 30*time.Second)
}

// load has every client play for a while.
func (r *run) load(spell time.Duration, m *meter) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := time.Now().Add(spell)
	var clients sync.WaitGroup
	for _, d := range r.desks {
		for n := range d.clients {
			clients.Go(func() {
				p := &player{Context: ctx, Rand: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), number: n}
				for time.Now().Before(stop) {
					d.play(p)
					p.ops++
					r.pacer.pause(ctx, d.pace/2+time.Duration(p.Int64N(int64(d.pace))))
				}
			})
		}
	}
	gone := make(chan struct{})
	go func() {
		clients.Wait()
		close(gone)
	}()
	for {
		select {
		case <-gone:
			return nil
		case <-time.After(20 * time.Millisecond):
			m.look()
		}
		if time.Since(stop) > patience {
			return fmt.Errorf("clients hang, %v after the end of the spell:\n%s", patience, stacks())
		}
	}
}

// rest waits until what was begun has ended, balances the books, and measures.
func (r *run) rest(m *meter) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, d := range r.desks {
		d.rest(ctx)
	}
	at := m.measure(ctx, time.Since(r.began))
	moment, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	var s string
	if !eventually(moment, func() bool { // a tick may be running
		s = stacks()
		return !strings.Contains(s, `"job"`) && !strings.Contains(s, `"stray"`)
	}) {
		r.desks[0].bad("a goroutine keeps a job's label, and no job runs:\n%s", s)
	}
	if m != nil {
		r.rests = append(r.rests, at)
	}
}

func (r *run) violations() error {
	var out []error
	for _, d := range r.desks {
		for _, v := range d.violations() {
			out = append(out, errors.New(v))
		}
	}
	return errors.Join(out...)
}

// end ends every subject, the last one first.
func (r *run) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i := len(r.desks) - 1; i >= 0; i-- {
		r.desks[i].end(ctx)
	}
	return errors.Join(r.violations(), r.pacer.close())
}

// stacks is the profile of all goroutines, with their labels.
func stacks() string {
	var b strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1)
	return b.String()
}
