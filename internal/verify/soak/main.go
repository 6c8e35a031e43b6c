package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"time"
)

func main() {
	length := flag.Duration("for", 2*time.Minute, "how long to soak")
	out := flag.String("out", "", "directory for the report and the plots; none if empty")
	flag.Parse()
	// What has no logger of its own reports here, and here it is told to fail.
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err := command(os.Stdout, *length, *out); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func command(w io.Writer, length time.Duration, dir string) error {
	tell := func(format string, args ...any) { fmt.Fprintf(w, format, args...) }
	tell("%s, %s/%s, GOMAXPROCS %d, %v\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), length)
	r, err := soak(length, spellOf(length), openings, tell)
	if len(r.rests) == 0 {
		return errors.Join(err, errTooShort)
	}
	tell("\n%s", r.report())
	if dir != "" {
		err = errors.Join(err, r.write(dir))
	}
	return errors.Join(err, r.flat())
}

var errTooShort = errors.New("too few rests for a trend")

// flat is an error for each trend that is none.
func (r *run) flat() error {
	if len(r.rests) < leastRests {
		return errTooShort
	}
	var out []error
	for _, t := range r.trends() {
		if t.grows() {
			out = append(out, errors.New(t.String()))
		}
	}
	return errors.Join(out...)
}
