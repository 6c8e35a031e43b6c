// Package doctest compiles and runs the Go blocks of README.md and of the
// guides in docs/.
package doctest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Pages that record decisions may show code that was rejected.
var guides = []string{"README.md"}

var block = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

func TestGuides(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, guide := range guides {
		text, err := os.ReadFile(filepath.Join(root, guide))
		require.NoError(t, err)
		blocks := block.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, blocks, guide)
		for _, b := range blocks {
			first, _, _ := strings.Cut(b[1], "\n")
			t.Run("EX-1 "+guide+" "+first, func(t *testing.T) { runBlock(t, root, b[1]) })
		}
	}
}

// TestBadBlock shows that a block which does not run is noticed.
func TestBadBlock(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	out, err := execute(t, root, "package main\n\nfunc main() { panic(\"as planned\") }\n")
	require.Error(t, err)
	require.Contains(t, string(out), "panic: as planned")
}

func runBlock(t *testing.T, root, code string) {
	out, err := execute(t, root, code)
	require.NoError(t, err, "%s\n%s", code, out)
}

// execute runs code, a program or a test, in the module at root.
func execute(t *testing.T, root, code string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	name, verb := "main.go", []string{"run"}
	if strings.Contains(code, `"testing"`) {
		name, verb = "block_test.go", []string{"test", "-count=1"}
	}
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(code), 0o600))
	cmd := exec.CommandContext(ctx, "go", append(verb, file)...)
	cmd.Dir = root
	return cmd.CombinedOutput()
}
