package sampling

import "math"

// Workload is one kind of operation, and who is measured doing it.
type Workload struct {
	Name  string // a path, such as post/workers=2/producers=8
	Title string // what is done, as a heading

	Ops  int // operations of one sample, at a scale of 1
	Unit int // Ops are a multiple of this, and at least this; 0 is 1

	Subjects []Subject
	Budgets  []Budget

	// Reference is the subject that all others are divided by in the tables.
	Reference string
	// Figure is what the ratio is of, and what is plotted; empty: Nanoseconds.
	Figure string
	// Shown are the figures in the tables; empty: those that a Meter has.
	Shown []string
	// Axis is what Subject.X counts, where subjects differ in it.
	Axis string
}

// Subject is one candidate on a workload.
type Subject struct {
	Name string
	// X is the size that this subject is measured at, in a workload that has an
	// Axis: one Name then stands for several subjects.
	X int
	// Lacks says what the subject does not do and the library under test does.
	Lacks string
	// Full says what a producer meets when there is no room, if there can be none.
	Full string
	// Apart says that Run starts a process of its own to measure in.
	Apart bool
	// Run builds what is measured, has it run ops operations and takes it down.
	// It panics if the subject breaks: there is no figure for that.
	Run func(ops int) Sample
}

// Main returns the figure that the workload is about.
func (w *Workload) Main() string {
	if w.Figure == "" {
		return Nanoseconds
	}
	return w.Figure
}

// Columns returns the figures to show.
func (w *Workload) Columns() []string {
	if len(w.Shown) == 0 {
		return []string{Nanoseconds, CPU, Allocs, Bytes}
	}
	return w.Shown
}

// Scaled returns the number of operations of one sample at a scale.
func (w *Workload) Scaled(scale float64) int {
	unit := max(w.Unit, 1)
	units := int(math.Round(float64(w.Ops) * scale / float64(unit)))
	return max(units, 1) * unit
}
