package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"

	"github.com/cadre-go/cadre/internal/modtree"
)

// cores are the pure packages, each beside the package whose decisions it
// makes.
var cores = map[string]string{
	"timer":               "timer/internal/schedule",
	"executor/lease":      "executor/lease/internal/sched",
	"executor/supervised": "executor/supervised/internal/fold",
}

// coreImports are the packages that a core may import. None of them has a
// goroutine, a lock, a context or I/O that is not asked for by name; package
// time is checked further, because time.Duration is a number and time.Now is
// a clock.
var coreImports = []string{
	"cmp", "container/heap", "container/list", "errors", "fmt", "iter", "maps",
	"math", "math/bits", "slices", "sort", "strconv", "strings", "time",
}

// clocks are the names in package time that read a clock or wait for one.
var clocks = []string{
	"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep",
	"Tick", "Ticker", "Timer", "Until",
}

// Cores checks that a pure core uses no goroutine, channel, select, lock,
// clock or context, and that every package that should have a core does.
func Cores(m *modtree.Module) []string {
	var out []string
	for _, dir := range slices.Sorted(maps.Keys(cores)) {
		owner := m.Lookup(m.Mod.Path + "/" + dir)
		if owner == nil || len(owner.Files) == 0 {
			continue
		}
		core := m.Lookup(m.Mod.Path + "/" + cores[dir])
		if core == nil || len(core.Files) == 0 {
			out = append(out, fmt.Sprintf("%s has no pure core %s", dir, cores[dir]))
			continue
		}
		for _, f := range core.Files {
			out = append(out, impure(m, f)...)
		}
	}
	return out
}

// impure lists what a core's file may not contain.
func impure(m *modtree.Module, f *modtree.File) []string {
	var out []string
	add := func(n ast.Node, what string) {
		out = append(out, fmt.Sprintf("%s: %s", m.Position(n.Pos()), what))
	}
	for _, spec := range f.AST.Imports {
		imp := modtree.ImportPath(spec)
		if !slices.Contains(coreImports, imp) {
			add(spec, "imports "+imp)
		}
		if spec.Name != nil && spec.Name.Name == "." {
			add(spec, "imports "+imp+" with a dot, which hides what is used")
		}
	}
	timeName := f.ImportName("time", "time")
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			add(n, "a goroutine")
		case *ast.ChanType:
			add(n, "a channel")
		case *ast.SendStmt:
			add(n, "a channel send")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				add(n, "a channel receive")
			}
		case *ast.SelectStmt:
			add(n, "a select")
		case *ast.SelectorExpr:
			if timeName != "" && selects(n, timeName, clocks...) {
				add(n, "a clock: time."+n.Sel.Name)
			}
		}
		return true
	})
	return out
}

// selects reports whether e is pkg.name for one of the names; with no names,
// for any.
func selects(e ast.Expr, pkg string, names ...string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg && (len(names) == 0 || slices.Contains(names, sel.Sel.Name))
}
