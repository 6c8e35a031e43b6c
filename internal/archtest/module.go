package archtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cadre-go/cadre/internal/modtree"
)

// goVersion is the version that go.mod states.
const goVersion = "1.26.0"

// requirements are the modules that go.mod requires directly. Tests and test
// kits need them; what needs more lives in a module of its own.
var requirements = []string{
	"github.com/benbjohnson/clock",
	"github.com/stretchr/testify",
	"go.uber.org/goleak",
	"pgregory.net/rapid",
}

// topLevel is what the top directory may hold.
var topLevel = []string{
	".ci", ".git", ".gitignore", "CHANGELOG.md", "LICENSE", "Makefile", "README.md",
	"bench", "diagnostics", "docs", "examples", "executor", "future", "go.mod",
	"go.sum", "internal", "sig", "timer",
}

// Requirements checks go.mod: the Go version, exactly the requirements above,
// and no directive that would change what they resolve to.
func Requirements(mod modtree.GoMod) []string {
	var out []string
	if mod.Go != goVersion {
		out = append(out, fmt.Sprintf("go.mod says go %s, want %s", mod.Go, goVersion))
	}
	for _, d := range mod.Directives {
		if d != "module" && d != "go" && d != "require" {
			out = append(out, "go.mod has a directive "+d)
		}
	}
	var have []string
	for _, r := range mod.Direct {
		name, _, _ := strings.Cut(r, " ")
		have = append(have, name)
		if !slices.Contains(requirements, name) {
			out = append(out, "go.mod requires "+name)
		}
	}
	for _, name := range requirements {
		if !slices.Contains(have, name) {
			out = append(out, "go.mod does not require "+name)
		}
	}
	return out
}

// TopLevel checks that the module's directory holds nothing but topLevel and
// what .gitignore names: the leftovers of builds and editors.
func TopLevel(fsys fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	ignored, err := ignorePatterns(fsys)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		match := func(pattern string) bool {
			ok, _ := path.Match(pattern, e.Name())
			return ok
		}
		if !slices.Contains(topLevel, e.Name()) && !slices.ContainsFunc(ignored, match) {
			out = append(out, "the top directory holds "+e.Name())
		}
	}
	return out, nil
}

// ignorePatterns reads the lines of .gitignore that can match a name in the
// top directory. Patterns with a slash inside and negations are left out.
func ignorePatterns(fsys fs.FS) ([]string, error) {
	data, err := fs.ReadFile(fsys, ".gitignore")
	if err != nil {
		return nil, err
	}
	var out []string
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		p := strings.Trim(strings.TrimSpace(lines.Text()), "/")
		if p != "" && !strings.HasPrefix(p, "#") && !strings.HasPrefix(p, "!") && !strings.Contains(p, "/") {
			out = append(out, p)
		}
	}
	return out, lines.Err()
}
