package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cadre-go/cadre/internal/modtree"
)

// Table is the file that maps a requirement to its guard and its test.
const Table = "docs/requirements.md"

// header is the first line of a table of requirements.
const header = "| ID | What it demands | Guard (where) | Test |"

// families are the requirements that the table lists at least, once the
// directory that they are about exists.
var families = []struct {
	prefix string
	dir    string
	ranges [][2]int // first and last
}{
	{"DIAG", "diagnostics", [][2]int{{1, 7}}},
	{"FUT", "future", [][2]int{{1, 12}}},
	{"TIMER", "timer", [][2]int{{1, 9}}},
	{"EXEC", "executor", [][2]int{{1, 23}}},
	{"LEASE", "executor/lease", [][2]int{{1, 85}}},
	{"SUP", "executor/supervised", [][2]int{
		{1, 14}, {20, 25}, {30, 38}, {40, 46}, {50, 78}, {80, 90}, {95, 98}, {100, 111}, {120, 121},
	}},
	{"SIG", "sig", [][2]int{{1, 1}}},
	{"EX", "examples", [][2]int{{1, 1}}},
	{"TEST", ".", [][2]int{{1, 7}}},
}

var (
	idPattern   = regexp.MustCompile(`\b([A-Z]+)-[0-9]+\b`)
	filePattern = regexp.MustCompile(`[\w./-]+\.go\b`)
	funcPattern = regexp.MustCompile(`\b(?:Test|Fuzz|Example)\w*\b`)
)

// A row is one line of a table of requirements.
type row struct {
	line               int
	id                 string
	demand, guard, tst string
}

// untested reports whether the row says that there is no test, and why.
func (r row) untested() bool { return strings.HasPrefix(strings.ToLower(r.tst), "no test") }

// RequirementTable checks the table against the tests: every requirement is
// listed; a row names the file, and if it likes the function, of a test that
// exists and carries the row's ID in its name or a subtest's; and an ID in the
// name of a test is one that the table lists.
//
// A requirement may have several rows, one for each guard. A row without a
// test says "no test" and the reason. A name is a string literal that is passed
// to a method Run, or that starts with an ID, as the names in a table of cases
// do.
func RequirementTable(fsys fs.FS, m *modtree.Module) ([]string, error) {
	data, err := fs.ReadFile(fsys, Table)
	if err != nil {
		return nil, err
	}
	rows, out := parseTable(string(data))

	prefixes := make(map[string]bool)
	listed := make(map[string]bool)
	for _, f := range families {
		prefixes[f.prefix] = true
	}
	for _, r := range rows {
		prefixes[idPattern.FindStringSubmatch(r.id)[1]] = true
		listed[r.id] = true
	}
	for _, f := range families {
		if _, err := fs.Stat(fsys, f.dir); err != nil {
			continue
		}
		for _, r := range f.ranges {
			for n := r[0]; n <= r[1]; n++ {
				if id := f.prefix + "-" + strconv.Itoa(n); !listed[id] {
					out = append(out, fmt.Sprintf("%s does not list %s", Table, id))
				}
			}
		}
	}

	files := make(map[string]*testNames)
	for _, p := range m.Packages {
		tests := p.Tests
		if p.Kit() {
			tests = slices.Concat(p.Files, p.Tests)
		}
		for _, f := range tests {
			files[f.Name] = namesOf(f, prefixes)
		}
	}
	for _, r := range rows {
		for _, problem := range r.check(files) {
			out = append(out, fmt.Sprintf("%s:%d: %s: %s", Table, r.line, r.id, problem))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, id := range slices.Sorted(maps.Keys(files[name].ids)) {
			if !listed[id] {
				out = append(out, fmt.Sprintf("%s names a test after %s, which %s does not list", name, id, Table))
			}
		}
	}
	return out, nil
}

// check compares one row with the tests.
func (r row) check(files map[string]*testNames) []string {
	if r.demand == "" {
		return []string{"no word of what it demands"}
	}
	if r.untested() {
		if len(strings.Trim(r.tst[len("no test"):], " .:,;()-")) == 0 {
			return []string{"no reason why there is no test"}
		}
		return nil
	}
	var out []string
	if r.guard == "" {
		out = append(out, "no guard")
	}
	names := filePattern.FindAllString(r.tst, -1)
	if len(names) == 0 {
		return append(out, "names no file of a test")
	}
	named := false
	for _, name := range names {
		f := files[name]
		if f == nil {
			out = append(out, name+" is no file with tests")
			continue
		}
		named = named || f.ids[r.id]
	}
	if !named {
		out = append(out, "no test in "+strings.Join(names, ", ")+" carries the ID in its name")
	}
	for _, fn := range funcPattern.FindAllString(filePattern.ReplaceAllString(r.tst, ""), -1) {
		declares := func(name string) bool { return files[name] != nil && files[name].funcs[fn] }
		if !slices.ContainsFunc(names, declares) {
			out = append(out, "no "+fn+" in "+strings.Join(names, ", "))
		}
	}
	return out
}

// parseTable returns the rows of every table whose header is header, and what
// is wrong with the lines in them. Other tables are left alone.
func parseTable(text string) (rows []row, problems []string) {
	inside := false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == header:
			inside = true
			continue
		case strings.HasPrefix(line, "| ID "):
			problems = append(problems, fmt.Sprintf("%s:%d: the header differs from %q", Table, i+1, header))
			inside = false
			continue
		case !strings.HasPrefix(line, "|"):
			inside = false
			continue
		case !inside || strings.Trim(line, "|-: ") == "":
			continue
		}
		var cells []string
		for _, c := range strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "\x00"), "|"), "|") {
			cells = append(cells, strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|")))
		}
		if len(cells) != 4 || idPattern.FindString(cells[0]) != cells[0] || cells[0] == "" {
			problems = append(problems, fmt.Sprintf("%s:%d: not a row of %q", Table, i+1, header))
			continue
		}
		rows = append(rows, row{i + 1, cells[0], cells[1], cells[2], cells[3]})
	}
	return rows, problems
}

// testNames are the names in one file with tests.
type testNames struct {
	funcs map[string]bool
	ids   map[string]bool
}

func namesOf(f *modtree.File, prefixes map[string]bool) *testNames {
	names := &testNames{funcs: make(map[string]bool), ids: make(map[string]bool)}
	add := func(e ast.Expr, anywhere bool) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		text, _ := strconv.Unquote(lit.Value)
		text = strings.ReplaceAll(text, "_", " ") // go test prints the one as the other
		if at := idPattern.FindStringIndex(text); !anywhere && (at == nil || at[0] > 0) {
			return
		}
		for _, id := range idPattern.FindAllStringSubmatch(text, -1) {
			if prefixes[id[1]] {
				names.ids[id[0]] = true
			}
		}
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names.funcs[n.Name.Name] = true
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Run" && len(n.Args) > 0 {
				ast.Inspect(n.Args[0], func(n ast.Node) bool {
					if e, ok := n.(ast.Expr); ok {
						add(e, true)
					}
					return true
				})
			}
		case ast.Expr:
			add(n, false)
		}
		return true
	})
	return names
}
