package report

import (
	"fmt"

	"github.com/cadre-go/cadre/bench/internal/sampling"
)

// Verdicts returns the table of all budgets and how they went.
func Verdicts(results []sampling.Result) Table {
	t := Table{
		Title: "Budgets",
		Head:  []string{"row", "workload", "budget", "measured", "verdict"},
		Left:  map[int]bool{1: true, 2: true, 4: true},
	}
	met, known := 0, 0
	for i := range results {
		for _, v := range results[i].Judge() {
			if v.Known {
				known++
			}
			if v.Met {
				met++
			}
			t.Rows = append(t.Rows, []string{v.Budget.Row, v.Workload, bound(&v.Budget), measured(&v), verdict(&v)})
		}
	}
	t.Note = fmt.Sprintf("%d of %d budgets that were measured are met.", met, known)
	return t
}

// bound says what the budget asks for.
func bound(b *sampling.Budget) string {
	switch {
	case b.Step > 0:
		return fmt.Sprintf("%s: steps <= %gx", b.Figure, b.Step)
	case b.Least > 0:
		return fmt.Sprintf("%s >= %s", b.Figure, number(b.Least))
	case len(b.Against) == 0:
		return fmt.Sprintf("%s <= %s", b.Figure, number(b.Most))
	}
	against := b.Against[0]
	if len(b.Against) > 1 {
		against = "the best rival"
	}
	if b.Clean != "" {
		against += " without " + b.Clean
	}
	return fmt.Sprintf("%s <= %gx %s", b.Figure, b.Most, against)
}

func measured(v *sampling.Verdict) string {
	switch {
	case !v.Known:
		return absent
	case v.Budget.Step > 0:
		return factor(v.Measured) + ", " + v.Where
	case len(v.Budget.Against) > 1:
		return factor(v.Measured) + " " + v.Where
	case len(v.Budget.Against) == 1:
		return factor(v.Measured)
	}
	return number(v.Measured)
}

func verdict(v *sampling.Verdict) string {
	switch {
	case !v.Known:
		return "not measured"
	case v.Met:
		return "met"
	case v.By > 0:
		return "not met, by " + factor(v.By)
	}
	return "not met"
}
