package plots

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/cadre-go/cadre/bench/internal/sampling"
)

// result is one of two subjects at sizes that double.
func result() *sampling.Result {
	r := &sampling.Result{Workload: sampling.Workload{
		Name: "growth/thing/entries", Title: "growth of a thing", Axis: "entries", Reference: "theirs",
	}}
	for size := 1 << 10; size <= 1<<20; size *= 2 {
		for i, name := range []string{"ours", "theirs"} {
			r.Rows = append(r.Rows, sampling.Row{
				Subject: sampling.Subject{Name: name, X: size},
				Samples: []sampling.Sample{sampling.Sample{}.With(sampling.Nanoseconds, float64(100*(i+1)))},
			})
		}
	}
	return r
}

func TestWriteMakesAnSVGFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plots")
	if err := Write(dir, result()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "thing-entries.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"ours", "theirs", "growth of a thing", "entries", "1k", "1M"} {
		if !bytes.Contains(data, []byte(text)) {
			t.Errorf("the plot does not say %q", text)
		}
	}
	tokens := xml.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := tokens.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestDrawOfNothingFails(t *testing.T) {
	r := result()
	for i := range r.Rows {
		r.Rows[i].Samples = nil
	}
	if err := Draw(io.Discard, r); err == nil {
		t.Error("no error")
	}
}
