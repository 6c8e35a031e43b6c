package sampling

import (
	"math"
	"testing"
)

// measured makes a result: for each subject the values of one figure.
func measured(figure string, values map[string][]float64) *Result {
	r := &Result{Workload: Workload{Name: "w", Reference: "ref", Figure: figure}}
	for name, samples := range values {
		row := Row{Subject: Subject{Name: name}}
		for _, v := range samples {
			row.Samples = append(row.Samples, Sample{}.With(figure, v))
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func judge(t *testing.T, r *Result, b Budget) Verdict {
	t.Helper()
	r.Workload.Budgets = []Budget{b}
	verdicts := r.Judge()
	if len(verdicts) != 1 {
		t.Fatalf("%d verdicts on one budget", len(verdicts))
	}
	return verdicts[0]
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestJudgeDividesByTheBestRival(t *testing.T) {
	r := measured(Nanoseconds, map[string][]float64{
		"own": {90, 100, 500}, "ref": {210, 200, 190}, "slow": {400, 400, 400}, "bystander": {1, 1, 1},
	})
	v := judge(t, r, Budget{Subject: "own", Against: []string{"slow", "ref", "own"}, Most: 0.5})
	if !v.Known || !v.Met || v.Where != "ref" || !near(v.Measured, 0.5) {
		t.Errorf("at the bound the verdict is %+v", v)
	}
	v = judge(t, r, Budget{Subject: "own", Against: []string{"ref"}, Most: 0.25})
	if v.Met || !near(v.By, 2) {
		t.Errorf("at twice the bound the verdict is %+v", v)
	}
}

func TestJudgeCountsCleanRivalsOnly(t *testing.T) {
	r := measured(Nanoseconds, map[string][]float64{"own": {100}, "fast": {50}, "orderly": {100}})
	for i := range r.Rows {
		dirt := 0.0
		if r.Rows[i].Subject.Name == "fast" {
			dirt = 3
		}
		r.Rows[i].Samples[0].With("dirt", dirt)
	}
	v := judge(t, r, Budget{Subject: "own", Against: []string{"fast", "orderly"}, Clean: "dirt", Most: 1})
	if !v.Met || v.Where != "orderly" {
		t.Errorf("the verdict is %+v", v)
	}
}

func TestJudgeAbsoluteBounds(t *testing.T) {
	r := measured("cycles/s", map[string][]float64{"own": {50}})
	if v := judge(t, r, Budget{Subject: "own", Least: 50}); !v.Met {
		t.Errorf("a rate at its bound: %+v", v)
	}
	if v := judge(t, r, Budget{Subject: "own", Least: 100}); v.Met || !near(v.By, 2) {
		t.Errorf("a rate of half its bound: %+v", v)
	}
	if v := judge(t, r, Budget{Subject: "own", Most: 25}); v.Met || !near(v.By, 2) {
		t.Errorf("a cost of twice its bound: %+v", v)
	}
	if v := judge(t, r, Budget{Subject: "own", Most: 0}); v.Met || v.By != 0 {
		t.Errorf("a cost where none is allowed: %+v", v)
	}
}

func TestJudgeCountsWholeAllocations(t *testing.T) {
	r := measured(Allocs, map[string][]float64{"own": {1.004}})
	if v := judge(t, r, Budget{Subject: "own", Figure: Allocs, Most: 1}); !v.Met {
		t.Errorf("one allocation and the workload's own: %+v", v)
	}
	r = measured(Allocs, map[string][]float64{"own": {2}})
	if v := judge(t, r, Budget{Subject: "own", Figure: Allocs, Most: 1}); v.Met {
		t.Errorf("two allocations: %+v", v)
	}
}

func TestJudgeSaysWhatIsNotKnown(t *testing.T) {
	r := measured(Nanoseconds, map[string][]float64{"own": {1}})
	for _, b := range []Budget{
		{Subject: "nobody", Most: 1},
		{Subject: "own", Against: []string{"nobody"}, Most: 1},
		{Subject: "own", Figure: "nothing", Most: 1},
		{Subject: "own", Step: 1.5},
	} {
		if v := judge(t, r, b); v.Known || v.Met {
			t.Errorf("%+v has the verdict %+v", b, v)
		}
	}
}

// series makes a result of one subject at sizes that double.
func series(values ...float64) *Result {
	r := &Result{Workload: Workload{Axis: "entries"}}
	for i := len(values) - 1; i >= 0; i-- {
		row := Row{Subject: Subject{Name: "own", X: 1 << i}}
		row.Samples = append(row.Samples, Sample{}.With(Nanoseconds, values[i]))
		r.Rows = append(r.Rows, row)
	}
	return r
}

func TestJudgeFindsTheGreatestStep(t *testing.T) {
	v := judge(t, series(100, 110, 165, 160), Budget{Subject: "own", Step: 1.5})
	if !v.Met || !near(v.Measured, 1.5) || v.Where != "rises from 2 to 4 entries" {
		t.Errorf("a step at the bound: %+v", v)
	}
	v = judge(t, series(100, 25, 30), Budget{Subject: "own", Step: 1.5})
	if v.Met || !near(v.Measured, 4) || v.Where != "falls from 1 to 2 entries" {
		t.Errorf("a fall: %+v", v)
	}
}

func TestRatioIsToTheReferenceOfTheSameSize(t *testing.T) {
	r := series(100, 300)
	r.Workload.Reference = "ref"
	for size, value := range map[int]float64{1: 50, 2: 100} {
		row := Row{Subject: Subject{Name: "ref", X: size}}
		row.Samples = append(row.Samples, Sample{}.With(Nanoseconds, value))
		r.Rows = append(r.Rows, row)
	}
	for _, row := range r.Series("own") {
		want := map[int]float64{1: 2, 2: 3}[row.Subject.X]
		if got, ok := r.Ratio(row); !ok || !near(got, want) {
			t.Errorf("at %d the ratio is %v", row.Subject.X, got)
		}
	}
}
