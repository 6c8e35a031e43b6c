package apisig_test

import (
	"slices"
	"strings"
)

// member is an exported field or method that a struct has or can promote.
type member struct {
	name, text string
	method     bool
	pointer    bool // a method of the pointer alone
	depth      int
	open       bool // a field that the record has a line for
}

// structure is a struct that others may embed.
type structure struct {
	name     string
	exported bool
	params   []string
	members  []member // also those that are hidden or there twice
}

// count returns how many members of a name there are down to a depth.
func (s *structure) count(name string, depth int) (n int) {
	for _, m := range s.members {
		if m.name == name && m.depth <= depth {
			n++
		}
	}
	return n
}

func (g *generator) structure(exported bool, name string) {
	params, list, receiver := g.typeParams()
	prefix := "type " + name + " struct"
	d := declaration{keyword: "type", lines: []string{"type " + name + list + " struct"}}
	s := structure{name: name, exported: exported, params: params}
	var parts []string
	for range g.next(4) {
		open := g.next(4) > 0
		f, t := g.name(open), g.typ(1, params...)
		parts = append(parts, f+" "+t+[]string{"", " `json:\"X_\"`"}[g.next(2)])
		if open {
			s.members = append(s.members, member{name: f, text: ", " + f + " " + t, open: true})
		}
	}
	recv := name + brackets(params)
	var embedded []int
	for range 1 + g.next(2) {
		if len(g.structs) == 0 {
			break
		}
		if i := len(g.structs) - 1 - g.next(len(g.structs)); !slices.Contains(embedded, i) {
			embedded = append(embedded, i)
			parts = append(parts, g.embed(&s, &g.structs[i])...)
		}
	}
	for _, m := range s.members {
		switch {
		case !m.open || s.count(m.name, m.depth) > 1: // hidden, or there twice
		case m.method:
			d.lines = append(d.lines, "method ("+star(m.pointer)+recv+") "+m.name+m.text)
		default:
			d.lines = append(d.lines, prefix+m.text)
		}
	}
	d.src = name + list + " struct {\n#" + strings.Join(parts, "\n#") + "\n}"
	s.members = append(s.members, g.methods(&d, name, params, receiver...)...)
	g.add(exported, d)
	g.structs = append(g.structs, s)
	if len(params) == 0 {
		g.named = append(g.named, name)
	}
}

// embed puts e into s, and perhaps a field that hides something of it. It
// returns what to write.
func (g *generator) embed(s, e *structure) (parts []string) {
	if s.count(e.name, 0) > 0 {
		return nil
	}
	pointer := g.next(2) == 1
	args := make([]string, len(e.params))
	for i := range args {
		args[i] = []string{"int", "string"}[g.next(2)]
	}
	parts = append(parts, star(pointer)+e.name+brackets(args))
	if len(e.members) > 0 && g.next(3) == 1 {
		hides := member{name: e.members[g.next(len(e.members))].name, open: true}
		hides.text = ", " + hides.name + " int"
		if s.count(hides.name, 0) == 0 {
			parts = append(parts, hides.name+" int")
			s.members = append(s.members, hides)
		}
	}
	if e.exported {
		s.members = append(s.members, member{name: e.name, text: ", embedded " + parts[0], open: true})
	}
	for _, m := range e.members {
		for i := range args {
			m.text = strings.ReplaceAll(m.text, e.params[i], args[i])
		}
		m.pointer = m.pointer && !pointer
		m.open = !e.exported && (m.open || m.method)
		m.depth++
		s.members = append(s.members, m)
	}
	return parts
}
