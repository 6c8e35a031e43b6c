// Package plots draws what a workload with an axis costs at each of its sizes.
package plots

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"github.com/cadre-go/cadre/bench/internal/sampling"
)

// Name returns the name of a workload's plot.
func Name(workload string) string {
	return strings.ReplaceAll(strings.TrimPrefix(workload, "growth/"), "/", "-") + ".svg"
}

// Write draws a result into its file in dir.
func Write(dir string, r *sampling.Result) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, Name(r.Workload.Name)))
	if err != nil {
		return err
	}
	defer func() {
		if closing := file.Close(); err == nil {
			err = closing
		}
	}()
	return Draw(file, r)
}

// Draw writes a result as SVG.
func Draw(to io.Writer, r *sampling.Result) error {
	p, err := chart(r)
	if err != nil {
		return err
	}
	svg, err := p.WriterTo(8*vg.Inch, 5*vg.Inch, "svg")
	if err != nil {
		return err
	}
	_, err = svg.WriteTo(to)
	return err
}

// chart has one line of medians for each subject, on two logarithmic axes,
// where a factor is the same distance everywhere.
func chart(r *sampling.Result) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = r.Workload.Title
	p.X.Label.Text = r.Workload.Axis
	p.Y.Label.Text = r.Workload.Main()
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Y.Tick.Marker = plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())

	var ticks []plot.Tick
	most := 0.0
	for i, name := range r.Names() {
		var points plotter.XYs
		for _, row := range r.Series(name) {
			if v, ok := row.Median(r.Workload.Main()); ok && v > 0 {
				points = append(points, plotter.XY{X: float64(row.Subject.X), Y: v})
				most = max(most, v)
			}
		}
		if len(points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, dots.Color = plotutil.Color(i), plotutil.Color(i)
		dots.Shape = plotutil.Shape(i)
		p.Add(line, dots)
		p.Legend.Add(name, line, dots)
		if ticks == nil {
			for _, point := range points {
				ticks = append(ticks, plot.Tick{Value: point.X, Label: size(point.X)})
			}
		}
	}
	if ticks == nil {
		return nil, fmt.Errorf("nothing to draw of %s", r.Workload.Name)
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	// Two ticks at least, and room for the legend.
	p.Y.Min, p.Y.Max = p.Y.Min/2, most*8
	return p, nil
}

// size writes a power of two as people read it.
func size(v float64) string {
	switch {
	case v >= 1<<20:
		return fmt.Sprintf("%gM", v/(1<<20))
	case v >= 1<<10:
		return fmt.Sprintf("%gk", v/(1<<10))
	}
	return fmt.Sprint(v)
}
