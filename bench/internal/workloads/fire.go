package workloads

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cadre-go/cadre/bench/internal/pools"
	"github.com/cadre-go/cadre/bench/internal/sampling"
)

const (
	rowFire      = "timer: 1M due within 1 s; 100k spread over 2 s"
	lateMedian   = "late p50 us"
	lateTail     = "late p99 us"
	latest       = "late max us"
	tooEarly     = "early"
	createCost   = "create ns"
	leadPerAlarm = 3 * time.Microsecond
)

// fires has many delays go off within a window.
func fires() []sampling.Workload {
	var all []sampling.Workload
	for _, load := range []struct {
		name   string
		alarms int
		window time.Duration
	}{
		{"1M-in-1s", 1_000_000, time.Second},
		{"100k-in-2s", 100_000, 2 * time.Second},
	} {
		w := sampling.Workload{
			Name:      "fire/" + load.name,
			Title:     fmt.Sprintf("timer: %d delays due within %v; CPU time per firing", load.alarms, load.window),
			Ops:       load.alarms,
			Unit:      100,
			Reference: afterFunc,
			Figure:    sampling.CPU,
			Shown:     []string{sampling.CPU, lateMedian, lateTail, latest, tooEarly, createCost},
			Budgets: []sampling.Budget{
				{Row: rowFire, Subject: pools.Cadre, Against: []string{afterFunc}, Most: 0.5},
				{Row: rowFire, Subject: pools.Cadre, Figure: lateMedian, Against: []string{afterFunc}, Most: 1.1},
				{Row: rowFire, Subject: pools.Cadre, Figure: lateTail, Against: []string{afterFunc}, Most: 1.1},
				{Row: rowFire, Subject: pools.Cadre, Figure: tooEarly, Most: 0},
			},
		}
		for _, kind := range alarmKinds() {
			if kind.name == endable {
				continue
			}
			w.Subjects = append(w.Subjects, sampling.Subject{Name: kind.name, Lacks: kind.lacks, Run: func(ops int) sampling.Sample {
				// A run at a small scale has the same rate of firings.
				return fire(kind, ops, load.window*time.Duration(ops)/time.Duration(load.alarms))
			}})
		}
		all = append(all, w)
	}
	return all
}

// fire creates all delays before the first is due, and meters from then on
// until the last has gone off. A callback is as late as it comes after the time
// of the call that made its delay, plus that delay.
func fire(kind alarmsKind, ops int, window time.Duration) sampling.Sample {
	a := kind.start()
	defer a.close()
	random := rand.New(rand.NewPCG(3, 4))
	due := make([]time.Duration, ops)
	late := make([]time.Duration, ops)
	var left atomic.Int64
	left.Store(int64(ops))
	done := make(chan struct{})
	runtime.GC()

	lead := 50*time.Millisecond + time.Duration(ops)*leadPerAlarm
	began := time.Now()
	for i := range ops {
		at := lead + time.Duration(random.Int64N(int64(window)))
		now := time.Since(began)
		d := max(at-now, time.Millisecond)
		due[i] = now + d
		a.fire(d, func() {
			late[i] = time.Since(began) - due[i]
			if left.Add(-1) == 0 {
				close(done)
			}
		})
	}
	created := time.Since(began)

	<-time.After(lead - created - 5*time.Millisecond)
	var m sampling.Meter
	m.Start()
	<-done
	m.Stop()

	slices.Sort(late)
	early, _ := slices.BinarySearch(late, 0)
	micros := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	s := m.Sample(ops)
	s.Ran = ops - int(left.Load())
	return s.With(lateMedian, micros(sampling.Quantile(late, 0.50))).
		With(lateTail, micros(sampling.Quantile(late, 0.99))).
		With(latest, micros(late[len(late)-1])).
		With(tooEarly, float64(early)).
		With(createCost, float64(created)/float64(ops))
}
