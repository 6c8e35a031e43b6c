package schedule

// Series is the account of the ticks of something periodic: they lie at a
// fixed rate on one grid, start + k*interval, and each becomes either a run or
// a miss.
//
// Invariant: runs + missed = decided, and no tick after now is decided.
type Series struct {
	start, interval int64

	decided uint64 // ticks 1..decided have become a run or a miss
	runs    uint64
	missed  uint64
	running bool
	stopped bool
}

// NewSeries returns the account of ticks whose first one is interval, which is
// positive, after start.
func NewSeries(start, interval int64) Series {
	return Series{start: start, interval: interval}
}

// Runs, Missed, Running and Stopped tell where the account stands.
func (s *Series) Runs() uint64   { return s.runs }
func (s *Series) Missed() uint64 { return s.missed }
func (s *Series) Running() bool  { return s.running }
func (s *Series) Stopped() bool  { return s.stopped }

// Next returns the instant of the first tick that is undecided.
func (s *Series) Next() int64 {
	k := s.decided + 1
	// start may be negative, so the room above it may need all 64 bits.
	if room := uint64(Never) - uint64(s.start); k > room/uint64(s.interval) {
		return Never
	}
	return int64(uint64(s.start) + k*uint64(s.interval))
}

// due returns how many ticks there are up to now.
func (s *Series) due(now int64) uint64 {
	if now < s.start {
		return 0
	}
	return (uint64(now) - uint64(s.start)) / uint64(s.interval)
}

// miss counts every undecided tick up to the last one as missed. A clock that
// was set back finds nothing to count.
func (s *Series) miss(last uint64) {
	last = max(last, s.decided)
	s.missed += last - s.decided
	s.decided = last
}

// Look counts the ticks that are lost by now: all that a run in progress has
// overlapped, else all but the last, which can still become a run.
func (s *Series) Look(now int64) {
	last := s.due(now)
	if !s.running && last > 0 {
		last--
	}
	if !s.stopped {
		s.miss(last)
	}
}

// Begin makes a run of the last tick up to now and a miss of each before. It
// returns false if no tick is undecided, which is so when the clock was set
// back, or if the series is stopped or runs.
func (s *Series) Begin(now int64) bool {
	if s.stopped || s.running {
		return false
	}
	s.Look(now)
	if s.due(now) <= s.decided {
		return false
	}
	s.decided++
	s.runs++
	s.running = true
	return true
}

// End ends the run. The ticks that it has overlapped are missed.
func (s *Series) End(now int64) {
	s.Look(now)
	s.running = false
}

// Refuse makes a miss of the run that Begin has made: it could not start.
func (s *Series) Refuse() {
	s.runs--
	s.missed++
	s.running = false
}

// Stop ends the series: all ticks up to now are decided, none after it will
// be. A run in progress goes on.
func (s *Series) Stop(now int64) {
	if !s.stopped {
		s.miss(s.due(now))
		s.stopped = true
	}
}
