// Command cover runs the tests of every production package and reports which
// statements each package's own tests leave out. It fails when a package is
// below the floor.
//
//	go run ./internal/cover [-floor percent] [package directory...]
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/cadre-go/cadre/internal/modtree"
)

func main() {
	floor := flag.Float64("floor", 95, "least percentage of a package's statements")
	flag.Parse()
	ok, err := run(os.Stdout, *floor, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "cover:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run tests the packages in dirs, or all production packages, of the module in
// the current directory. It reports whether each reached the floor.
func run(w io.Writer, floor float64, dirs []string) (bool, error) {
	mod, err := modtree.Read(os.DirFS("."))
	if err != nil {
		return false, err
	}
	if len(dirs) == 0 {
		for _, p := range mod.Production() {
			dirs = append(dirs, p.Dir)
		}
	}
	tmp, err := os.MkdirTemp("", "cover")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(tmp)

	// Without -coverpkg, a package's statements count for its own tests alone.
	profile := filepath.Join(tmp, "profile")
	args := []string{"test", "-count=1", "-covermode=atomic", "-coverprofile=" + profile}
	for _, dir := range dirs {
		args = append(args, "./"+filepath.ToSlash(filepath.Clean(dir)))
	}
	test := exec.Command("go", args...)
	test.Stdout, test.Stderr = w, os.Stderr
	if err := test.Run(); err != nil {
		return false, fmt.Errorf("go test: %w", err)
	}
	f, err := os.Open(profile)
	if err != nil {
		return false, err
	}
	defer f.Close()
	packages, err := parse(f, mod.Mod.Path)
	if err != nil {
		return false, err
	}
	return report(w, packages, floor), nil
}

// report lists each package with the blocks that no test ran, and reports
// whether all packages reached the floor.
func report(w io.Writer, packages []*pkg, floor float64) bool {
	ok := true
	slices.SortFunc(packages, func(a, b *pkg) int { return cmp.Compare(a.dir, b.dir) })
	fmt.Fprintln(w)
	for _, p := range packages {
		verdict := ""
		if p.percent() < floor {
			ok = false
			verdict = fmt.Sprintf("  below %.1f%%", floor)
		}
		fmt.Fprintf(w, "%-40s %5.1f%% of %d statements%s\n", p.dir, p.percent(), p.total, verdict)
		for _, b := range p.missed {
			fmt.Fprintf(w, "\t%s:%d-%d (%d)\n", b.file, b.from, b.to, b.statements)
		}
	}
	return ok
}
