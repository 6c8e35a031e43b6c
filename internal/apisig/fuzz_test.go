package apisig_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-go/cadre/internal/apisig"
)

// packages is a module on disk that is written anew for each input.
type packages struct {
	root    string
	written []string
}

func (m *packages) write(t *testing.T, dir string, files []string) {
	for i, text := range files {
		name := filepath.Join(m.root, dir, fmt.Sprintf("f%d.go", i))
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		m.written = append(m.written, name)
	}
}

func (m *packages) clear() {
	for _, name := range m.written {
		_ = os.Remove(name)
	}
	m.written = nil
}

// generated compares the records of two ways to write one package with what
// the generator says of it.
func (m *packages) generated(t *testing.T, data []byte) {
	seed := uint64(len(data))
	for _, b := range data {
		seed = seed*31 + uint64(b)
	}
	g := generate(data)
	var want []string
	for _, d := range g.decls {
		for _, line := range d.lines {
			want = append(want, strings.ReplaceAll(line, "@", ""))
		}
	}
	slices.Sort(want)
	styles := map[string][]string{}
	for i, dir := range []string{"a", "b"} {
		s := style{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		styles[dir] = s.files(g.decls)
		m.write(t, dir, styles[dir])
	}
	r, err := apisig.Read(m.root)
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(styles["a"], "\n"))
	}
	var leaks []string
	for _, dir := range []string{"a", "b"} {
		if got := r.Files[dir+".txt"]; !slices.Equal(got, want) {
			t.Fatalf("the record is\n%s\nand not\n%s\nof\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), strings.Join(styles[dir], "\n"))
		}
		for _, line := range want {
			if strings.Contains(line, "id.ID") {
				leaks = append(leaks, dir+".txt: "+line)
			}
		}
	}
	if !slices.Equal(r.Leaks, leaks) {
		t.Fatalf("the leaks are %q and not %q", r.Leaks, leaks)
	}
}

// source compares the record of a source with those of the same declarations
// backwards, without comments and in two files, and sees to it that the record
// has what is exported.
func (m *packages) source(t *testing.T, src string) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	// Of imports and build constraints the record says nothing.
	if err != nil || len(f.Imports) > 0 || strings.Contains(src, "build") {
		return
	}
	m.write(t, "a", []string{src})
	r, err := apisig.Read(m.root)
	if err != nil || len(r.Files) == 0 { // a command
		return
	}
	lines := r.Files["a.txt"]
	if compact := slices.Compact(slices.Clone(lines)); !slices.IsSorted(lines) || len(compact) < len(lines) {
		t.Fatalf("out of order, or repeated:\n%s", strings.Join(lines, "\n"))
	}
	requireExported(t, f, lines)

	record := func() []string {
		m.write(t, "b", backwards(t, fset, f))
		r, err := apisig.Read(m.root)
		if err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		return r.Files["b.txt"]
	}
	if got := record(); !slices.Equal(got, lines) {
		t.Fatalf("the record of\n%s\nis\n%s\nand backwards\n%s", src, strings.Join(lines, "\n"), strings.Join(got, "\n"))
	}
	if name := change(f); name != "" {
		differ := slices.DeleteFunc(record(), func(line string) bool { return slices.Contains(lines, line) })
		if len(differ) != 1 || !strings.HasPrefix(differ[0], "func "+name) {
			t.Fatalf("one more parameter of %s changes %q in\n%s", name, differ, src)
		}
	}
}

// backwards writes the declarations of f in two files, without comments.
func backwards(t *testing.T, fset *token.FileSet, f *ast.File) []string {
	halves := []string{"package p\n", "package p\n"}
	for i, d := range slices.Backward(f.Decls) {
		var b strings.Builder
		if err := printer.Fprint(&b, fset, d); err != nil {
			t.Fatal(err)
		}
		halves[i%2] += b.String() + "\n"
	}
	return halves
}

// change gives the first exported function one more parameter.
func change(f *ast.File) (name string) {
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.IsExported() {
			more := &ast.Field{Type: ast.NewIdent("uintptr")}
			if params := d.Type.Params.List; len(params) == 0 || len(params[0].Names) > 0 {
				more.Names = []*ast.Ident{ast.NewIdent("_")}
			}
			d.Type.Params.List = slices.Insert(d.Type.Params.List, 0, more)
			return d.Name.Name
		}
	}
	return ""
}

// FuzzListing reads the record of sources. A text that begins with a package
// clause is a source as it is; any other is a program for the generator.
func FuzzListing(f *testing.F) {
	f.Add("\x01\x09\x01\x01\x03\x05\x01\x07\x02\x08\x02\x01\x03\x01\x02\x03\x02\x02\x0a\x01\x01\x00\x01\x01\x01\x02\x03")
	for i := range 32 {
		data := make([]byte, 20+i*6)
		rnd := rand.New(rand.NewPCG(278, uint64(i)))
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		f.Add(string(data))
	}
	f.Add("package p\ntype X struct{ *x; a int }\ntype x struct{ *x; A, b int }\nfunc (*x) M() {}\nfunc (X) N(a int) (b bool)\n")
	f.Add("package p\ntype X struct{ y int; *a; *b }\ntype a struct{ E; *c[int] }\ntype b struct{ E; *c[string] }\ntype c[T any] struct{ F T }\ntype E struct{ G int }\n")
	f.Add("package p\nconst (\n\tA, b = iota, -iota\n\tC, d\n)\nvar X, y = func(a int) (b []E) { return }, A\ntype E interface{ M() E; comparable; ~int | ~[]uint8 }\n")
	f.Add("package p\ntype T[K comparable, V any] struct{ m map[K]V }\nfunc (t *T[_, V]) Get(k int) (v V, ok bool) {}\nfunc New[K comparable, V any]() *T[K, V] {}\ntype A[P any] = T[string, P]\n")

	m := &packages{root: f.TempDir()}
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26.0\n", "internal/id/id.go": "package id\ntype ID int\n", "a/.keep": "", "b/.keep": "",
	} {
		file := filepath.Join(m.root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		defer m.clear()
		if strings.HasPrefix(text, "package") {
			m.source(t, text[:min(len(text), 4000)])
		} else {
			m.generated(t, []byte(text[:min(len(text), 400)]))
		}
	})
}
