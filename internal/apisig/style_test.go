package apisig_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// style writes declarations as one author or another would: it chooses their
// order and files, comments, the names of parameters, and groups.
type style struct {
	*rand.Rand
	n int
}

// fill replaces the @ and # of a source.
func (s *style) fill(src string) string {
	named := s.IntN(2) == 0
	var b strings.Builder
	for _, c := range src {
		switch {
		case c == '@' && named:
			s.n++
			b.WriteString("p" + strconv.Itoa(s.n) + " ")
		case c == '#' && s.IntN(2) == 0:
			b.WriteString("/* X0_ */ ")
		case c != '@' && c != '#':
			b.WriteRune(c)
		}
	}
	return b.String()
}

// files writes the package, and always its clause and a last newline.
func (s *style) files(decls []declaration) []string {
	var units []string
	for _, d := range decls {
		src := s.fill(d.src)
		switch {
		case d.keyword == "":
			src += []string{" { return nowhere() }", " {}"}[s.IntN(2)]
		case s.IntN(3) == 0:
			src = d.keyword + " (\n// X0_ is not there.\n" + src + " // nor X0_\n)"
		default:
			src = d.keyword + " " + src
		}
		units = append(units, src)
		for _, m := range d.more {
			units = append(units, s.fill(m)+" {\n\treturn nowhere()\n}")
		}
	}
	s.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	out := make([]string, 1+s.IntN(3))
	alias := make([]string, len(out))
	for i := range out {
		alias[i] = []string{"id", "other"}[s.IntN(2)]
		out[i] = "package p\nimport " + alias[i] + " \"example.com/m/internal/id\"\n"
	}
	for _, unit := range units {
		i := s.IntN(len(out))
		if s.IntN(3) == 0 {
			out[i] += "// X0_ is not there.\n"
		}
		out[i] += strings.ReplaceAll(unit, "id.ID", alias[i]+".ID") + "\n\n"
	}
	return out
}
