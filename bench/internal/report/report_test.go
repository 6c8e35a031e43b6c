package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cadre-go/cadre/bench/internal/sampling"
)

func subject(name string, x int, values ...float64) sampling.Row {
	row := sampling.Row{Subject: sampling.Subject{Name: name, X: x, Lacks: "much of " + name}}
	for _, v := range values {
		row.Samples = append(row.Samples, sampling.Sample{}.With(sampling.Nanoseconds, v))
	}
	return row
}

func example() *Run {
	ranked := sampling.Workload{
		Name: "post/one", Title: "posting", Reference: "theirs", Shown: []string{sampling.Nanoseconds, "extra"},
		Subjects: []sampling.Subject{{Name: "theirs", Lacks: "order", Full: "waits"}},
		Budgets: []sampling.Budget{
			{Row: "posting", Subject: "ours", Against: []string{"theirs"}, Most: 0.5},
			{Row: "posting", Subject: "ours", Against: []string{"theirs"}, Most: 0.1},
			{Row: "posting", Subject: "ours", Figure: "extra", Most: 1},
		},
	}
	swept := sampling.Workload{
		Name: "growth/post", Title: "growth of posting", Reference: "theirs", Axis: "producers",
		Budgets: []sampling.Budget{{Row: "growth", Subject: "ours", Step: 1.5}},
	}
	return &Run{
		Head: [][2]string{{"machine", "of paper"}},
		Results: []sampling.Result{
			{Workload: ranked, Ops: 7, Rows: []sampling.Row{subject("theirs", 0, 200), subject("ours", 0, 90, 50, 40)}},
			{Workload: swept, Ops: 7, Rows: []sampling.Row{
				subject("ours", 1, 10), subject("theirs", 1, 20), subject("ours", 2, 20), subject("theirs", 2, 30),
			}},
		},
	}
}

func TestTextHasMediansRatiosAndVerdicts(t *testing.T) {
	var out bytes.Buffer
	example().Text(&out)
	text := out.String()
	for _, want := range []string{
		"machine: of paper", "posting", "50.0", "0.25", "40.0..90.0",
		"met", "not met, by 2.50x", "not measured", "2.00x, rises from 1 to 2 producers",
		"2 ", "1 of 3 budgets that were measured are met.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Index(text, "ours  ") > strings.Index(text, "theirs  ") {
		t.Errorf("the best subject is not first in\n%s", text)
	}
}

func TestMarkdownLinksPlots(t *testing.T) {
	var out bytes.Buffer
	example().Markdown(&out, func(r *sampling.Result) string {
		if r.Workload.Axis == "" {
			return ""
		}
		return "plots/x.svg"
	})
	text := out.String()
	for _, want := range []string{
		"- machine: of paper", "| subject | ns/op | extra | ratio |", "| ours | 50.0 | – | 0.25 |",
		"![growth of posting](plots/x.svg)", "| post | theirs | waits | order |", "| 2 | 20.0 | 2.00 | 30.0 | 1.50 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Count(text, "![") != 1 {
		t.Errorf("a result without an axis has a plot in\n%s", text)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", 0.25: "0.25", 12.34: "12.3", 1234.6: "1235", -3.21: "-3.21"} {
		if got := number(v); got != want {
			t.Errorf("%v is written %s", v, got)
		}
	}
}

func TestMachineSaysWhatARunWasMadeOn(t *testing.T) {
	for _, line := range Machine() {
		if line[0] == "" || line[1] == "" {
			t.Errorf("the line %q", line)
		}
	}
}
