package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	goleak.VerifyTestMain(m)
}

func discard(string, ...any) {}

// TestSoak plays every desk for a moment: the books balance.
func TestSoak(t *testing.T) {
	r, err := soak(3*time.Second, 300*time.Millisecond, openings, discard)
	if err != nil {
		t.Fatal(err)
	}
	report := r.report()
	for _, line := range []string{
		"post accepted", "post rejected", "hello answered", "hello rejected", "response nobody received",
		"call served", "acquire given up", "job completed", "job rejected", "worker restarted",
		"delay fired", "delay canceled", "supervised pool ended",
	} {
		if !strings.Contains(report, line) {
			t.Errorf("in this mix nothing was entered as %q", line)
		}
	}
	dir := t.TempDir()
	if err := r.write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"report.txt", "memory.svg", "goroutines.svg", "depth.svg", "latency.svg"} {
		if data, err := os.ReadFile(dir + "/" + name); err != nil || len(data) < 1000 {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
}

// faulty is a subject that does something wrong.
type faulty struct {
	reference
	each func()
}

func (f faulty) play(p *player) {
	f.each()
	f.reference.play(p)
}

// TestNoiseIsNoTrend has the last third above the first, and nothing that rises.
func TestNoiseIsNoTrend(t *testing.T) {
	values := []float64{1, 9, 1, 8, 1, 7, 9, 1, 9, 1, 9, 9}
	if (trend{values: values, factor: 1.5, noisy: true}).grows() {
		t.Error("noise was taken for a trend")
	}
	if !(trend{values: values, factor: 1.5}).grows() {
		t.Error("the last third is not above the first")
	}
}

// TestFindsWhatGrows soaks subjects that leak.
func TestFindsWhatGrows(t *testing.T) {
	var kept [][]byte
	stop := make(chan struct{})
	defer close(stop)
	for _, c := range []struct {
		name string
		each func(*book)
		want string
	}{
		{"nothing", func(*book) {}, ""},
		{"memory", func(*book) { kept = append(kept, make([]byte, 100<<10)) }, "memory at rest"},
		{"goroutines", func(*book) {
			go func() { <-stop }()
		}, "goroutines at rest"},
	} {
		t.Run(c.name, func(t *testing.T) {
			open := func() (*desk, error) {
				b := newBook("faulty")
				return &desk{book: b, subject: faulty{reference{b}, func() { c.each(b) }}, clients: 1, pace: 5 * time.Millisecond}, nil
			}
			r, err := soak(4*time.Second, 150*time.Millisecond, []opening{open, newReference}, discard)
			if err != nil {
				t.Fatal(err)
			}
			err = r.flat()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("nothing grows, and the verdict is: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s grow, and the verdict is: %v", c.name, err)
			}
		})
	}
}

// TestLatencyIsComparedWithTheReference slows down a subject, or the machine.
func TestLatencyIsComparedWithTheReference(t *testing.T) {
	for _, c := range []struct {
		name             string
		subject, machine time.Duration // how much slower at each rest
		grows            bool
	}{
		{"all is steady", 0, 0, false},
		{"the machine slows down", time.Millisecond, time.Millisecond, false},
		{"the subject slows down", time.Millisecond, 0, true},
	} {
		r := &run{desks: []*desk{{book: newBook("subject")}, {book: newBook(referenceName)}}}
		for i := range time.Duration(12) {
			s, m := time.Millisecond+i*c.subject, time.Millisecond+i*c.machine
			r.rests = append(r.rests, rest{desks: []reading{{p50: s, p99: 2 * s}, {p50: m, p99: 2 * m}}})
		}
		if err := r.flat(); (err != nil) != c.grows {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestAViolationEndsTheRun(t *testing.T) {
	open := func() (*desk, error) {
		b := newBook("faulty")
		return &desk{book: b, subject: faulty{reference{b}, func() { b.equal("entries", 1, 2) }}, clients: 1, pace: time.Millisecond}, nil
	}
	_, err := soak(time.Minute, 50*time.Millisecond, []opening{open}, discard)
	if err == nil || !strings.Contains(err.Error(), "faulty: entries: 1, and not 2") {
		t.Fatal(err)
	}
}

func TestBook(t *testing.T) {
	t.Run("a token that ends twice", func(t *testing.T) {
		b, m := newBook("b"), new(mint)
		v := m.make()
		v.end(b)
		if len(b.violations()) != 0 {
			t.Error("once is right")
		}
		v.end(b)
		if len(b.violations()) != 1 {
			t.Error("twice is wrong")
		}
	})
	t.Run("a job under another's context", func(t *testing.T) {
		ctx, id := stamped(context.Background())
		b := newBook("b")
		if b.sound(ctx, id); len(b.violations()) != 0 {
			t.Error(b.violations())
		}
		if b.sound(ctx, id+1); len(b.violations()) != 3 { // values, attributes, label
			t.Error(b.violations())
		}
	})
}

func TestHistogram(t *testing.T) {
	var h histogram
	for i := range 1000 {
		h.add(time.Duration(i+1) * time.Millisecond)
	}
	n, q := h.drain(0.5, 0.99)
	for i, want := range []time.Duration{500 * time.Millisecond, 990 * time.Millisecond} {
		if d := q[i]; float64(d) < 0.9*float64(want) || float64(d) > 1.1*float64(want) {
			t.Errorf("quantile %v, and not %v", d, want)
		}
	}
	if n != 1000 {
		t.Errorf("%d entries", n)
	}
	if n, q := h.drain(0.5); n != 0 || q[0] != 0 {
		t.Errorf("%d entries after all were taken: %v", n, q)
	}
}

func TestTrend(t *testing.T) {
	for _, c := range []struct {
		name  string
		value func(i int) float64
		grows bool
	}{
		{"steady", func(int) float64 { return 100 }, false},
		{"noise", func(i int) float64 { return 100 + float64(i*7%5) }, false},
		{"a peak", func(i int) float64 {
			if i == 25 {
				return 900
			}
			return 100
		}, false},
		{"a slope", func(i int) float64 { return 100 + float64(i) }, true},
		{"a step", func(i int) float64 { return 100 + float64(i/15*20) }, true},
		{"it falls", func(i int) float64 { return 200 - float64(i) }, false},
	} {
		values := make([]float64, 30)
		for i := range values {
			values[i] = c.value(i)
		}
		for _, noisy := range []bool{false, true} {
			if got := (trend{values: values, factor: 1.05, noisy: noisy}).grows(); got != c.grows {
				t.Errorf("%s (noisy: %v): %v", c.name, noisy, values)
			}
		}
	}
}
