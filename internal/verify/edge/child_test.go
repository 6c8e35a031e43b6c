package edge

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// child is what a process of this test binary does that was started as another
// one. It returns the exit code.
func child(mode string) int {
	switch mode {
	case "memory":
		return memoryChild()
	case "stop":
		return stopChild()
	}
	fmt.Fprintln(os.Stderr, "no such child:", mode)
	return 2
}

// command is this test binary as a child of that mode, which is killed when it
// takes too long.
func command(t *testing.T, mode string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(append(os.Environ(), "EDGE_CHILD="+mode), env...)
	cmd.Stderr = os.Stderr
	return cmd
}

// report is how a child says what came of it: as JSON, on one line.
func report(ledger any) int {
	if err := json.NewEncoder(os.Stdout).Encode(ledger); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
