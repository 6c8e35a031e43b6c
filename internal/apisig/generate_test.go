package apisig_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// program reads choices out of the fuzzer's bytes.
type program []byte

func (p *program) next(n int) int {
	if len(*p) == 0 {
		return 0
	}
	b := int((*p)[0])
	*p = (*p)[1:]
	return b % n
}

// declaration is one generated declaration with what the record has to say of
// it. In its source an @ stands for a parameter's name and a # for a comment.
type declaration struct {
	keyword string // that may open a group: const, var or type
	src     string
	more    []string // methods, which may stand anywhere
	lines   []string
}

// generator makes a package. Every name is new, with a number of its own, but
// for the fields that hide something.
type generator struct {
	program
	n       int
	decls   []declaration
	structs []structure
	named   []string // types that any declaration may mention
}

// generate reads a package out of data.
func generate(data []byte) *generator {
	g := &generator{program: data}
	for len(g.program) > 0 && len(g.decls) < 12 {
		g.declare()
	}
	return g
}

func (g *generator) name(exported bool) string {
	g.n++
	if exported {
		return "X" + strconv.Itoa(g.n) + "_"
	}
	return "x" + strconv.Itoa(g.n) + "_"
}

func (g *generator) add(exported bool, d declaration) {
	if !exported {
		d.lines = nil
	}
	g.decls = append(g.decls, d)
}

func (g *generator) declare() {
	exported := g.next(3) > 0
	name := g.name(exported)
	switch g.next(14) {
	case 0:
		value := [][2]string{{"7", "7"}, {"-1", "-1"}, {`"a b"`, `"a b"`}, {"0.5", "1/2"}, {"'a'", "97"}, {"1 < 2", "true"}, {"1 << 70", "1180591620717411303424"}}[g.next(7)]
		g.add(exported, declaration{keyword: "const", src: name + " = #" + value[0], lines: []string{"const " + name + " = " + value[1]}})
	case 1:
		t := []string{"int", "uint8", "float64"}[g.next(3)]
		value := strconv.Itoa(g.next(100))
		g.add(exported, declaration{keyword: "const", src: name + " " + t + " = " + value, lines: []string{"const " + name + " " + t + " = " + value}})
	case 2, 3:
		t := g.typ(3)
		src := name + " # " + t
		if g.next(2) == 0 {
			src = name + " = *new(" + t + ")"
		}
		g.add(exported, declaration{keyword: "var", src: src, lines: []string{"var " + name + " " + t}})
	case 4, 5:
		params, list, _ := g.typeParams()
		sig := g.signature(2, params)
		g.add(exported, declaration{src: "func " + name + list + sig, lines: []string{"func " + name + list + sig}})
	case 6:
		t := g.typ(3)
		g.add(exported, declaration{keyword: "type", src: name + " = " + t, lines: []string{"type " + name + " = " + t}})
		g.named = append(g.named, name)
	case 7:
		t := g.composite(3)
		switch t[0] {
		case 's', 'i', '*': // shown in another way, or may have no methods
			t = "[]" + t
		}
		d := declaration{keyword: "type", src: name + " " + t, lines: []string{"type " + name + " " + t}}
		g.methods(&d, name, nil)
		g.add(exported, d)
		g.named = append(g.named, name)
	case 8:
		g.iface(exported, name)
	default:
		g.structure(exported, name)
	}
}

// typeParams returns the names, the list in brackets and names for a receiver.
func (g *generator) typeParams() (names []string, list string, receiver []string) {
	bound := ""
	for range g.next(6) - 2 {
		b := []string{"any", "comparable", "~int | ~string"}[g.next(3)]
		if len(names) > 0 {
			if b != bound {
				list += " " + bound
			}
			list += ", "
		}
		bound = b
		g.n++
		name := fmt.Sprintf("P%d_", g.n)
		names, list, receiver = append(names, name), list+name, append(receiver, "Q"+name)
	}
	if len(names) > 0 {
		list = "[" + list + " " + bound + "]"
	}
	return names, list, receiver
}

