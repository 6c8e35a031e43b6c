package archtest_test

import (
	"os"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/internal/archtest"
	"github.com/cadre-go/cadre/internal/modtree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// here is the module itself.
var here = os.DirFS("../..")

var module = sync.OnceValues(func() (*modtree.Module, error) { return modtree.Read(here) })

// TestModule runs every check on this module.
func TestModule(t *testing.T) {
	m, err := module()
	require.NoError(t, err)
	require.NotEmpty(t, m.Production())

	for name, check := range map[string]func(*modtree.Module) []string{
		"TEST-5 import direction":                        archtest.ImportDirection,
		"TEST-5 production imports the standard library": archtest.ProductionImports,
		"TEST-5 cores are pure":                          archtest.Cores,
		"TEST-1 no sleep":                                archtest.Sleeps,
		"TEST-1 no skip":                                 archtest.Skips,
		"TEST-2 goleak without an ignore list":           archtest.LeakChecks,
		"TEST-5 go.mod": func(m *modtree.Module) []string {
			return archtest.Requirements(m.Mod)
		},
	} {
		t.Run(name, func(t *testing.T) { report(t, check(m), nil) })
	}
	t.Run("TEST-5 the top directory", func(t *testing.T) {
		out, err := archtest.TopLevel(here)
		report(t, out, err)
	})
	t.Run("TEST-6 the table of requirements", func(t *testing.T) {
		out, err := archtest.RequirementTable(here, m)
		report(t, out, err)
	})
}

func report(t *testing.T, findings []string, err error) {
	t.Helper()
	require.NoError(t, err)
	for _, f := range findings {
		t.Error(f)
	}
}

type files map[string]string

// read makes a module of "name: content" pairs.
func (f files) read(t *testing.T) (*modtree.Module, fstest.MapFS) {
	t.Helper()
	fsys := fstest.MapFS{"go.mod": {Data: []byte("module m.example\n\ngo 1.26.0\n")}}
	for name, text := range f {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	m, err := modtree.Read(fsys)
	require.NoError(t, err)
	return m, fsys
}

// A broken tree and what a check finds in it.
type broken struct {
	name  string
	files files
	want  []string
}

func run(t *testing.T, check func(*modtree.Module) []string, cases []broken) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			m, _ := tc.files.read(t)
			assert.Equal(t, tc.want, check(m))
		})
	}
}

func TestImportDirection(t *testing.T) {
	run(t, archtest.ImportDirection, []broken{
		{"TEST-5 downwards is fine", files{
			"diagnostics/d.go":             "package diagnostics",
			"future/f.go":                  "package future\nimport (\"m.example/diagnostics\"; \"m.example/internal/x\")",
			"timer/t.go":                   "package timer\nimport (\"m.example/future\"; \"m.example/timer/internal/schedule\")",
			"timer/internal/schedule/s.go": "package schedule",
			"timer/timertest/k.go":         "package timertest\nimport (\"m.example/timer\"; \"m.example/future/futuretest\")",
			"future/futuretest/k.go":       "package futuretest\nimport \"m.example/future\"",
			"executor/lease/l.go":          "package lease\nimport \"m.example/executor\"",
			"executor/e.go":                "package executor\nimport \"m.example/timer\"",
			"internal/x/x.go":              "package x",
		}, nil},
		{"TEST-5 upwards", files{
			"future/f.go": "package future\nimport \"m.example/timer\"",
			"timer/t.go":  "package timer",
		}, []string{"future imports timer, which is no lower layer"}},
		{"TEST-5 upwards by way of internal", files{
			"future/f.go":     "package future\nimport \"m.example/internal/x\"",
			"internal/x/x.go": "package x\nimport \"m.example/executor\"",
			"executor/e.go":   "package executor",
		}, []string{"future imports executor, which is no lower layer"}},
		{"TEST-5 into a part of a higher layer", files{
			"executor/e.go":       "package executor\nimport \"m.example/executor/lease\"",
			"executor/lease/l.go": "package lease",
		}, []string{"executor imports executor/lease, which is no lower layer"}},
		{"TEST-5 sideways", files{
			"executor/lease/l.go":      "package lease\nimport \"m.example/executor/supervised\"",
			"executor/supervised/s.go": "package supervised",
		}, []string{"executor/lease imports executor/supervised, which is no lower layer"}},
		{"TEST-5 a test kit in production", files{
			"timer/t.go":             "package timer\nimport \"m.example/future/futuretest\"",
			"future/futuretest/k.go": "package futuretest",
		}, []string{"timer imports the test kit future/futuretest"}},
		{"TEST-5 a package without a layer", files{
			"pool/p.go": "package pool",
		}, []string{"pool belongs to no layer"}},
	})
}

