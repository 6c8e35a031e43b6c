// Package sampling measures subjects side by side on one workload, and judges
// what it measured by budgets.
//
// A Workload names its operations, its Subjects and its Budgets. A Runner takes
// samples of all subjects in rounds, in a new order each round, so that a
// disturbance of the machine meets all of them alike. A Result has the samples,
// their medians and the verdicts.
//
// Less formally: A B C, B C A, C A B, and then the middle figure of each.
package sampling

// The figures that every sample of a Meter has, and one that it has not.
// Subjects add others.
const (
	Nanoseconds = "ns/op"
	CPU         = "cpu ns/op"
	Allocs      = "allocs/op"
	Bytes       = "B/op"

	// PerObject is what an object that is kept takes, where that is measured.
	PerObject = "B/object"
)

// Sample is one measurement of one subject.
type Sample struct {
	// Ran is how many operations ran to their end, as the subject counted.
	Ran int
	// Others is the share of the machine that other processes took meanwhile.
	Others float64
	// Figures are what was measured, by name; all but rates are the better the
	// smaller.
	Figures map[string]float64
}

// With returns the sample with one more figure.
func (s Sample) With(figure string, value float64) Sample {
	if s.Figures == nil {
		s.Figures = make(map[string]float64)
	}
	s.Figures[figure] = value
	return s
}
