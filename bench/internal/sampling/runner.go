package sampling

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Runner takes samples.
type Runner struct {
	Rounds  int     // samples of each subject
	Scale   float64 // of the workloads' operations
	Seed    uint64  // of the order of subjects
	Retries int     // how often samples of one subject are taken again that others disturbed

	// Take takes a sample of a subject, given by its index; nil: Run does.
	Take func(w *Workload, subject, ops int) (Sample, error)
	// Sampled is told of each sample as it is taken; nil: nobody is.
	Sampled func(w *Workload, round int, s *Subject)
}

// quiet is the share of the machine that others may take before a sample is
// taken again.
const quiet = 0.12

// Run measures all subjects of w: in each round every subject once, in an order
// of the round's own.
func (r *Runner) Run(w Workload) (Result, error) {
	result := Result{Workload: w, Ops: w.Scaled(r.Scale), Rows: make([]Row, len(w.Subjects))}
	random := rand.New(rand.NewPCG(r.Seed, uint64(len(w.Name))))
	for i, s := range w.Subjects {
		result.Rows[i].Subject = s
	}
	retries := make([]int, len(w.Subjects))
	for i := range retries {
		retries[i] = r.Retries
	}
	for round := range r.Rounds {
		for _, i := range random.Perm(len(w.Subjects)) {
			row := &result.Rows[i]
			s, err := r.sample(&w, i, result.Ops, &retries[i])
			if err != nil {
				return result, fmt.Errorf("%s, %s: %w", w.Name, row.Subject.Name, err)
			}
			row.Samples = append(row.Samples, s)
			if r.Sampled != nil {
				r.Sampled(&w, round, &row.Subject)
			}
		}
	}
	return result, nil
}

// sample takes one sample, and another if that was disturbed and retries are
// left, and keeps the quieter.
func (r *Runner) sample(w *Workload, subject, ops int, retries *int) (Sample, error) {
	first, err := r.take(w, subject, ops)
	if err != nil || first.Others <= quiet || *retries == 0 {
		return first, err
	}
	*retries--
	// What disturbed the sample may have passed in a moment.
	<-time.After(20 * time.Millisecond)
	again, err := r.take(w, subject, ops)
	if err != nil || again.Others < first.Others {
		return again, err
	}
	return first, nil
}

func (r *Runner) take(w *Workload, subject, ops int) (Sample, error) {
	s, err := Sample{}, error(nil)
	if r.Take != nil {
		s, err = r.Take(w, subject, ops)
	} else {
		s = w.Subjects[subject].Run(ops)
	}
	if err == nil && s.Ran != ops {
		err = fmt.Errorf("%d of %d operations ran", s.Ran, ops)
	}
	return s, err
}
