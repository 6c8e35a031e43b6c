package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cadre-go/cadre/bench/internal/sampling"
)

// Result returns the table of one result: a row for each subject, or, on a
// workload with an axis, for each of its sizes.
func Result(r *sampling.Result) Table {
	if r.Workload.Axis != "" {
		return sweep(r)
	}
	return ranking(r)
}

// ranking has the subjects in the order of the workload's figure.
func ranking(r *sampling.Result) Table {
	w := &r.Workload
	t := Table{
		Title: w.Title,
		Note:  fmt.Sprintf("%s; %d operations a sample.", w.Name, r.Ops),
		Head:  []string{"subject"},
	}
	t.Head = append(t.Head, w.Columns()...)
	t.Head = append(t.Head, "ratio", "min..max", "others")
	rows := slices.Clone(r.Rows)
	slices.SortStableFunc(rows, func(a, b sampling.Row) int {
		x, _ := a.Median(w.Main())
		y, _ := b.Median(w.Main())
		return cmp.Compare(x, y)
	})
	for i := range rows {
		row := &rows[i]
		cells := []string{row.Subject.Name}
		for _, figure := range w.Columns() {
			cells = append(cells, optional(row.Median(figure)))
		}
		least, most := row.Range(w.Main())
		cells = append(cells, optional(r.Ratio(row)), number(least)+".."+number(most), fmt.Sprintf("%.0f%%", 100*row.Others()))
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// sweep has a row for each size, and two columns for each subject: its figure,
// and the figure over that of the size before.
func sweep(r *sampling.Result) Table {
	w := &r.Workload
	t := Table{
		Title: w.Title,
		Note:  fmt.Sprintf("%s; %s, and the same over that of the row above; %d operations a sample.", w.Name, w.Main(), r.Ops),
		Head:  []string{w.Axis},
	}
	names := r.Names()
	var sizes []int
	for _, row := range r.Rows {
		if !slices.Contains(sizes, row.Subject.X) {
			sizes = append(sizes, row.Subject.X)
		}
	}
	for _, name := range names {
		t.Head = append(t.Head, name, "step")
	}
	before := make(map[string]float64)
	for _, size := range sizes {
		cells := []string{fmt.Sprint(size)}
		for _, name := range names {
			v, ok := at(r, name, size)
			step := absent
			if last := before[name]; last > 0 && ok {
				step = fmt.Sprintf("%.2f", v/last)
			}
			before[name] = v
			cells = append(cells, optional(v, ok), step)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

func at(r *sampling.Result, name string, size int) (float64, bool) {
	for _, row := range r.Series(name) {
		if row.Subject.X == size {
			return row.Median(r.Workload.Main())
		}
	}
	return 0, false
}
