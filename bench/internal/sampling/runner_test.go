package sampling

import (
	"errors"
	"slices"
	"testing"
)

// recorder is a workload of subjects that note when they are run.
func recorder(names string, ran *[]string) Workload {
	w := Workload{Name: "recorder", Ops: 10}
	for _, name := range names {
		w.Subjects = append(w.Subjects, Subject{Name: string(name), Run: func(ops int) Sample {
			*ran = append(*ran, string(name))
			return Sample{Ran: ops}
		}})
	}
	return w
}

func mustRun(t *testing.T, r *Runner, w Workload) Result {
	t.Helper()
	result, err := r.Run(w)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestRunnerRefusesASampleThatDidNotRun(t *testing.T) {
	w := Workload{Ops: 10, Subjects: []Subject{{Name: "A", Run: func(ops int) Sample { return Sample{Ran: ops - 1} }}}}
	r := Runner{Rounds: 1, Scale: 1}
	if _, err := r.Run(w); err == nil {
		t.Error("no error")
	}
}

func TestRunnerTakesSamplesElsewhere(t *testing.T) {
	var ran []string
	failure := errors.New("no such place")
	r := Runner{Rounds: 1, Scale: 1, Take: func(w *Workload, subject, ops int) (Sample, error) {
		if subject == 1 {
			return Sample{}, failure
		}
		return Sample{Ran: ops}, nil
	}}
	if _, err := r.Run(recorder("AB", &ran)); !errors.Is(err, failure) || len(ran) > 0 {
		t.Errorf("the error is %v, and %v ran here", err, ran)
	}
}

func TestRunnerInterleavesSubjects(t *testing.T) {
	const names, rounds = "ABCDE", 8
	var ran []string
	r := Runner{Rounds: rounds, Scale: 1, Seed: 7}
	result := mustRun(t, &r, recorder(names, &ran))

	if len(ran) != rounds*len(names) {
		t.Fatalf("%d samples were taken", len(ran))
	}
	orders := make(map[string]bool)
	for round := range slices.Chunk(ran, len(names)) {
		order := ""
		for _, name := range round {
			order += name
		}
		orders[order] = true
		slices.Sort(round)
		if !slices.Equal(round, []string{"A", "B", "C", "D", "E"}) {
			t.Errorf("a round has the subjects %v", round)
		}
	}
	if len(orders) < 2 {
		t.Errorf("every round has the order %v", orders)
	}
	for _, row := range result.Rows {
		if len(row.Samples) != rounds {
			t.Errorf("%s has %d samples", row.Subject.Name, len(row.Samples))
		}
	}
}

func TestRunnerRepeatsAnOrderByItsSeed(t *testing.T) {
	var one, two []string
	r := Runner{Rounds: 4, Scale: 1, Seed: 3}
	mustRun(t, &r, recorder("ABCDEF", &one))
	mustRun(t, &r, recorder("ABCDEF", &two))
	if !slices.Equal(one, two) {
		t.Errorf("one seed gave %v and %v", one, two)
	}
}

func TestRunnerTakesDisturbedSamplesAgain(t *testing.T) {
	others := []float64{0.5, 0.3, 0.6, 0.7, 0.8}
	tries := 0
	w := Workload{Ops: 1, Subjects: []Subject{{Name: "A", Run: func(ops int) Sample {
		s := Sample{Ran: ops, Others: others[tries]}
		tries++
		return s
	}}}}
	r := Runner{Rounds: 3, Scale: 1, Retries: 2}
	result := mustRun(t, &r, w)
	var kept []float64
	for _, s := range result.Rows[0].Samples {
		kept = append(kept, s.Others)
	}
	// Two retries for the first two samples, none for the third.
	if want := []float64{0.3, 0.6, 0.8}; tries != 5 || !slices.Equal(kept, want) {
		t.Errorf("after %d tries samples were kept of which others took %v", tries, kept)
	}
}

func TestRunnerTakesAQuietSampleOnce(t *testing.T) {
	var ran []string
	r := Runner{Rounds: 1, Scale: 1, Retries: 5}
	mustRun(t, &r, recorder("A", &ran))
	if len(ran) != 1 {
		t.Errorf("a quiet sample was taken %d times", len(ran))
	}
}

func TestRunnerReportsEachSample(t *testing.T) {
	var ran []string
	told := 0
	r := Runner{Rounds: 2, Scale: 1, Sampled: func(*Workload, int, *Subject) { told++ }}
	mustRun(t, &r, recorder("ABC", &ran))
	if told != 6 {
		t.Errorf("%d of 6 samples were reported", told)
	}
}

func TestScaledIsAMultipleOfTheUnit(t *testing.T) {
	for _, c := range []struct {
		ops, unit int
		scale     float64
		want      int
	}{
		{1000, 0, 1, 1000},
		{1000, 8, 0.5, 504},
		{1000, 64, 0.001, 64},
		{1000, 1, 0.0001, 1},
	} {
		w := Workload{Ops: c.ops, Unit: c.unit}
		if got := w.Scaled(c.scale); got != c.want {
			t.Errorf("%d operations in units of %d at %v are %d, not %d", c.ops, c.unit, c.scale, got, c.want)
		}
	}
}
