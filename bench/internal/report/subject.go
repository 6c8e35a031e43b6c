package report

import (
	"cmp"
	"strings"

	"github.com/cadre-go/cadre/bench/internal/sampling"
)

// Subjects returns the table of what each subject lacks, by kind of workload.
func Subjects(workloads []sampling.Workload) Table {
	t := Table{
		Title: "What each subject lacks",
		Note:  "Beside the subject under test, which does all that its package promises in every row.",
		Head:  []string{"workload", "subject", "when full", "lacks"},
		Left:  map[int]bool{1: true, 2: true, 3: true},
	}
	type key struct{ area, name string }
	seen := make(map[key]bool)
	for _, w := range workloads {
		area, _, _ := strings.Cut(w.Name, "/")
		if area == "burst" || area == "memory" || area == "growth" {
			continue // the subjects of others
		}
		for _, s := range w.Subjects {
			if k := (key{area, s.Name}); s.Lacks != "" && !seen[k] {
				seen[k] = true
				t.Rows = append(t.Rows, []string{area, s.Name, cmp.Or(s.Full, absent), s.Lacks})
			}
		}
	}
	return t
}
