package apisig

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cadre-go/cadre/internal/modtree"
)

// A loader type-checks this module's packages from their parsed trees. Function
// bodies are skipped, and so are the imports that only they use. All other
// packages come from the export data that the go command keeps in its build
// cache: reading it takes a tenth of the time that checking their source does,
// which tells under the race detector.
type loader struct {
	mod    *modtree.Module
	files  map[*modtree.Package][]*ast.File // trimmed
	others types.Importer
	pkgs   map[string]*types.Package // a nil entry is a package being loaded
	rhs    map[token.Pos]types.Type  // by position of a type's name: what its declaration says
}

func newLoader(root string, mod *modtree.Module) (*loader, error) {
	l := &loader{
		mod:   mod,
		files: make(map[*modtree.Package][]*ast.File),
		pkgs:  make(map[string]*types.Package),
		rhs:   make(map[token.Pos]types.Type),
	}
	foreign := make(map[string]bool)
	for _, public := range mod.Public() {
		for _, p := range append(mod.Deps(public), public) {
			if l.files[p] != nil {
				continue
			}
			dir := filepath.Join(root, filepath.FromSlash(p.Dir))
			for _, f := range p.Files {
				ok, err := build.Default.MatchFile(dir, path.Base(f.Name))
				if err != nil {
					return nil, err
				}
				if !ok {
					continue
				}
				file, imports := trim(f.AST)
				l.files[p] = append(l.files[p], file)
				for _, imp := range imports {
					if mod.Lookup(imp) == nil && imp != "unsafe" {
						foreign[imp] = true
					}
				}
			}
		}
	}
	exports, err := exportData(root, slices.Sorted(maps.Keys(foreign)))
	if err != nil {
		return nil, err
	}
	l.others = importer.ForCompiler(mod.Fset, "gc", func(importPath string) (io.ReadCloser, error) {
		return os.Open(exports[importPath])
	})
	return l, nil
}

// exportData asks the go command, in the module's directory, for the files with
// the export data of these packages.
func exportData(root string, importPaths []string) (map[string]string, error) {
	exports := make(map[string]string)
	if len(importPaths) == 0 {
		return exports, nil
	}
	args := append([]string{"list", "-export", "-f", "{{.ImportPath}}\t{{.Export}}"}, importPaths...)
	list := exec.Command("go", args...)
	list.Dir = root
	list.Env = append(list.Environ(), "CGO_ENABLED=0") // the exported API is the same without
	var stderr strings.Builder
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	for line := range strings.Lines(string(out)) {
		importPath, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[importPath] = file
	}
	return exports, nil
}

// Import is the types.Importer that a package under load sees.
func (l *loader) Import(importPath string) (*types.Package, error) {
	if importPath == "unsafe" {
		return types.Unsafe, nil
	}
	if p := l.mod.Lookup(importPath); p != nil {
		return l.load(p)
	}
	return l.others.Import(importPath)
}

func (l *loader) load(p *modtree.Package) (*types.Package, error) {
	if pkg, ok := l.pkgs[p.Path]; ok {
		if pkg == nil {
			return nil, fmt.Errorf("import cycle through %s", p.Path)
		}
		return pkg, nil
	}
	l.pkgs[p.Path] = nil

	var errs []error
	conf := types.Config{
		GoVersion:        "go" + l.mod.Mod.Go,
		IgnoreFuncBodies: true,
		Importer:         l,
		Error:            func(err error) { errs = append(errs, err) },
	}
	info := types.Info{Types: make(map[ast.Expr]types.TypeAndValue)}
	pkg, _ := conf.Check(p.Path, l.mod.Fset, l.files[p], &info)
	if len(errs) > 0 {
		return nil, fmt.Errorf("%s: %w", p.Path, errors.Join(errs...))
	}
	for _, f := range l.files[p] {
		for _, decl := range f.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.TYPE {
				for _, spec := range gen.Specs {
					spec := spec.(*ast.TypeSpec)
					l.rhs[spec.Name.Pos()] = info.Types[spec.Type].Type
				}
			}
		}
	}
	l.pkgs[p.Path] = pkg
	return pkg, nil
}

// version matches the last element of an import path that does not tell the
// package's name, as in math/rand/v2 or yaml.v3.
var version = regexp.MustCompile(`^v[0-9]+$|[^A-Za-z0-9_]`)

// trim returns the file without the imports that nothing outside a function
// body refers to, and the import paths that are left. An import whose name
// cannot be told from its path stays.
func trim(f *ast.File) (*ast.File, []string) {
	used := make(map[string]bool)
	mark := func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			used[id.Name] = true
		}
		return true
	}
	out := *f
	out.Decls = nil
	var imports []string
	for _, decl := range f.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			if fn.Recv != nil {
				ast.Inspect(fn.Recv, mark)
			}
			ast.Inspect(fn.Type, mark)
		} else if gen := decl.(*ast.GenDecl); gen.Tok != token.IMPORT {
			ast.Inspect(gen, mark)
		}
	}
	for _, decl := range f.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.IMPORT {
			out.Decls = append(out.Decls, decl)
			continue
		}
		kept := *gen
		kept.Specs = nil
		for _, spec := range gen.Specs {
			spec := spec.(*ast.ImportSpec)
			name := path.Base(modtree.ImportPath(spec))
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if used[name] || name == "." || version.MatchString(name) {
				kept.Specs = append(kept.Specs, spec)
				imports = append(imports, modtree.ImportPath(spec))
			}
		}
		if len(kept.Specs) > 0 { // a declaration of nothing has no end
			out.Decls = append(out.Decls, &kept)
		}
	}
	return &out, imports
}
