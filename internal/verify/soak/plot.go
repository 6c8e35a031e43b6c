package main

import (
	"image/color"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// palette is that of Okabe and Ito (Color Universal Design, 2008) without its
// yellow: whoever sees no red or no green can tell its colors apart.
var palette = []color.RGBA{
	{0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0x00, 0x72, 0xb2, 0xff},
	{0xd5, 0x5e, 0x00, 0xff}, {0xcc, 0x79, 0xa7, 0xff}, {0x00, 0x00, 0x00, 0xff},
}

// A chart is one plot over the time of a run.
type chart struct {
	file, title, unit string
	logarithmic       bool
	lines             []curve
}

type curve struct {
	name   string
	values []float64
	times  []float64 // minutes
}

// charts are the plots of a run.
func (r *run) charts() []chart {
	of := func(name string, value func(rest) float64) curve {
		c := curve{name: name}
		for _, at := range r.rests {
			c.times = append(c.times, at.at.Minutes())
			c.values = append(c.values, value(at))
		}
		return c
	}
	depth := chart{file: "depth.svg", title: "queued, on average", unit: "tasks, requests, waiters, jobs, delays"}
	latency := chart{file: "latency.svg", title: "latency: median and 99 %", unit: "ms", logarithmic: true}
	for i, d := range r.desks {
		if d.name != referenceName {
			depth.lines = append(depth.lines, of(d.name, func(at rest) float64 { return at.desks[i].depth }))
		}
		ms := func(q func(reading) float64) func(rest) float64 {
			return func(at rest) float64 { return max(q(at.desks[i])/1e6, 1e-3) }
		}
		latency.lines = append(latency.lines,
			of(d.name, ms(func(r reading) float64 { return float64(r.p50) })),
			of("", ms(func(r reading) float64 { return float64(r.p99) })))
	}
	return []chart{
		{file: "memory.svg", title: "memory at rest", unit: "MB", lines: []curve{
			of("live objects", func(at rest) float64 { return float64(at.heap) / 1e6 }),
		}},
		{file: "goroutines.svg", title: "goroutines", lines: []curve{
			of("at rest", func(at rest) float64 { return float64(at.goroutines) }),
			of("under load, at most", func(at rest) float64 { return float64(at.most) }),
		}},
		depth, latency,
	}
}

func (c chart) write(dir string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.title, "minutes", c.unit
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	if c.logarithmic {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	most, hue := 0.0, -1
	for _, l := range c.lines {
		points := make(plotter.XYs, len(l.values))
		for i, v := range l.values {
			points[i] = plotter.XY{X: l.times[i], Y: v}
			most = max(most, v)
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		if l.name != "" {
			hue++
			p.Legend.Add(l.name, line)
		} else { // goes with the line before
			line.Dashes = plotutil.Dashes(1)
		}
		line.Color = palette[hue%len(palette)]
		p.Add(line)
	}
	if c.logarithmic {
		p.Y.Max = most * 20 // room for the legend
	} else {
		p.Y.Min, p.Y.Max = 0, most*1.4
	}
	return p.Save(8*vg.Inch, 4.5*vg.Inch, filepath.Join(dir, c.file))
}
