package edge

import (
	"bufio"
	"encoding/json"
	"io"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestStop tells a process to stop in the middle of its work.
func TestStop(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM")
	}
	moments := []int{1, 10, 100, 1000}
	if full() {
		moments = append(moments, 2, 5, 20, 50, 200, 500, 2000, 5000)
	}
	for _, after := range moments {
		t.Run("after "+strconv.Itoa(after)+" things were accepted", func(t *testing.T) {
			l := stopChildAt(t, after, 1, "")
			if l.PoolLeft != "" || l.LeasesLeft != "" || l.JobsLeft != "" || l.DelaysLeft != "" {
				t.Errorf("something was left: %+v", l)
			}
			l.balanced(t, 0)
		})
	}
	t.Run("twice, with a task that is stuck", func(t *testing.T) {
		l := stopChildAt(t, 100, 2, "EDGE_STUCK=1")
		if !strings.Contains(l.PoolLeft, "1 running") {
			t.Errorf("the stuck task is not named: %q", l.PoolLeft)
		}
		l.balanced(t, 1)
	})
}

// stopChildAt starts a child, sends it so many SIGTERMs when it has accepted
// some things, and returns what it says about all of them.
func stopChildAt(t *testing.T, after, signals int, env string) (l stopLedger) {
	t.Helper()
	cmd := command(t, "stop", "EDGE_AFTER="+strconv.Itoa(after), env)
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	lines := bufio.NewReader(out)
	for range signals {
		line, err := lines.ReadString('\n') // the child is as far
		check(t, err)
		t.Logf("%s, and gets a SIGTERM", strings.TrimSpace(line))
		check(t, cmd.Process.Signal(syscall.SIGTERM))
	}
	rest, err := io.ReadAll(lines)
	check(t, err)
	if err := cmd.Wait(); err != nil { // the exit code is 0
		t.Fatalf("%v: %s", err, rest)
	}
	if err := json.Unmarshal(rest, &l); err != nil {
		t.Fatalf("%v: %s", err, rest)
	}
	return l
}

// balanced demands that all that was accepted has one outcome, but for the
// tasks that are stuck.
func (l *stopLedger) balanced(t *testing.T, stuck int) {
	t.Helper()
	t.Logf("tasks %v, delays %v, leases %v, jobs %v", l.Tasks, l.Delays, l.Leases, l.Jobs)
	for name, b := range map[string]book{"tasks": l.Tasks, "delays": l.Delays, "leases": l.Leases, "jobs": l.Jobs} {
		equal(t, name+" with an outcome", b.outcomes(), b["accepted"])
		if b["accepted"] == 0 && l.Stats.Accepted > 100 {
			t.Errorf("no %s", name)
		}
	}
	equal(t, "things with two outcomes", l.Twice, 0)
	s := l.Stats
	equal(t, "accepted by the pool", int(s.Accepted), l.Tasks["accepted"]+int(l.FromLeases)+stuck)
	equal(t, "running", s.Running, stuck)
	equal(t, "queued", s.Queued, 0)
	equal(t, "accepted by the supervised pool", int(l.Supervised.Accepted), l.Jobs["accepted"])
	equal(t, "settled", l.Supervised.Settled, l.Supervised.Accepted)
	equal(t, "leases out", l.Lease.Leased, 0)
	equal(t, "connected and not disposed of", l.Connected, 0)
}
