package report

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Machine returns what a run was made on and of, as lines of name and value.
func Machine() [][2]string {
	return [][2]string{
		{"machine", fmt.Sprintf("%s, %d cores, %s/%s", processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)},
		{"Go", runtime.Version()},
		{"GOMAXPROCS", fmt.Sprint(runtime.GOMAXPROCS(0))},
		{"commit", commit()},
	}
}

// processor returns the model of the CPU, where /proc/cpuinfo says it.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// commit returns the revision of the working tree, and whether that has
// changes.
func commit() string {
	revision, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(revision))
	if status, err := exec.Command("git", "status", "--porcelain").Output(); err != nil || len(status) > 0 {
		name += "+changes"
	}
	return name
}
