package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tableRows is how many lines of a table anybody reads.
const tableRows = 24

// report is the run as text: what was measured over time, how it went, and the
// books.
func (r *run) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8s %9s %10s", "time", "heap", "goroutines")
	for _, d := range r.desks {
		fmt.Fprintf(&b, " %22s", d.name)
	}
	fmt.Fprintf(&b, "\n%8s %9s %10s", "", "at rest", "at rest")
	for range r.desks {
		fmt.Fprintf(&b, " %22s", "p50 / p99, queued")
	}
	b.WriteByte('\n')
	every := (len(r.rests) + tableRows - 1) / tableRows
	for i, at := range r.rests {
		if i%every != 0 && i != len(r.rests)-1 {
			continue
		}
		fmt.Fprintf(&b, "%8s %6.2f MB %10d", at.at.Round(time.Second), float64(at.heap)/1e6, at.goroutines)
		for _, d := range at.desks {
			fmt.Fprintf(&b, " %22s", fmt.Sprintf("%s / %s, %.0f", short(d.p50), short(d.p99), d.depth))
		}
		b.WriteByte('\n')
	}
	if len(r.rests) >= leastRests {
		b.WriteString("\nfrom the first third of the rests to the last, medians\n")
		for _, t := range r.trends() {
			fmt.Fprintf(&b, "  %v\n", t)
		}
	}
	b.WriteString("\nbooks\n")
	for _, d := range r.desks {
		for _, l := range d.lines() {
			fmt.Fprintf(&b, "  %-10s %-34s %10d\n", d.name, l.what, l.times)
		}
	}
	return b.String()
}

// short is a duration with two or three digits.
func short(d time.Duration) string {
	switch {
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d >= 100*time.Microsecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(100 * time.Nanosecond).String()
}

// write puts the report and the plots into a directory.
func (r *run) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	errs := []error{os.WriteFile(filepath.Join(dir, "report.txt"), []byte(r.report()), 0o644)}
	for _, c := range r.charts() {
		errs = append(errs, c.write(dir))
	}
	return errors.Join(errs...)
}
