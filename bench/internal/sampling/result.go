package sampling

import "slices"

// Result is what was measured on one workload.
type Result struct {
	Workload Workload
	Ops      int   // of one sample
	Rows     []Row // in the order of the workload's subjects
}

// Row is the samples of one subject.
type Row struct {
	Subject Subject
	Samples []Sample
}

// values returns a figure of every sample that has it.
func (r *Row) values(figure string) []float64 {
	var values []float64
	for _, s := range r.Samples {
		if v, ok := s.Figures[figure]; ok {
			values = append(values, v)
		}
	}
	return values
}

// Median returns the median of a figure, and whether any sample has it.
func (r *Row) Median(figure string) (float64, bool) {
	values := r.values(figure)
	return Median(values), len(values) > 0
}

// Range returns the least and the greatest value of a figure.
func (r *Row) Range(figure string) (least, most float64) {
	values := r.values(figure)
	if len(values) == 0 {
		return 0, 0
	}
	return slices.Min(values), slices.Max(values)
}

// Others returns the median share of the machine that others took.
func (r *Row) Others() float64 {
	var shares []float64
	for _, s := range r.Samples {
		shares = append(shares, s.Others)
	}
	return Median(shares)
}

// Row returns the row of a subject, the first if it was measured at several
// sizes, or nil.
func (r *Result) Row(subject string) *Row {
	for i := range r.Rows {
		if r.Rows[i].Subject.Name == subject {
			return &r.Rows[i]
		}
	}
	return nil
}

// Series returns the rows of a subject by size.
func (r *Result) Series(subject string) []*Row {
	var rows []*Row
	for i := range r.Rows {
		if r.Rows[i].Subject.Name == subject {
			rows = append(rows, &r.Rows[i])
		}
	}
	slices.SortFunc(rows, func(a, b *Row) int { return a.Subject.X - b.Subject.X })
	return rows
}

// Names returns the names of the subjects, each once, in order.
func (r *Result) Names() []string {
	var names []string
	for _, row := range r.Rows {
		if !slices.Contains(names, row.Subject.Name) {
			names = append(names, row.Subject.Name)
		}
	}
	return names
}

// Ratio returns the median of the workload's figure of row over that of its
// reference at the same size, or false if there is none.
func (r *Result) Ratio(row *Row) (float64, bool) {
	figure := r.Workload.Main()
	for _, ref := range r.Series(r.Workload.Reference) {
		if ref.Subject.X != row.Subject.X {
			continue
		}
		over, ok := row.Median(figure)
		under, known := ref.Median(figure)
		if ok && known && under > 0 {
			return over / under, true
		}
	}
	return 0, false
}