func TestProductionImports(t *testing.T) {
	run(t, archtest.ProductionImports, []broken{
		{"TEST-5 kits, tools, tests and benclock are free", files{
			"timer/t.go":              "package timer\nimport \"log/slog\"",
			"timer/t_test.go":         "package timer\nimport \"pgregory.net/rapid\"",
			"timer/benclock/b.go":     "package benclock\nimport (\"github.com/benbjohnson/clock\"; \"m.example/timer\")",
			"timer/timertest/k.go":    "package timertest\nimport \"github.com/benbjohnson/clock\"",
			"internal/tool/x.go":      "package tool\nimport \"github.com/stretchr/testify\"",
			"examples/quick/main.go":  "package main\nimport \"github.com/stretchr/testify\"",
			"internal/shared/free.go": "package shared\nimport \"unsafe\"",
		}, nil},
		{"TEST-5 third party", files{
			"timer/t.go": "package timer\nimport \"github.com/benbjohnson/clock\"",
		}, []string{"timer imports github.com/benbjohnson/clock"}},
		{"TEST-5 third party in what production shares", files{
			"timer/t.go":      "package timer\nimport \"m.example/internal/x\"",
			"internal/x/x.go": "package x\nimport \"golang.org/x/sync/errgroup\"",
		}, []string{"internal/x imports golang.org/x/sync/errgroup"}},
		{"TEST-5 unsafe, cgo and linkname", files{
			"timer/t.go": "package timer\nimport \"C\"\nimport _ \"unsafe\"\n//go:linkname now runtime.now\nfunc now() int64",
		}, []string{`timer imports "C"`, `timer imports "unsafe"`, "timer/t.go:4: a linkname"}},
	})
}

func TestCores(t *testing.T) {
	core := func(src string) files {
		return files{
			"timer/t.go":                   "package timer",
			"timer/internal/schedule/s.go": "package schedule\n" + src,
		}
	}
	at := func(line string) []string { return []string{"timer/internal/schedule/s.go:" + line} }
	run(t, archtest.Cores, []broken{
		{"TEST-5 a pure core", core(`import "time"
			type Set struct { due []time.Time; gap time.Duration }
			func (s *Set) Pop(now time.Time) bool { return -s.gap < time.Second && !now.Before(s.due[0]) }`), nil},
		{"TEST-5 a test of a core is free", files{
			"timer/t.go":                        "package timer",
			"timer/internal/schedule/s.go":      "package schedule",
			"timer/internal/schedule/s_test.go": "package schedule\nimport \"sync\"\nvar mu sync.Mutex",
		}, nil},
		{"TEST-5 goroutine", core("func f() { go f() }"), at("2: a goroutine")},
		{"TEST-5 channel", core("var c chan int"), at("2: a channel")},
		{"TEST-5 channel send", core("func f(c C) { c <- 1 }"), at("2: a channel send")},
		{"TEST-5 channel receive", core("func f(c C) { <-c }"), at("2: a channel receive")},
		{"TEST-5 select", core("func f() { select {} }"), at("2: a select")},
		{"TEST-5 lock", core("import \"sync\""), at("2: imports sync")},
		{"TEST-5 atomic", core("import \"sync/atomic\""), at("2: imports sync/atomic")},
		{"TEST-5 context", core("import \"context\""), at("2: imports context")},
		{"TEST-5 clock", core("import \"time\"\nvar x = time.Now()"), at("3: a clock: time.Now")},
		{"TEST-5 clock under another name", core("import t \"time\"\nvar f = t.Since"), at("3: a clock: time.Since")},
		{"TEST-5 clock behind a dot", core("import . \"time\"\nvar x = Now()"),
			at("2: imports time with a dot, which hides what is used")},
		{"TEST-5 a missing core", files{
			"executor/lease/l.go":      "package lease",
			"executor/supervised/s.go": "package supervised",
		}, []string{
			"executor/lease has no pure core executor/lease/internal/sched",
			"executor/supervised has no pure core executor/supervised/internal/fold",
		}},
	})
}

