package sampling

import (
	"fmt"
	"math"
	"slices"
)

// Budget is one bound on one figure of one subject. Exactly one of Most, Least
// and Step is meant: Least if it is set, else Step if that is, else Most.
type Budget struct {
	Row     string // the row of the table of budgets
	Subject string
	Figure  string // empty: the workload's

	// Against are the subjects that the figure is divided by the least of.
	// None: the bound is absolute.
	Against []string
	// Clean, if set, is a figure that has to be 0 in every sample of a subject
	// for it to count among Against.
	Clean string

	Most  float64 // the ratio, or the figure, is at most this
	Least float64 // the figure is at least this
	Step  float64 // neighbors on the workload's axis differ by at most this factor
}

// Verdict is a budget and how it went.
type Verdict struct {
	Budget   Budget
	Workload string
	Known    bool    // whether all that it takes was measured
	Measured float64 // the ratio, figure or greatest step
	Where    string  // the subject that it was divided by, or the step
	Met      bool
	By       float64 // how many times the bound it is off, where it is not met
}

// Judge returns a verdict for each budget of the workload.
func (r *Result) Judge() []Verdict {
	var verdicts []Verdict
	for _, b := range r.Workload.Budgets {
		if b.Figure == "" {
			b.Figure = r.Workload.Main()
		}
		v := Verdict{Budget: b, Workload: r.Workload.Name}
		switch {
		case b.Step > 0:
			r.judgeStep(&v)
		case b.Least > 0:
			v.Measured, v.Known = r.median(b.Subject, b.Figure)
			v.Met = v.Known && v.Measured >= b.Least
			if v.Known && !v.Met {
				v.By = b.Least / v.Measured
			}
		default:
			r.judgeMost(&v)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// median returns a figure of a subject. Allocations and bytes are whole
// numbers, rounded down as by package testing: what is left over are the
// goroutines and channels of the workload itself.
func (r *Result) median(subject, figure string) (float64, bool) {
	row := r.Row(subject)
	if row == nil {
		return 0, false
	}
	v, ok := row.Median(figure)
	if figure == Allocs || figure == Bytes || figure == PerObject {
		v = math.Floor(v)
	}
	return v, ok
}

func (r *Result) judgeMost(v *Verdict) {
	b := &v.Budget
	v.Measured, v.Known = r.median(b.Subject, b.Figure)
	if len(b.Against) > 0 {
		best, who := r.best(b)
		v.Known = v.Known && who != "" && best > 0
		if !v.Known {
			return
		}
		v.Measured, v.Where = v.Measured/best, who
	}
	v.Met = v.Known && v.Measured <= b.Most
	if v.Known && !v.Met && b.Most > 0 {
		v.By = v.Measured / b.Most
	}
}

// best returns the least figure of the rivals that count, and whose it is.
func (r *Result) best(b *Budget) (best float64, who string) {
	for i := range r.Rows {
		row := &r.Rows[i]
		name := row.Subject.Name
		if name == b.Subject || !slices.Contains(b.Against, name) {
			continue
		}
		if b.Clean != "" {
			values := row.values(b.Clean)
			if len(values) == 0 || slices.Max(values) != 0 {
				continue
			}
		}
		if v, ok := row.Median(b.Figure); ok && (who == "" || v < best) {
			best, who = v, name
		}
	}
	return best, who
}

// judgeStep looks for the neighbors that differ most, in either direction.
func (r *Result) judgeStep(v *Verdict) {
	b := &v.Budget
	series := r.Series(b.Subject)
	for i := 1; i < len(series); i++ {
		before, ok := series[i-1].Median(b.Figure)
		after, known := series[i].Median(b.Figure)
		if !ok || !known || before <= 0 || after <= 0 {
			continue
		}
		v.Known = true
		step, verb := after/before, "rises"
		if step < 1 {
			step, verb = 1/step, "falls"
		}
		if step > v.Measured {
			v.Measured = step
			v.Where = fmt.Sprintf("%s from %d to %d %s", verb, series[i-1].Subject.X, series[i].Subject.X, r.Workload.Axis)
		}
	}
	v.Met = v.Known && v.Measured <= b.Step
	if v.Known && !v.Met {
		v.By = v.Measured / b.Step
	}
}
