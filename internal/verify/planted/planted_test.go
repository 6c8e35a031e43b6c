package planted

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// within is the number of histories in which each planted bug has to be found.
const within = 2000

// TestPlanted breaks a copy of the repository in one way at a time, and runs the
// simulation on it. It takes minutes, so it has to be asked for; otherwise it
// sees to it that the patches still apply.
func TestPlanted(t *testing.T) {
	patches, err := filepath.Glob("*.patch")
	if err != nil || len(patches) == 0 {
		t.Fatalf("no patches: %v", err)
	}
	root := copyOf(t, "../../..")
	asked := os.Getenv("SIM_PLANTED")
	if asked == "" {
		asked = "none"
	}
	only := regexp.MustCompile(asked)
	seed := rand.Uint64() >> 16
	if s := os.Getenv("SIM_SEED"); s != "" {
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Printf("histories from seed %d\n", seed)
	for _, patch := range patches {
		name := strings.TrimSuffix(patch, ".patch")
		t.Run(name, func(t *testing.T) {
			file, err := filepath.Abs(patch)
			if err != nil {
				t.Fatal(err)
			}
			apply(t, root, file)
			defer apply(t, root, file, "-R")
			if asked == "none" || !only.MatchString(name) {
				return
			}
			n, how := find(t, root, seed)
			fmt.Printf("%-42s %5d  %s\n", name, n, how)
			if n == 0 {
				t.Errorf("not found within %d histories: %s", within, how)
			}
		})
	}
}

func apply(t *testing.T, root, file string, flags ...string) {
	t.Helper()
	cmd := exec.Command("git", append(append([]string{"apply", "-C1"}, flags...), file)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", filepath.Base(file), flags, err, out)
	}
}

var found = regexp.MustCompile(`FOUND seed \d+ after (\d+) histories: (.*)`)

// find runs the simulation of the copy, and returns the number of the first
// history that failed; 0 if none did.
func find(t *testing.T, root string, seed uint64) (n int, how string) {
	progress := filepath.Join(t.TempDir(), "progress")
	cmd := exec.Command("go", "test", "./sim", "-run=TestSimulation$", "-count=1", "-v", "-timeout=10m")
	cmd.Dir = filepath.Join(root, "internal", "verify")
	cmd.Env = append(os.Environ(), "SIM_SHRINK=no", "SIM_PROGRESS="+progress,
		"SIM_SEED="+strconv.FormatUint(seed, 10), "SIM_HISTORIES="+strconv.Itoa(within))
	out, err := cmd.CombinedOutput()
	if m := found.FindSubmatch(out); m != nil {
		n, _ = strconv.Atoi(string(m[1]))
		return n, string(m[2])
	}
	if err == nil {
		return 0, "the simulation passes"
	}
	// The bug has ended the process: a panic on a goroutine of the library's.
	if data, err := os.ReadFile(progress); err == nil && len(data) > 0 {
		fields := strings.Fields(string(data))
		n, _ = strconv.Atoi(fields[1])
		return n, "the process ended: " + firstLine(string(out), "panic: ", "fatal error: ")
	}
	return 0, "it does not build:\n" + string(out)
}

// firstLine returns the first line of s with one of the prefixes.
func firstLine(s string, prefixes ...string) string {
	for line := range strings.Lines(s) {
		for _, p := range prefixes {
			if strings.HasPrefix(line, p) {
				return strings.TrimSpace(line)
			}
		}
	}
	return "it does not say why"
}

// copyOf copies the Go sources of the repository.
func copyOf(t *testing.T, root string) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && rel != "." || rel == "bench" || rel == "examples"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}