func TestHabits(t *testing.T) {
	t.Run("TEST-1 sleep", func(t *testing.T) {
		run(t, archtest.Sleeps, []broken{
			{"TEST-1 in a bubble and in an example", files{
				"a/a_test.go": `package a
					import ("testing"; "testing/synctest"; "time")
					func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { func() { time.Sleep(1) }() }) }`,
				"examples/e/main.go": "package main\nimport \"time\"\nfunc main() { time.Sleep(1) }",
			}, nil},
			{"TEST-1 outside of bubbles", files{
				"a/a.go":             "package a\nimport \"time\"\nfunc F() { time.Sleep(1) }",
				"a/a_test.go":        "package a\nimport \"time\"\nfunc f() { time.Sleep(1) }",
				"a/atest/a.go":       "package atest\nimport \"time\"\nvar pause = time.Sleep",
				"examples/e_test.go": "package e\nimport clock \"time\"\nfunc f() { clock.Sleep(1) }",
				"b/b_test.go": `package b
					import ("testing"; "testing/synctest"; "time")
					func TestB(t *testing.T) {
						synctest.Test(t, helper(time.Sleep))
						other.Test(t, func(t *testing.T) { time.Sleep(1) })
					}`,
			}, []string{
				"a/a.go:3: time.Sleep outside a synctest bubble",
				"a/a_test.go:3: time.Sleep outside a synctest bubble",
				"a/atest/a.go:3: time.Sleep outside a synctest bubble",
				"b/b_test.go:4: time.Sleep outside a synctest bubble",
				"b/b_test.go:5: time.Sleep outside a synctest bubble",
				"examples/e_test.go:3: time.Sleep outside a synctest bubble",
			}},
		})
	})
	t.Run("TEST-1 skip", func(t *testing.T) {
		run(t, archtest.Skips, []broken{
			{"TEST-1 skips in tests and kits", files{
				"a/a.go":       "package a\nfunc F(t T) { t.Skip() }",
				"a/a_test.go":  "package a\nfunc f(t T) {\n t.Skip()\n t.Skipf(``)\n t.SkipNow()\n t.Skipped()\n}",
				"a/atest/a.go": "package atest\nfunc f(t T) { t.SkipNow() }",
			}, []string{
				"a/a_test.go:3: a call of Skip",
				"a/a_test.go:4: a call of Skipf",
				"a/a_test.go:5: a call of SkipNow",
				"a/atest/a.go:2: a call of SkipNow",
			}},
		})
	})
	t.Run("TEST-2 goleak", func(t *testing.T) {
		const head = "import (\"testing\"; \"go.uber.org/goleak\")\n"
		run(t, archtest.LeakChecks, []broken{
			{"TEST-2 with and without tests", files{
				"a/a_test.go": "package a\n" + head + "func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }",
				"a/b_test.go": "package a_test",
				"b/b.go":      "package b",
			}, nil},
			{"TEST-2 no TestMain", files{
				"a/a_test.go": "package a\n" + head + "func TestA(t *testing.T) { goleak.VerifyNone(t) }",
				"b/b_test.go": "package b\nfunc TestMain(m *testing.M) { m.Run() }",
				"c/c_test.go": "package c\n" + head + "func testMain(m *testing.M) { goleak.VerifyTestMain(m) }",
			}, []string{
				"a has no TestMain that calls goleak.VerifyTestMain without options",
				"b has no TestMain that calls goleak.VerifyTestMain without options",
				"c has no TestMain that calls goleak.VerifyTestMain without options",
			}},
			{"TEST-2 options", files{
				"a/a_test.go": "package a\n" + head +
					"func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }",
				"b/b_test.go": "package b\n" + head + "func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }\n" +
					"func TestB(t *testing.T) { goleak.VerifyNone(t, goleak.IgnoreTopFunction(``)) }",
			}, []string{
				"a/a_test.go:3: goleak is told to ignore a goroutine",
				"a has no TestMain that calls goleak.VerifyTestMain without options",
				"b/b_test.go:4: goleak is told to ignore a goroutine",
			}},
		})
	})
}

func TestRequirements(t *testing.T) {
	const true_ = "module m\ngo 1.26.0\nrequire (\ngithub.com/benbjohnson/clock v1\ngithub.com/stretchr/testify v1\n" +
		"go.uber.org/goleak v1\npgregory.net/rapid v1\nexample.com/x v1 // indirect\n)\n"
	for _, tc := range []struct {
		name, mod string
		want      []string
	}{
		{"TEST-5 the four", true_, nil},
		{"TEST-5 another version and fewer", "module m\ngo 1.27.0\nrequire go.uber.org/goleak v1", []string{
			"go.mod says go 1.27.0, want 1.26.0",
			"go.mod does not require github.com/benbjohnson/clock",
			"go.mod does not require github.com/stretchr/testify",
			"go.mod does not require pgregory.net/rapid",
		}},
		{"TEST-5 one more and a replacement", true_ + "require example.com/y v1\nreplace example.com/y => ../y", []string{
			"go.mod has a directive replace",
			"go.mod requires example.com/y",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mod, err := modtree.ParseGoMod(tc.mod)
			require.NoError(t, err)
			assert.Equal(t, tc.want, archtest.Requirements(mod))
		})
	}
}

func TestTopLevel(t *testing.T) {
	t.Run("TEST-5 strangers and leftovers", func(t *testing.T) {
		_, fsys := files{
			".gitignore": "# comment\n\n/.idea/\n*.out\n!keep\n/a/b\n",
			"cpu.out":    "", ".idea/x": "", "timer/t.go": "package timer", "keep": "", "utils/u.go": "package utils", "TODO.md": "",
		}.read(t)
		out, err := archtest.TopLevel(fsys)
		require.NoError(t, err)
		assert.Equal(t, []string{
			"the top directory holds TODO.md",
			"the top directory holds keep",
			"the top directory holds utils",
		}, out)
	})
	t.Run("TEST-5 no .gitignore", func(t *testing.T) {
		_, fsys := files{}.read(t)
		_, err := archtest.TopLevel(fsys)
		require.ErrorIs(t, err, os.ErrNotExist)
	})
}
