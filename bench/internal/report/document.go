package report

import (
	"fmt"
	"io"

	"github.com/cadre-go/cadre/bench/internal/sampling"
)

// Run is a whole run: what it was made on, and what it measured.
type Run struct {
	Head    [][2]string // lines of name and value
	Results []sampling.Result
}

// Text writes the run for a terminal.
func (r *Run) Text(w io.Writer) {
	for _, line := range r.Head {
		fmt.Fprintf(w, "%s: %s\n", line[0], line[1])
	}
	for _, t := range r.tables() {
		t.Text(w)
	}
	verdicts := Verdicts(r.Results)
	verdicts.Text(w)
}

// Markdown writes the run as a document. plot returns the path of a result's
// picture, or nothing.
func (r *Run) Markdown(w io.Writer, plot func(*sampling.Result) string) {
	fmt.Fprint(w, "# Results\n\nOne run of `make bench`; [README.md](README.md) says how to read it.\n\n")
	for _, line := range r.Head {
		fmt.Fprintf(w, "- %s: %s\n", line[0], line[1])
	}
	verdicts := Verdicts(r.Results)
	verdicts.Markdown(w, 2)
	fmt.Fprint(w, "\n## Medians and ratios\n")
	for i, t := range r.tables() {
		t.Markdown(w, 3)
		if path := plot(&r.Results[i]); path != "" {
			fmt.Fprintf(w, "\n![%s](%s)\n", t.Title, path)
		}
	}
	subjects := Subjects(r.workloads())
	subjects.Markdown(w, 2)
}

func (r *Run) tables() []Table {
	tables := make([]Table, len(r.Results))
	for i := range r.Results {
		tables[i] = Result(&r.Results[i])
	}
	return tables
}

func (r *Run) workloads() []sampling.Workload {
	workloads := make([]sampling.Workload, len(r.Results))
	for i := range r.Results {
		workloads[i] = r.Results[i].Workload
	}
	return workloads
}
