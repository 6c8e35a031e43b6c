// Command bench measures this module beside its peers on the same work, in one
// run, and says which of its budgets are met; see README.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/cadre-go/cadre/bench/internal/plots"
	"github.com/cadre-go/cadre/bench/internal/report"
	"github.com/cadre-go/cadre/bench/internal/sampling"
	"github.com/cadre-go/cadre/bench/internal/workloads"
)

// settings are the flags.
type settings struct {
	pattern string
	list    bool
	out     string
	runner  sampling.Runner
}

func main() {
	s := settings{runner: sampling.Runner{Take: takeApart}}
	taken := flag.String("take", "", "take one sample of the `workload` of this name and print it: what a run starts for each of its samples")
	subject := flag.Int("subject", 0, "with -take, the index of the subject")
	ops := flag.Int("ops", 1, "with -take, the number of operations")
	flag.StringVar(&s.pattern, "run", ".", "measure the workloads whose names match this `pattern`")
	flag.BoolVar(&s.list, "list", false, "print the names of the workloads and measure nothing")
	flag.StringVar(&s.out, "out", "", "write RESULTS.md and plots/ into this `directory`; empty writes no files")
	flag.IntVar(&s.runner.Rounds, "rounds", 5, "samples of each subject")
	flag.Float64Var(&s.runner.Scale, "scale", 1, "multiplies the operations of a sample")
	flag.IntVar(&s.runner.Retries, "retries", 2, "how often samples of one subject are taken again that other processes disturbed")
	flag.Uint64Var(&s.runner.Seed, "seed", uint64(time.Now().UnixNano()), "of the order of subjects")
	flag.Parse()
	if *taken != "" {
		if err := take(*taken, *subject, *ops); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if err := errors.Join(run(&s), workloads.Clean()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(s *settings) error {
	pattern, err := regexp.Compile(s.pattern)
	if err != nil {
		return err
	}
	if s.runner.Rounds < 1 || s.runner.Scale <= 0 {
		return errors.New("-rounds and -scale have to be positive")
	}
	var chosen []sampling.Workload
	for _, w := range workloads.All() {
		if pattern.MatchString(w.Name) {
			chosen = append(chosen, w)
		}
	}
	if s.list {
		for _, w := range chosen {
			fmt.Printf("%-45s %s\n", w.Name, w.Title)
		}
		return nil
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no workload matches %q; -list prints them", s.pattern)
	}

	head := append(report.Machine(), [2]string{"samples", fmt.Sprintf(
		"%d of each subject, order of seed %d, operations times %g", s.runner.Rounds, s.runner.Seed, s.runner.Scale)})
	began := time.Now()
	measured := report.Run{}
	for i, w := range chosen {
		started := time.Now()
		fmt.Fprintf(os.Stderr, "[%d/%d] %s", i+1, len(chosen), w.Name)
		result, err := s.runner.Run(w)
		if err != nil {
			return err
		}
		measured.Results = append(measured.Results, result)
		fmt.Fprintf(os.Stderr, " %.1fs\n", time.Since(started).Seconds())
	}
	measured.Head = append(head, [2]string{"took", time.Since(began).Round(time.Second).String()})
	measured.Text(os.Stdout)
	if s.out == "" {
		return nil
	}
	return write(s.out, &measured)
}

// write puts the results and their plots into dir.
func write(dir string, measured *report.Run) (err error) {
	for i := range measured.Results {
		if r := &measured.Results[i]; r.Workload.Axis != "" {
			if err := plots.Write(filepath.Join(dir, "plots"), r); err != nil {
				return err
			}
		}
	}
	file, err := os.Create(filepath.Join(dir, "RESULTS.md"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	measured.Markdown(file, func(r *sampling.Result) string {
		if r.Workload.Axis == "" {
			return ""
		}
		return "plots/" + plots.Name(r.Workload.Name)
	})
	return nil
}
