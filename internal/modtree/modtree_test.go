package modtree_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/internal/modtree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree makes a file system of "name: content" pairs beside a small go.mod.
func tree(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{"go.mod": {Data: []byte("module example.com/m\n\ngo 1.26.0\n")}}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func dirs(ps []*modtree.Package) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Dir)
	}
	return strings.Join(out, " ")
}

func TestRead(t *testing.T) {
	m, err := modtree.Read(tree(map[string]string{
		"a/a.go":                 "package a\nimport (\"fmt\"; s \"example.com/m/internal/shared\")\nvar _ = fmt.Sprint(s.X)",
		"a/a_test.go":            "package a_test\nimport \"example.com/m/internal/tool\"",
		"a/_skip.go":             "not Go",
		"a/testdata/x.go":        "not Go",
		"a/atest/kit.go":         "package atest\nimport \"example.com/m/a\"",
		"a/internal/core/c.go":   "package core",
		"internal/shared/s.go":   "package shared\nimport \"example.com/m/internal/deeper\"",
		"internal/deeper/d.go":   "package deeper",
		"internal/tool/t.go":     "package tool",
		"internal/tool/cmd/m.go": "package main",
		"examples/e/e.go":        "package e",
		"sig/sig_test.go":        "package sig_test",
		"bench/go.mod":           "module example.com/m/bench",
		"bench/b.go":             "not Go",
		".hidden/h.go":           "not Go",
	}))
	require.NoError(t, err)

	assert.Equal(t, "a a/atest a/internal/core examples/e internal/deeper internal/shared "+
		"internal/tool internal/tool/cmd sig", dirs(m.Packages))
	assert.Equal(t, "a a/atest", dirs(m.Public()))
	assert.Equal(t, "a internal/deeper internal/shared", dirs(m.Production()))

	a := m.Lookup("example.com/m/a")
	require.NotNil(t, a)
	assert.Equal(t, []string{"example.com/m/internal/shared", "fmt"}, a.Imports)
	assert.Len(t, a.Tests, 1)
	assert.Equal(t, "s", a.Files[0].ImportName("example.com/m/internal/shared", "shared"))
	assert.Equal(t, "fmt", a.Files[0].ImportName("fmt", "fmt"))
	assert.Empty(t, a.Files[0].ImportName("time", "time"))
	assert.Equal(t, "a/a.go:3", m.Position(a.Files[0].AST.Decls[1].Pos()))
	assert.Nil(t, m.Lookup("fmt"))
}

func TestReadErrors(t *testing.T) {
	_, err := modtree.Read(fstest.MapFS{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = modtree.Read(fstest.MapFS{"go.mod": {Data: []byte("go 1.26.0")}})
	require.ErrorContains(t, err, "no module line")
	_, err = modtree.Read(tree(map[string]string{"a/a.go": "not Go"}))
	require.ErrorContains(t, err, "a/a.go")
}

func TestParseGoMod(t *testing.T) {
	m, err := modtree.ParseGoMod(`// A comment.
module example.com/m // another

go 1.26.0

require example.com/z v1.0.0
require (
	example.com/y v0.1.0 // indirect
	example.com/x v1.2.3
)

replace (
	example.com/x => ../x
)
`)
	require.NoError(t, err)
	assert.Equal(t, modtree.GoMod{
		Path:       "example.com/m",
		Go:         "1.26.0",
		Direct:     []string{"example.com/x v1.2.3", "example.com/z v1.0.0"},
		Directives: []string{"go", "module", "replace", "require"},
	}, m)

	for _, bad := range []string{"module", "module m\ngo", "module m\nrequire x"} {
		_, err := modtree.ParseGoMod(bad)
		require.ErrorContains(t, err, "go.mod:", bad)
	}
}

func TestKit(t *testing.T) {
	for dir, want := range map[string]bool{
		"future/futuretest": true, "executor/lease/leasetest": true,
		"future": false, "internal/archtest": false, "timer/benclock": false,
	} {
		assert.Equal(t, want, (&modtree.Package{Dir: dir}).Kit(), dir)
	}
}
