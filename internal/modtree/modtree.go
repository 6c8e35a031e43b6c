// Package modtree reads a module's go.mod and source tree: which packages
// there are, which of them a user may import, which of them ship, and what
// they import. The tools and tests that guard the shape of this module (the
// API record, the architecture test, the coverage gate) share it.
//
// It reads syntax only and needs neither the go command nor a network. Build
// constraints are not evaluated: a file counts on every platform.
package modtree

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Module is one module's go.mod and the packages below it. Nested modules
// are not part of it.
type Module struct {
	Mod      GoMod
	Packages []*Package     // sorted by Dir
	Fset     *token.FileSet // holds the positions of every File
}

// A Package is one directory with Go files.
type Package struct {
	Dir     string // slash-separated, relative to the module's root; "." is the root
	Path    string // import path
	Name    string // of the package clause; empty when there are only tests
	Files   []*File
	Tests   []*File  // _test.go files, of the package and of its external test
	Imports []string // of Files, sorted, each once
}

// A File is one parsed Go file.
type File struct {
	Name string // slash-separated, relative to the module's root
	AST  *ast.File
}

// Read parses the module whose go.mod lies at the root of fsys. Directories
// that the go command ignores (testdata, a leading dot or underscore) and
// nested modules are left out.
func Read(fsys fs.FS) (*Module, error) {
	data, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, err
	}
	mod, err := ParseGoMod(string(data))
	if err != nil {
		return nil, err
	}

	m := &Module{Mod: mod, Fset: token.NewFileSet()}
	err = fs.WalkDir(fsys, ".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if dir != "." {
			if name := d.Name(); name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
				return fs.SkipDir
			}
			if _, err := fs.Stat(fsys, path.Join(dir, "go.mod")); err == nil {
				return fs.SkipDir
			}
		}
		p, err := m.readPackage(fsys, dir)
		if p != nil {
			m.Packages = append(m.Packages, p)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(m.Packages, func(a, b *Package) int { return strings.Compare(a.Dir, b.Dir) })
	return m, nil
}

// readPackage parses the Go files of one directory; nil means there are none.
func (m *Module) readPackage(fsys fs.FS, dir string) (*Package, error) {
	names, err := fs.Glob(fsys, path.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	p := &Package{Dir: dir, Path: path.Join(m.Mod.Path, dir)}
	for _, name := range names {
		if base := path.Base(name); strings.HasPrefix(base, "_") || strings.HasPrefix(base, ".") {
			continue
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(m.Fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		f := &File{Name: name, AST: tree}
		if strings.HasSuffix(name, "_test.go") {
			p.Tests = append(p.Tests, f)
			continue
		}
		p.Files = append(p.Files, f)
		p.Name = tree.Name.Name
		for _, spec := range tree.Imports {
			p.Imports = append(p.Imports, ImportPath(spec))
		}
	}
	if len(p.Files)+len(p.Tests) == 0 {
		return nil, nil
	}
	slices.Sort(p.Imports)
	p.Imports = slices.Compact(p.Imports)
	return p, nil
}

// Lookup returns the package with this import path, or nil.
func (m *Module) Lookup(importPath string) *Package {
	for _, p := range m.Packages {
		if p.Path == importPath {
			return p
		}
	}
	return nil
}

// Position renders a position of one of the module's files.
func (m *Module) Position(pos token.Pos) string {
	at := m.Fset.Position(pos)
	return fmt.Sprintf("%s:%d", at.Filename, at.Line)
}

// Public returns the packages that a user may import: those with code that
// are neither internal nor a command nor below examples, bench or sig.
func (m *Module) Public() []*Package {
	var out []*Package
	for _, p := range m.Packages {
		if p.public() {
			out = append(out, p)
		}
	}
	return out
}

// Production returns the packages that ship: the public ones that are no test
// kit, and everything of this module that they import, directly or not. An
// internal package that only tools and tests import is not among them.
func (m *Module) Production() []*Package {
	seen := make(map[*Package]bool)
	for _, p := range m.Packages {
		if p.public() && !p.Kit() {
			seen[p] = true
			for _, dep := range m.Deps(p) {
				seen[dep] = true
			}
		}
	}
	var out []*Package
	for _, p := range m.Packages {
		if seen[p] {
			out = append(out, p)
		}
	}
	return out
}

// Deps returns the packages of this module that p imports, directly or not,
// in the order of Packages. Imports of test files do not count.
func (m *Module) Deps(p *Package) []*Package {
	seen := make(map[*Package]bool)
	var visit func(*Package)
	visit = func(p *Package) {
		for _, imp := range p.Imports {
			if dep := m.Lookup(imp); dep != nil && !seen[dep] {
				seen[dep] = true
				visit(dep)
			}
		}
	}
	visit(p)

	var out []*Package
	for _, q := range m.Packages {
		if seen[q] {
			out = append(out, q)
		}
	}
	return out
}

func (p *Package) public() bool {
	top, _, _ := strings.Cut(p.Dir, "/")
	return len(p.Files) > 0 && p.Name != "main" && !Internal(p.Path) &&
		top != "examples" && top != "bench" && top != "sig"
}

// Kit reports whether p is a test kit: a package that users import from their
// tests, named after the package it helps to test, as futuretest is.
func (p *Package) Kit() bool {
	return path.Base(p.Dir) == path.Base(path.Dir(p.Dir))+"test"
}

// Internal reports whether an import path has an internal element.
func Internal(importPath string) bool {
	return slices.Contains(strings.Split(importPath, "/"), "internal")
}

// ImportPath is the path of an import spec, unquoted.
func ImportPath(spec *ast.ImportSpec) string {
	// The parser has checked that it is a string literal.
	p, _ := strconv.Unquote(spec.Path.Value)
	return p
}

// ImportName returns the name under which a file refers to the package with
// this import path, or "" when the file does not import it. base is the name
// that the package itself has.
func (f *File) ImportName(importPath, base string) string {
	for _, spec := range f.AST.Imports {
		if ImportPath(spec) == importPath {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return base
		}
	}
	return ""
}
