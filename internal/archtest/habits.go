package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"github.com/cadre-go/cadre/internal/modtree"
)

// Sleeps finds each mention of time.Sleep in a test, a test kit or a production
// package. In a _test.go file it may stand inside a function literal that is
// passed to synctest.Test, where the clock is a fake one.
func Sleeps(m *modtree.Module) []string {
	var out []string
	for _, p := range m.Packages {
		if !strings.HasPrefix(p.Dir, "examples/") {
			for _, f := range p.Files {
				out = append(out, sleeps(m, f, false)...)
			}
		}
		for _, f := range p.Tests {
			out = append(out, sleeps(m, f, true)...)
		}
	}
	return out
}

func sleeps(m *modtree.Module, f *modtree.File, bubbles bool) []string {
	timeName := f.ImportName("time", "time")
	if timeName == "" {
		return nil
	}
	synctest := f.ImportName("testing/synctest", "synctest")
	var out []string
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if !bubbles || synctest == "" || !selects(n.Fun, synctest, "Test") {
				return true
			}
			for _, arg := range n.Args {
				if _, ok := arg.(*ast.FuncLit); !ok {
					ast.Inspect(arg, visit)
				}
			}
			return false
		case *ast.SelectorExpr:
			if selects(n, timeName, "Sleep") {
				out = append(out, m.Position(n.Pos())+": time.Sleep outside a synctest bubble")
			}
		}
		return true
	}
	ast.Inspect(f.AST, visit)
	return out
}

// Skips finds the calls of Skip, Skipf and SkipNow, by name, in tests and test
// kits: a test that is skipped guards nothing.
func Skips(m *modtree.Module) []string {
	var out []string
	for _, p := range m.Packages {
		files := p.Tests
		if p.Kit() {
			files = slices.Concat(p.Files, p.Tests)
		}
		for _, f := range files {
			ast.Inspect(f.AST, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
					out = append(out, fmt.Sprintf("%s: a call of %s", m.Position(call.Pos()), sel.Sel.Name))
				}
				return true
			})
		}
	}
	return out
}

// LeakChecks checks that every package with tests has a TestMain that calls
// goleak.VerifyTestMain without an option, and that no test ignores a
// goroutine some other way.
func LeakChecks(m *modtree.Module) []string {
	var out []string
	for _, p := range m.Packages {
		if len(p.Tests) == 0 {
			continue
		}
		verified := false
		for _, f := range p.Tests {
			goleak := f.ImportName("go.uber.org/goleak", "goleak")
			if goleak == "" {
				continue
			}
			for _, decl := range f.AST.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				main := ok && fn.Recv == nil && fn.Name.Name == "TestMain"
				ast.Inspect(decl, func(n ast.Node) bool {
					call, ok := n.(*ast.CallExpr)
					if !ok {
						return true
					}
					switch {
					case selects(call.Fun, goleak, "VerifyTestMain"):
						verified = verified || main && len(call.Args) == 1
					case selects(call.Fun, goleak, "IgnoreCurrent", "IgnoreTopFunction", "IgnoreAnyFunction"):
						out = append(out, m.Position(call.Pos())+": goleak is told to ignore a goroutine")
					}
					return true
				})
			}
		}
		if !verified {
			out = append(out, p.Dir+" has no TestMain that calls goleak.VerifyTestMain without options")
		}
	}
	return out
}
