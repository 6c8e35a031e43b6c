package archtest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/internal/archtest"
)

const (
	head = "| ID | What it demands | Guard (where) | Test |\n|---|---|---|---|\n"
	// own are the rows that every module needs, whatever its packages.
	own = head + "| TEST-1 | x | | no test: y |\n| TEST-2 | x | | no test: y |\n" +
		"| TEST-3 | x | | no test: y |\n| TEST-4 | x | | No test, y |\n| TEST-5 | x | | no test (y) |\n" +
		"| TEST-6 | x | | no test: y |\n| TEST-7 | x | | no test: y |\n"
)

func TestRequirementTable(t *testing.T) {
	suite := `package abc
		func TestPost(t *testing.T) {
			t.Run("ABC-1 full queue", f)
			t.Run(fmt.Sprintf("size %d, ABC-2", 1), f)
			for _, tc := range []struct{ name string }{{"ABC-3 ABC-4 in a table"}} {}
			log.Print("see ABC-5, UTF-8 and SHA-256")
			t.Run("UTF-8", f)
		}`
	for _, tc := range []struct {
		name, table string
		want        []string
	}{
		{"TEST-6 a true table", "# Words | with a bar\n" + own +
			"| ABC-1 | a \\| b | `if full` (abc.go) | `TestPost/ABC-1_full_queue` (abc/abc_test.go) |\n" +
			"| ABC-1 | another | guard | abc/abctest/kit.go |\n" +
			"| ABC-2 | x | guard | abc/abc_test.go |\n\n" + head +
			"| ABC-3 | x | guard | abc/abc_test.go, abc/abctest/kit.go |\n" +
			"| ABC-4 | x | guard | abc/abc_test.go |\n" +
			"\n| Other | table |\n|---|---|\n| a | b |\n", nil},
		{"TEST-6 rows that are wrong", own +
			"| ABC-1 | x | guard | abc/nowhere_test.go |\n" +
			"| ABC-2 | x | guard | abc/abc_test.go TestNowhere |\n" +
			"| ABC-3 | x | guard | |\n" +
			"| ABC-4 | x | | no test. |\n" +
			"| ABC-5 | x | guard | abc/abc_test.go |\n" +
			"| ABC-6 | | guard | abc/abc_test.go |\n" +
			"| ABC-1 | x | | abc/abc_test.go |\n" +
			"| ABC | x | guard | abc/abc_test.go |\n" +
			"| ABC-1 | x | guard |\n\n" +
			"| ID | Demand | Guard | Test |\n",
			[]string{
				`:17: not a row of "| ID | What it demands | Guard (where) | Test |"`,
				`:18: not a row of "| ID | What it demands | Guard (where) | Test |"`,
				`:20: the header differs from "| ID | What it demands | Guard (where) | Test |"`,
				":10: ABC-1: abc/nowhere_test.go is no file with tests",
				":10: ABC-1: no test in abc/nowhere_test.go carries the ID in its name",
				":11: ABC-2: no TestNowhere in abc/abc_test.go",
				":12: ABC-3: names no file of a test",
				":13: ABC-4: no reason why there is no test",
				":14: ABC-5: no test in abc/abc_test.go carries the ID in its name",
				":15: ABC-6: no word of what it demands",
				":16: ABC-1: no guard",
			}},
		{"TEST-6 a name after what is not listed", own + "| ABC-1 | x | guard | abc/abc_test.go |\n", []string{
			"abc/abc_test.go names a test after ABC-2, which docs/requirements.md does not list",
			"abc/abc_test.go names a test after ABC-3, which docs/requirements.md does not list",
			"abc/abc_test.go names a test after ABC-4, which docs/requirements.md does not list",
			"abc/abctest/kit.go names a test after ABC-3, which docs/requirements.md does not list",
		}},
		{"TEST-6 requirements that are missing", head + "| ABC-1 | x | g | abc/abc_test.go |\n" +
			"| ABC-2 | x | g | abc/abc_test.go |\n| ABC-3 | x | g | abc/abc_test.go |\n| ABC-4 | x | g | abc/abc_test.go |\n" +
			strings.Replace(own, "| TEST-3 | x | | no test: y |\n", "", 1), []string{" does not list TEST-3"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, fsys := files{
				archtest.Table:       tc.table,
				"abc/abc_test.go":    suite,
				"abc/abctest/kit.go": "package abctest\nfunc Conformance(t *testing.T) { t.Run(\"ABC-1\", f); t.Run(\"ABC-3\", f) }",
			}.read(t)
			got, err := archtest.RequirementTable(fsys, m)
			require.NoError(t, err)
			for i, g := range got {
				got[i] = strings.TrimPrefix(g, archtest.Table)
			}
			assert.Equal(t, tc.want, got)
		})
	}
	t.Run("TEST-6 a package brings its requirements", func(t *testing.T) {
		m, fsys := files{archtest.Table: own, "diagnostics/d.go": "package diagnostics"}.read(t)
		got, err := archtest.RequirementTable(fsys, m)
		require.NoError(t, err)
		assert.Len(t, got, 7)
		assert.Contains(t, got, "docs/requirements.md does not list DIAG-7")
	})
	t.Run("TEST-6 no table", func(t *testing.T) {
		m, fsys := files{}.read(t)
		_, err := archtest.RequirementTable(fsys, m)
		require.ErrorIs(t, err, os.ErrNotExist)
	})
}
