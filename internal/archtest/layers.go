// Package archtest checks the shape of this module: which package may import
// which, what a pure core may use, what go.mod and the top directory hold, how
// tests wait, and that the table of requirements is true. Its tests run each
// check on the module itself, and on a small tree that breaks the rule.
//
// Every check reads syntax only. It says what it finds, a finding a string;
// none means that the rule holds.
package archtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cadre-go/cadre/internal/modtree"
)

// layers is the import direction: a package imports its own layer's directory
// and lower layers, never a sibling or a higher one.
var layers = []struct {
	dir  string
	rank int
}{
	{"diagnostics", 0},
	{"future", 1},
	{"timer", 2},
	{"executor", 3},
	{"executor/lease", 4},
	{"executor/supervised", 4},
}

// thirdParty lists the packages outside the standard library that a production
// package imports.
var thirdParty = map[string][]string{
	"timer/benclock": {"github.com/benbjohnson/clock"},
}

// layer returns the index in layers of the layer that a directory belongs to:
// the longest one that it lies in. Packages that the layers share have none.
func layer(dir string) (int, bool) {
	best, ok := 0, false
	for i, l := range layers {
		if dir == l.dir || strings.HasPrefix(dir, l.dir+"/") {
			if !ok || len(l.dir) > len(layers[best].dir) {
				best, ok = i, true
			}
		}
	}
	return best, ok
}

// ImportDirection checks every package that a user may import, through all
// that it imports: a detour by way of internal/ is found as well. A public
// package outside the layers is a finding, so that a new one gets a place.
// A production package may not reach a test kit.
func ImportDirection(m *modtree.Module) []string {
	var out []string
	for _, p := range m.Public() {
		from, ok := layer(p.Dir)
		if !ok {
			out = append(out, p.Dir+" belongs to no layer")
			continue
		}
		for _, dep := range m.Deps(p) {
			if dep.Kit() && !p.Kit() {
				out = append(out, fmt.Sprintf("%s imports the test kit %s", p.Dir, dep.Dir))
			}
			to, ok := layer(dep.Dir)
			if ok && to != from && layers[to].rank >= layers[from].rank {
				out = append(out, fmt.Sprintf("%s imports %s, which is no lower layer", p.Dir, dep.Dir))
			}
		}
	}
	return out
}

// ProductionImports checks that what ships imports the standard library and
// this module alone, the exceptions in thirdParty aside, and that it uses
// neither package unsafe nor cgo nor a linkname.
func ProductionImports(m *modtree.Module) []string {
	var out []string
	for _, p := range m.Production() {
		for _, imp := range p.Imports {
			switch {
			case imp == "unsafe" || imp == "C":
				out = append(out, fmt.Sprintf("%s imports %q", p.Dir, imp))
			case standard(imp) || m.Lookup(imp) != nil || slices.Contains(thirdParty[p.Dir], imp):
			default:
				out = append(out, fmt.Sprintf("%s imports %s", p.Dir, imp))
			}
		}
		for _, f := range p.Files {
			for _, group := range f.AST.Comments {
				for _, c := range group.List {
					if strings.HasPrefix(c.Text, "//go:linkname") {
						out = append(out, m.Position(c.Pos())+": a linkname")
					}
				}
			}
		}
	}
	return out
}

// standard reports whether an import path is one of the standard library: the
// first element of all others has a dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
