package sampling

import (
	"runtime"
	"time"
)

// Meter adds up what passes between each Start and the Stop that follows: wall
// time, the CPU time of the process, allocations, and how busy others kept the
// machine. The zero Meter is ready.
type Meter struct {
	wall, cpu      time.Duration
	mallocs, bytes uint64
	others         time.Duration

	began     time.Time
	beganCPU  time.Duration
	beganBusy time.Duration
	beganMem  runtime.MemStats
}

// Start begins an interval. What reading the counters costs is outside of it.
func (m *Meter) Start() {
	m.beganBusy = machineCPU()
	runtime.ReadMemStats(&m.beganMem)
	m.beganCPU = processCPU()
	m.began = time.Now()
}

// Stop ends the interval.
func (m *Meter) Stop() {
	wall := time.Since(m.began)
	cpu := processCPU() - m.beganCPU
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	busy := machineCPU() - m.beganBusy
	m.wall += wall
	m.cpu += cpu
	m.others += busy - cpu
	m.mallocs += mem.Mallocs - m.beganMem.Mallocs
	m.bytes += mem.TotalAlloc - m.beganMem.TotalAlloc
}

// Wall returns the wall time so far.
func (m *Meter) Wall() time.Duration { return m.wall }

// Sample divides the sums by ops, which have run.
func (m *Meter) Sample(ops int) Sample {
	n := float64(ops)
	s := Sample{Ran: ops, Figures: map[string]float64{
		Nanoseconds: float64(m.wall) / n,
		CPU:         float64(m.cpu) / n,
		Allocs:      float64(m.mallocs) / n,
		Bytes:       float64(m.bytes) / n,
	}}
	// The kernel counts in ticks of 10 ms, so a short interval says nothing.
	if m.wall >= 4*tick {
		s.Others = max(0, float64(m.others)/float64(m.wall)/float64(runtime.NumCPU()))
	}
	return s
}

// Measure collects garbage, so that no subject pays for the one before, and
// meters f, which runs ops operations.
func Measure(ops int, f func()) Sample {
	runtime.GC()
	var m Meter
	m.Start()
	f()
	m.Stop()
	return m.Sample(ops)
}