// typ returns a type, which reads the same in the source and in the record
// but for the @ and #.
func (g *generator) typ(depth int, params ...string) string {
	if depth > 0 && g.next(2) == 0 {
		return g.composite(depth, params...)
	}
	leaves := append([]string{"int", "string", "error", "any", "byte", "rune", "id.ID"}, params...)
	leaves = append(leaves, g.named[max(0, len(g.named)-4):]...)
	return leaves[g.next(len(leaves))]
}

func (g *generator) composite(depth int, params ...string) string {
	if depth == 0 {
		return "int"
	}
	elem := func() string { return g.typ(depth-1, params...) }
	switch g.next(9) {
	case 0:
		return "*" + elem()
	case 1:
		return "[]" + elem()
	case 2:
		return "[" + strconv.Itoa(g.next(4)) + "]" + elem()
	case 3:
		return "map[" + []string{"string", "int"}[g.next(2)] + "]" + elem()
	case 4:
		t := elem()
		switch dir := []string{"chan ", "chan<- ", "<-chan "}[g.next(3)]; {
		case dir == "chan " && strings.HasPrefix(t, "<-"):
			return "chan (" + t + ")"
		default:
			return dir + t
		}
	case 5:
		return "func" + g.signature(depth-1, params)
	case 6:
		return "struct{ " + g.name(true) + " " + elem() + "; " + g.name(false) + " " + elem() + " }"
	case 7:
		return "interface{ " + g.name(true) + g.signature(depth-1, params) + " }"
	}
	return "struct{}"
}

func (g *generator) signature(depth int, params []string) string {
	var in, out []string
	for range g.next(3) {
		in = append(in, "@"+g.typ(depth, params...))
	}
	if g.next(4) == 0 {
		in = append(in, "@..."+g.typ(depth, params...))
	}
	for range g.next(3) {
		out = append(out, g.typ(depth, params...))
	}
	text := "(" + strings.Join(in, ", ") + ")"
	switch len(out) {
	case 0:
		return text
	case 1:
		return text + " " + out[0]
	}
	return text + " (@" + strings.Join(out, ", @") + ")"
}

// methods gives the type of d some methods, and returns the exported ones in
// terms of the type's own parameters.
func (g *generator) methods(d *declaration, name string, params []string, as ...string) (list []member) {
	recv := name + brackets(as)
	for range 1 + g.next(3) {
		exported, pointer := g.next(4) < 3, g.next(2) == 0
		m, sig := g.name(exported), g.signature(0, params)
		theirs := sig
		for i := range params {
			theirs = strings.ReplaceAll(theirs, params[i], as[i])
		}
		receiver := "#" + star(pointer) + recv
		if g.next(2) == 0 {
			receiver = "r " + receiver
		}
		d.more = append(d.more, "func ("+receiver+") "+m+theirs)
		if exported {
			list = append(list, member{name: m, text: sig, method: true, pointer: pointer})
			d.lines = append(d.lines, "method ("+star(pointer)+recv+") "+m+theirs)
		}
	}
	return list
}

func (g *generator) iface(exported bool, name string) {
	params, list, _ := g.typeParams()
	if g.next(4) == 0 {
		g.add(exported, declaration{keyword: "type", src: name + list + " interface{ ~int | ~string }",
			lines: []string{"type " + name + list + " interface{ ~int | ~string }"}})
		return
	}
	var names, lines, parts []string
	closed := false
	for range g.next(4) {
		open := g.next(4) > 0
		m, sig := g.name(open), g.signature(1, params)
		parts = append(parts, m+sig)
		if open {
			names = append(names, m)
			lines = append(lines, "type "+name+" interface, "+m+sig)
		}
		closed = closed || !open
	}
	slices.Sort(names)
	if closed {
		names = append(names, "unexported methods")
	}
	head := "type " + name + list + " interface {}"
	if len(names) > 0 {
		head = "type " + name + list + " interface { " + strings.Join(names, ", ") + " }"
	}
	g.add(exported, declaration{keyword: "type", src: name + list + " interface {\n#" + strings.Join(parts, "\n#") + "\n}", lines: append(lines, head)})
	if len(params) == 0 {
		g.named = append(g.named, name)
	}
}

// brackets returns a list of type parameters or arguments.
func brackets(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func star(pointer bool) string {
	if pointer {
		return "*"
	}
	return ""
}
