package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const profile = `mode: atomic
m.example/a/a.go:10.2,12.3 3 1
m.example/a/a.go:3.2,4.3 1 0
m.example/a/a.go:20.2,20.9 0 0
m.example/b/c/c.go:1.1,2.2 19 1
m.example/b/c/c.go:3.1,4.2 1 0
m.example/b/c/c.go:3.1,4.2 1 2
`

func TestReport(t *testing.T) {
	t.Run("TEST-7 a package below the floor", func(t *testing.T) {
		packages, err := parse(strings.NewReader(profile), "m.example")
		require.NoError(t, err)

		var out strings.Builder
		assert.False(t, report(&out, packages, 95))
		assert.Equal(t, []string{
			"a 75.0% of 4 statements below 95.0%", "a/a.go:3-4 (1)", "b/c 100.0% of 20 statements",
		}, lines(out.String()))
		assert.True(t, report(io.Discard, packages, 75))
	})
	t.Run("TEST-7 nothing to cover", func(t *testing.T) {
		packages, err := parse(strings.NewReader("mode: atomic\nm/a/a.go:1.1,1.2 0 0\n"), "m")
		require.NoError(t, err)
		assert.True(t, report(io.Discard, packages, 100))
	})
}

// lines returns the lines that are not empty, with single spaces.
func lines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			out = append(out, strings.Join(words, " "))
		}
	}
	return out
}

func TestParseErrors(t *testing.T) {
	for _, bad := range []string{"nonsense", "a/a.go:1.1,2.2 1 99999999999999999999", strings.Repeat("x", 1<<17)} {
		_, err := parse(strings.NewReader(bad), "m")
		require.Error(t, err)
	}
}

// TestRun runs the go command on a small module.
func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":          "module m.example\n\ngo 1.26.0\n",
		"a/a.go":          "package a\n\nfunc A(ok bool) int {\n\tif ok {\n\t\treturn 1\n\t}\n\treturn 0\n}\n",
		"a/a_test.go":     "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { A(true) }\n",
		"b/b.go":          "package b\n\nimport \"m.example/internal/c\"\n\nfunc B() { c.C() }\n",
		"b/b_test.go":     "package b\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { B() }\n",
		"internal/c/c.go": "package c\n\nfunc C() {\n\tprintln()\n}\n",
		"internal/d/d.go": "package d\n\nfunc D() {}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
	}
	t.Run("TEST-7 each package by its own tests", func(t *testing.T) {
		var out strings.Builder
		ok, err := run(&out, 95, nil)
		require.NoError(t, err)
		assert.False(t, ok)
		got := lines(out.String())
		assert.Subset(t, got, []string{
			"a 66.7% of 3 statements below 95.0%", "a/a.go:7-7 (1)",
			"b 100.0% of 1 statements",
			"internal/c 0.0% of 1 statements below 95.0%", "internal/c/c.go:3-5 (1)",
		})
		assert.NotContains(t, out.String(), "internal/d")
	})
	t.Run("TEST-7 named directories", func(t *testing.T) {
		ok, err := run(io.Discard, 95, []string{"b"})
		require.NoError(t, err)
		assert.True(t, ok)
	})
	t.Run("TEST-7 a test that fails", func(t *testing.T) {
		red := "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Fail() }\n"
		require.NoError(t, os.WriteFile("a/a_test.go", []byte(red), 0o666))
		_, err := run(io.Discard, 0, []string{"a"})
		require.ErrorContains(t, err, "go test")
	})
}
