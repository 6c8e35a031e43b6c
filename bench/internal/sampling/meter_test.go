package sampling

import "testing"

var sink []byte

func TestMeterCountsItsIntervalsOnly(t *testing.T) {
	const ops, size = 64, 4096
	var m Meter
	for range ops {
		sink = make([]byte, size)
		m.Start()
		sink = make([]byte, size)
		m.Stop()
		sink = make([]byte, size)
	}
	s := m.Sample(ops)
	if s.Ran != ops {
		t.Errorf("%d operations ran", s.Ran)
	}
	if got := s.Figures[Allocs]; got != 1 {
		t.Errorf("%v allocations an operation", got)
	}
	if got := s.Figures[Bytes]; got != size {
		t.Errorf("%v bytes an operation", got)
	}
	if s.Figures[Nanoseconds] <= 0 || m.Wall() <= 0 {
		t.Errorf("no time has passed: %v", s.Figures)
	}
}

func TestMeasureRunsOnce(t *testing.T) {
	ran := 0
	s := Measure(10, func() { ran++ })
	if ran != 1 || s.Ran != 10 {
		t.Errorf("the function ran %d times for %d operations", ran, s.Ran)
	}
}
