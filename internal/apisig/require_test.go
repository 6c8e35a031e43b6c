package apisig_test

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// requireExported looks up each declaration of f.
func requireExported(t *testing.T, f *ast.File, lines []string) {
	has := func(id *ast.Ident, keyword, after string) {
		n := 0
		for _, line := range lines {
			rest, ok := strings.CutPrefix(line, keyword+id.Name)
			if ok && (rest == "" || strings.ContainsAny(rest[:1], after)) {
				n++
			}
		}
		if (n > 0) != id.IsExported() || keyword != "type " && n > 1 {
			t.Fatalf("%s%s is there %d times in\n%s", keyword, id.Name, n, strings.Join(lines, "\n"))
		}
	}
	defined := map[string]bool{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				has(d.Name, "func ", "([")
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					has(spec.Name, "type ", " [")
					defined[spec.Name.Name] = spec.Assign == token.NoPos && spec.Name.IsExported()
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						has(id, d.Tok.String()+" ", " ")
					}
				}
			}
		}
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil {
			requireMethod(t, d, defined, lines)
		}
	}
}

func requireMethod(t *testing.T, d *ast.FuncDecl, defined map[string]bool, lines []string) {
	recv, pointer := d.Recv.List[0].Type, ""
	for {
		switch r := recv.(type) {
		case *ast.ParenExpr:
			recv = r.X
		case *ast.StarExpr:
			recv, pointer = r.X, "*"
		case *ast.IndexExpr:
			recv = r.X
		case *ast.IndexListExpr:
			recv = r.X
		case *ast.Ident:
			is := func(line string) bool {
				rest, ok := strings.CutPrefix(line, "method ("+pointer+r.Name)
				return ok && (rest[0] == ')' || rest[0] == '[') && strings.Contains(rest, ") "+d.Name.Name+"(")
			}
			if defined[r.Name] && slices.ContainsFunc(lines, is) != d.Name.IsExported() {
				t.Fatalf("the method %s of %s%s, in\n%s", d.Name.Name, pointer, r.Name, strings.Join(lines, "\n"))
			}
			return
		default:
			return
		}
	}
}
