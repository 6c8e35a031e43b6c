package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A block is a run of statements without a branch, as the profile counts them.
type block struct {
	file           string // relative to the module
	from, to       int    // lines
	fromCol, toCol int
	statements     int
}

// A pkg is what a profile says of one package.
type pkg struct {
	dir            string
	total, covered int
	missed         []block // in the order of the source
}

// percent is 100 for a package without statements: nothing is left out.
func (p *pkg) percent() float64 {
	if p.total == 0 {
		return 100
	}
	return 100 * float64(p.covered) / float64(p.total)
}

var linePattern = regexp.MustCompile(`^(.+):(\d+)\.(\d+),(\d+)\.(\d+) (\d+) (\d+)$`)

// parse reads a profile as go test writes it. A block that it lists more than
// once is covered if one of the lines says so.
func parse(r io.Reader, module string) ([]*pkg, error) {
	blocks := make(map[block]int) // how often each ran
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "mode:") {
			continue
		}
		m := linePattern.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("not a line of a coverage profile: %q", line)
		}
		var n [6]int
		for i := range n {
			v, err := strconv.Atoi(m[i+2])
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			n[i] = v
		}
		b := block{
			file: strings.TrimPrefix(m[1], module+"/"),
			from: n[0], fromCol: n[1], to: n[2], toCol: n[3], statements: n[4],
		}
		blocks[b] += n[5]
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}

	byDir := make(map[string]*pkg)
	var out []*pkg
	for b, hits := range blocks {
		dir := path.Dir(b.file)
		p := byDir[dir]
		if p == nil {
			p = &pkg{dir: dir}
			byDir[dir] = p
			out = append(out, p)
		}
		p.total += b.statements
		if hits > 0 {
			p.covered += b.statements
		} else if b.statements > 0 {
			p.missed = append(p.missed, b)
		}
	}
	for _, p := range out {
		slices.SortFunc(p.missed, func(a, b block) int {
			return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.from, b.from), cmp.Compare(a.fromCol, b.fromCol))
		})
	}
	return out, nil
}
