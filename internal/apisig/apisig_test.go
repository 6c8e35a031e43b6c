package apisig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/internal/apisig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// module writes a module of "name: content" files and returns its directory.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	files["go.mod"] = "module example.com/m\n\ngo 1.26.0\n"
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
	}
	return root
}

func read(t *testing.T, files map[string]string) *apisig.Record {
	t.Helper()
	r, err := apisig.Read(module(t, files))
	require.NoError(t, err)
	return r
}

// TestRead/SIG-1_... renders one source of each kind of declaration.
func TestRead(t *testing.T) {
	for _, tc := range []struct{ name, src, want string }{
		{"SIG-1 constants keep their values", `
			const NoQueue = -1
			type Kind int
			const (
				A Kind = iota
				B
				hidden
			)
			const Name, Ratio = "x", 0.5`, `
			const A Kind = 0
			const B Kind = 1
			const Name = "x"
			const NoQueue = -1
			const Ratio = 1/2
			type Kind int`},
		{"SIG-1 variables show the type they have", `
			import "errors"
			import "time"
			var ErrX = errors.New("x")
			var Unit = time.Second
			var F = func(n int) (ok bool) { return n > 0 }
			var hidden = 1`, `
			var ErrX error
			var F func(int) bool
			var Unit time.Duration`},
		{"SIG-1 functions lose parameter names", `
			import "context"
			func New(ctx context.Context, size int, opts ...func(n int) error) (p *Pool, err error) { return }
			func Do(fn func(ctx context.Context, n int) (x, y int)) {}
			func hidden() {}
			type Pool struct{ size int }`, `
			func Do(func(context.Context, int) (int, int))
			func New(context.Context, int, ...func(int) error) (*Pool, error)
			type Pool struct`},
		{"SIG-1 methods show their receiver", `
			type T struct{}
			func (t *T) Close() error { return nil }
			func (T) Len() int { return 0 }
			func (T) hidden() {}
			func (u unseen) Len() int { return 0 }
			type unseen int`, `
			method (*T) Close() error
			method (T) Len() int
			type T struct`},
		{"SIG-1 structs show exported fields alone", `
			import "sync"
			type Config struct {
				Size, Limit int ` + "`json:\"size\"`" + `
				Nested struct{ X int; y string }
				*sync.Mutex
				hidden int
			}`, `
			type Config struct
			type Config struct, Limit int
			type Config struct, Nested struct{ X int; y string }
			type Config struct, Size int
			type Config struct, embedded *sync.Mutex`},
		{"SIG-1 an unexported embedded struct promotes what is exported", `
			type Pool struct { *core; Name string }
			type core struct { Size int; Name int; deeper; size int }
			type deeper struct { Depth int }
			func (*core) Close() {}
			func (deeper) Dive() {}
			func (*core) hidden() {}`, `
			method (Pool) Close()
			method (Pool) Dive()
			type Pool struct
			type Pool struct, Depth int
			type Pool struct, Name string
			type Pool struct, Size int`},
		{"SIG-1 what is hidden, or there twice, is not promoted", `
			type X struct { y; z; F int }
			type y struct { E; F string; *g[int] }
			type z struct { E; deeper }
			type deeper struct { g[string]; Z bool }
			type g[T any] struct { G T }
			type E struct { N int }
			type V struct { y2; x2 }
			type x2 struct { B int }
			type y2 struct { x2 }`, `
			type E struct
			type E struct, N int
			type V struct
			type V struct, B int
			type X struct
			type X struct, F int
			type X struct, G int
			type X struct, Z bool`},
		{"SIG-1 a struct may embed a pointer to itself", `
			type X struct { *x }
			type x struct { *x; N int }
			func (x) Do() {}`, `
			method (X) Do()
			type X struct
			type X struct, N int`},
		{"SIG-1 interfaces show a method a line", `
			import "context"
			type Executor interface { Post(ctx context.Context, task func(context.Context)) error }
			type Both interface { Executor; Close() error }
			type Closed interface { Close() error; hidden() }
			type Empty interface{}`, `
			type Both interface { Close, Post }
			type Both interface, Close() error
			type Both interface, Post(context.Context, func(context.Context)) error
			type Closed interface { Close, unexported methods }
			type Closed interface, Close() error
			type Empty interface {}
			type Executor interface { Post }
			type Executor interface, Post(context.Context, func(context.Context)) error`},
		{"SIG-1 type parameters and constraints are shown", `
			import "iter"
			type Number interface { ~int | ~int64 }
			type Pair[K comparable, V, W any] struct { Key K; Value V; last W }
			func (p *Pair[A, B, C]) Swap() Pair[A, C, B] { panic(0) }
			func Sum[T Number, E interface{ Get() T }, S ~[]E](s S) T { panic(0) }
			func Each[T any](fs ...*Pair[int, T, any]) iter.Seq2[int, T] { return nil }`, `
			func Each[T any](...*Pair[int, T, any]) iter.Seq2[int, T]
			func Sum[T Number, E interface{ Get() T }, S ~[]E](S) T
			method (*Pair[A, B, C]) Swap() Pair[A, C, B]
			type Number interface{ ~int | ~int64 }
			type Pair struct, Key K
			type Pair struct, Value V
			type Pair[K comparable, V, W any] struct`},
		{"SIG-1 aliases are shown as such", `
			import "io"
			type Closer = io.Closer
			type Set[T comparable] = map[T]struct{}
			func Open() (Closer, Set[int]) { panic(0) }`, `
			func Open() (Closer, Set[int])
			type Closer = io.Closer
			type Set[T comparable] = map[T]struct{}`},
		{"SIG-1 the other types", `
			import "unsafe"
			type Task func(n int, err error)
			type Grid [2][]map[string]*byte
			type Chans struct { A chan<- int; B <-chan int; C chan (<-chan int) }
			type Pointer unsafe.Pointer`, `
			type Chans struct
			type Chans struct, A chan<- int
			type Chans struct, B <-chan int
			type Chans struct, C chan (<-chan int)
			type Grid [2][]map[string]*byte
			type Pointer unsafe.Pointer
			type Task func(int, error)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := read(t, map[string]string{"a/a.go": "package a\n" + tc.src})
			want := strings.Split(strings.ReplaceAll(strings.TrimSpace(tc.want), "\t", ""), "\n")
			want[0] = strings.TrimSpace(want[0])
			assert.Equal(t, want, r.Files["a.txt"])
			assert.Empty(t, r.Leaks)
		})
	}
}

// TestFiles/SIG-1_... shows which packages get a file, and under which name.
func TestFiles(t *testing.T) {
	t.Run("SIG-1 files mirror the public packages", func(t *testing.T) {
		r := read(t, map[string]string{
			"root.go":              "package m\nconst R = 1",
			"a/a.go":               "package a\nimport \"example.com/m/a/b\"\nvar X = b.New()",
			"a/a_linux.go":         "package a\nconst OS = \"linux\"",
			"a/a_windows.go":       "package a\nconst OS = \"windows\"",
			"a/a_test.go":          "package a\nconst FromATest = 1",
			"a/b/b.go":             "package b\ntype B struct{}\nfunc New() *B { return nil }",
			"a/atest/kit.go":       "package atest\nimport \"testing\"\nfunc Run(t testing.TB) {}",
			"a/internal/core/c.go": "package core\nfunc C() {}",
			"internal/x/x.go":      "package x\nfunc X() {}",
			"tool/main.go":         "package main\nfunc X() {}",
			"examples/e/e.go":      "package e\nfunc E() {}",
			"sig/sig_test.go":      "package sig_test",
			"bench/go.mod":         "module example.com/m/bench",
			"bench/b.go":           "package bench\nfunc B() {}",
		})
		assert.Equal(t, map[string][]string{
			"m.txt":       {"const R = 1"},
			"a.txt":       {"const OS = \"linux\"", "var X *b.B"},
			"a/b.txt":     {"func New() *B", "type B struct"},
			"a/atest.txt": {"func Run(testing.TB)"},
		}, r.Files)
	})
	t.Run("SIG-1 a file may hold an import alone", func(t *testing.T) {
		r := read(t, map[string]string{"a/a.go": "package a\nfunc A() {}", "a/b.go": "package a\nimport _ \"fmt\""})
		assert.Equal(t, []string{"func A()"}, r.Files["a.txt"])
	})
	t.Run("SIG-1 an import that no declaration needs is not loaded", func(t *testing.T) {
		r := read(t, map[string]string{"a/a.go": `package a
			import "example.com/nowhere"
			func A() { nowhere.X() }`})
		assert.Equal(t, []string{"func A()"}, r.Files["a.txt"])
	})
}

// TestLeaks/SIG-1_... takes each way to mention an internal type in turn.
func TestLeaks(t *testing.T) {
	const id = "package id\ntype ID int\ntype Base struct{ N int }\nfunc (*Base) Do() {}\nvar Zero ID\nconst One ID = 1\n" +
		"type Face interface{ Do() }"
	for _, tc := range []struct {
		name, src string
		want      []string
	}{
		{"SIG-1 parameter", `func F(id.ID) {}`, []string{"func F(id.ID)"}},
		{"SIG-1 result, nested", `func F() map[string][]*id.ID { return nil }`, []string{"func F() map[string][]*id.ID"}},
		{"SIG-1 type argument", `type G[T any] struct{}; func F(G[id.ID]) {}`, []string{"func F(G[id.ID])"}},
		{"SIG-1 constraint", `func F[T id.Face](T) {}`, []string{"func F[T id.Face](T)"}},
		{"SIG-1 method", `type T struct{}; func (T) M() id.ID { return 0 }`, []string{"method (T) M() id.ID"}},
		{"SIG-1 interface method", `type T interface{ M(id.ID) }`, []string{"type T interface, M(id.ID)"}},
		{"SIG-1 exported field", `type T struct{ X id.ID }`, []string{"type T struct, X id.ID"}},
		{"SIG-1 embedded field", `type T struct{ *id.Base }`, []string{"type T struct, embedded *id.Base"}},
		{"SIG-1 embedded field behind an alias", `type base = id.Base; type T struct{ *base }`,
			[]string{"type T struct, embedded *base"}},
		{"SIG-1 promoted method", `type t struct{}; func (t) M() id.ID { return 0 }; type T struct{ t }`,
			[]string{"method (T) M() id.ID"}},
		{"SIG-1 alias", `type T = id.ID`, []string{"type T = id.ID"}},
		{"SIG-1 type declared by another", `type T id.ID`, []string{"type T int"}},
		{"SIG-1 variable", `var V = id.Zero`, []string{"var V id.ID"}},
		{"SIG-1 constant", `const C = id.One`, []string{"const C id.ID = 1"}},

		{"SIG-1 unexported field is no leak", `type T struct{ x id.ID }`, nil},
		{"SIG-1 unexported declarations are no leak", `type t struct{ id.Base }; var v = id.Zero; func f(id.ID) {}`, nil},
		{"SIG-1 unexported method is no leak", `type T struct{}; func (T) m(id.ID) {}`, nil},
		{"SIG-1 type argument of an unexported embedded struct is no leak",
			`type g[T any] struct{ x T }; type T struct{ g[id.ID] }`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := "package a\nimport \"example.com/m/internal/id\"\nvar _ id.ID\n" + strings.ReplaceAll(tc.src, "; ", "\n")
			r := read(t, map[string]string{"internal/id/id.go": id, "a/a.go": src})
			var got []string
			for _, leak := range r.Leaks {
				got = append(got, strings.TrimPrefix(leak, "a.txt: "))
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestReadErrors(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"undefined: Nowhere": {"a/a.go": "package a\nfunc F(Nowhere) {}"},
		"undefined: nowhere": {"a/a.go": "package a\nvar X = nowhere()"},
		"import cycle": {
			"a/a.go": "package a\nimport \"example.com/m/b\"\ntype A b.B",
			"b/b.go": "package b\nimport \"example.com/m/a\"\ntype B struct { a *a.A }",
		},
		"go list":            {"a/a.go": "package a\nimport \"example.com/nowhere\"\nvar X nowhere.T"},
		"expected 'package'": {"a/a.go": "not Go"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := apisig.Read(module(t, files))
			require.ErrorContains(t, err, name)
		})
	}
	_, err := apisig.Read(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestCompare/SIG-1_... breaks a true directory in each way.
func TestCompare(t *testing.T) {
	r := &apisig.Record{Files: map[string][]string{
		"a.txt":   {"func A()", "func B()"},
		"a/b.txt": nil,
	}}
	for _, tc := range []struct {
		name string
		dir  map[string]string
		want []string
	}{
		{"SIG-1 a true directory", map[string]string{"a.txt": "func A()\nfunc B()\n", "a/b.txt": "", "sig_test.go": "x"}, nil},
		{"SIG-1 a changed declaration", map[string]string{"a.txt": "func A(int)\nfunc B()\n", "a/b.txt": ""},
			[]string{"a.txt:\n\t- func A(int)\n\t+ func A()"}},
		{"SIG-1 lines out of order", map[string]string{"a.txt": "func B()\nfunc A()\n", "a/b.txt": ""},
			[]string{"a.txt: the lines are out of order, repeated, or end wrongly"}},
		{"SIG-1 a package without a file", map[string]string{"a/b.txt": ""},
			[]string{"a.txt: the package has no file"}},
		{"SIG-1 a file without a package", map[string]string{"a.txt": "func A()\nfunc B()\n", "a/b.txt": "", "c.txt": ""},
			[]string{"c.txt: the file has no package"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for name, text := range tc.dir {
				fsys[name] = &fstest.MapFile{Data: []byte(text)}
			}
			got, err := r.Compare(fsys)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"stale.txt", "sig_test.go"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o666))
	}
	r := &apisig.Record{Files: map[string][]string{"a.txt": {"func A()"}, "a/b.txt": {"func B()"}}}
	require.NoError(t, r.Write(dir))

	problems, err := r.Compare(os.DirFS(dir))
	require.NoError(t, err)
	assert.Empty(t, problems)
	assert.FileExists(t, filepath.Join(dir, "sig_test.go"))
	assert.NoFileExists(t, filepath.Join(dir, "stale.txt"))

	require.ErrorIs(t, r.Write(filepath.Join(dir, "nowhere")), os.ErrNotExist)
}
