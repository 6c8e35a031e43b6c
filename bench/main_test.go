package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-go/cadre/bench/internal/sampling"
)

func TestRunWritesResultsAndPlots(t *testing.T) {
	dir := t.TempDir()
	err := run(&settings{
		pattern: "^future/settled$|^growth/supervised/submitters$",
		out:     dir,
		runner:  sampling.Runner{Rounds: 1, Scale: 0.0001},
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	const plot = "plots/supervised-submitters.svg"
	for _, want := range []string{"GOMAXPROCS", "commit", "## Budgets", "future/settled", "(" + plot + ")"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("RESULTS.md does not say %q", want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, plot)); err != nil {
		t.Error(err)
	}
}

func TestRunRefusesBadSettings(t *testing.T) {
	good := sampling.Runner{Rounds: 1, Scale: 1}
	for name, s := range map[string]settings{
		"no pattern":     {pattern: "(", runner: good},
		"nothing to run": {pattern: "^no such workload$", runner: good},
		"no rounds":      {pattern: ".", runner: sampling.Runner{Scale: 1}},
		"no scale":       {pattern: ".", runner: sampling.Runner{Rounds: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(&s); err == nil {
				t.Error("no error")
			}
		})
	}
}
