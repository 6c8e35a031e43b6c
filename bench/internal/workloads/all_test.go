package workloads

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-go/cadre/bench/internal/sampling"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := Clean(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// A tenth of a thousandth leaves each workload its smallest unit, or nearly.
const tiny = 0.0001

func TestEverySubjectRunsAllItsOperations(t *testing.T) {
	for _, w := range All() {
		t.Run(w.Name, func(t *testing.T) {
			ops := w.Scaled(tiny)
			for _, s := range w.Subjects {
				sample := s.Run(ops)
				if sample.Ran != ops {
					t.Errorf("%s at %d: %d of %d operations ran", s.Name, s.X, sample.Ran, ops)
				}
				if _, ok := sample.Figures[w.Main()]; !ok {
					t.Errorf("%s at %d has no %s", s.Name, s.X, w.Main())
				}
			}
		})
	}
}

func TestEveryBudgetCanBeJudged(t *testing.T) {
	for _, w := range All() {
		names := make([]string, len(w.Subjects))
		for i, s := range w.Subjects {
			names[i] = s.Name
		}
		if !slices.Contains(names, w.Reference) {
			t.Errorf("%s has the reference %q and no such subject", w.Name, w.Reference)
		}
		for _, b := range w.Budgets {
			if b.Row == "" || !slices.Contains(names, b.Subject) {
				t.Errorf("%s has a budget of row %q for %q", w.Name, b.Row, b.Subject)
			}
			for _, rival := range b.Against {
				if !slices.Contains(names, rival) {
					t.Errorf("%s has no subject %q to divide by", w.Name, rival)
				}
			}
			if b.Figure != "" && !slices.Contains(append(w.Columns(), w.Main()), b.Figure) {
				t.Errorf("%s has a budget for %q, which is not shown", w.Name, b.Figure)
			}
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := make(map[string]bool)
	for _, w := range All() {
		if seen[w.Name] || strings.ContainsAny(w.Name, " |") {
			t.Errorf("the name %q", w.Name)
		}
		seen[w.Name] = true
		subjects := make(map[string]bool)
		for _, s := range w.Subjects {
			key := fmt.Sprint(s.Name, "@", s.X)
			if subjects[key] {
				t.Errorf("%s has the subject %s twice", w.Name, key)
			}
			subjects[key] = true
		}
	}
}

func TestSizesDouble(t *testing.T) {
	for _, w := range All() {
		if w.Axis == "" {
			continue
		}
		sizes := make(map[string]int)
		for _, s := range w.Subjects {
			if last := sizes[s.Name]; last != 0 && s.X != 2*last {
				t.Errorf("%s goes from %d to %d", w.Name, last, s.X)
			}
			sizes[s.Name] = s.X
		}
	}
}

func TestResultsOfARunAreComplete(t *testing.T) {
	for _, w := range posts()[:1] {
		r := sampling.Runner{Rounds: 2, Scale: tiny}
		result, err := r.Run(w)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range result.Judge() {
			if !v.Known {
				t.Errorf("%+v is not known", v)
			}
		}
	}
}
