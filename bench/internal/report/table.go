// Package report renders results: as text for a terminal and as Markdown for a
// file, from the same tables.
package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is a title over rows of cells. The first column is aligned to the left,
// and the others are aligned to the right unless they are Left.
type Table struct {
	Title string
	Note  string // beneath the title
	Head  []string
	Left  map[int]bool
	Rows  [][]string
}

// Text writes the table with its columns aligned.
func (t *Table) Text(w io.Writer) {
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	fmt.Fprintf(w, "\n%s\n", t.Title)
	if t.Note != "" {
		fmt.Fprintln(w, t.Note)
	}
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.left(i) {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
			line.WriteString("  ")
		}
		fmt.Fprintln(w, "  "+strings.TrimRight(line.String(), " "))
	}
}

// Markdown writes the table under a heading of the given level.
func (t *Table) Markdown(w io.Writer, level int) {
	fmt.Fprintf(w, "\n%s %s\n\n", strings.Repeat("#", level), t.Title)
	if t.Note != "" {
		fmt.Fprintf(w, "%s\n\n", t.Note)
	}
	line := func(cells []string) {
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	line(t.Head)
	rule := make([]string, len(t.Head))
	for i := range rule {
		rule[i] = "--:"
		if t.left(i) {
			rule[i] = "---"
		}
	}
	line(rule)
	for _, row := range t.Rows {
		line(row)
	}
}

func (t *Table) left(column int) bool { return column == 0 || t.Left[column] }
