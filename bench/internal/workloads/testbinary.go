package workloads

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/cadre-go/cadre/bench/internal/sampling"
)

// testBinary is the test binary of a package of the module under test, which is
// how its internals are measured: by a benchmark of the package's own, in a
// process of its own.
type testBinary struct {
	pkg  string
	path func() (string, error)
}

// buildDir is where test binaries are built; Clean removes it.
var buildDir struct {
	sync.Mutex
	path string
}

func newTestBinary(pkg string) *testBinary {
	t := &testBinary{pkg: pkg}
	t.path = sync.OnceValues(t.build)
	return t
}

func (t *testBinary) build() (string, error) {
	buildDir.Lock()
	defer buildDir.Unlock()
	if buildDir.path == "" {
		dir, err := os.MkdirTemp("", "cadre-bench-")
		if err != nil {
			return "", err
		}
		buildDir.path = dir
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/cadre-go/cadre").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module under test: %w", err)
	}
	path := filepath.Join(buildDir.path, strings.ReplaceAll(t.pkg, "/", "-")+".test")
	build := exec.Command("go", "test", "-c", "-o", path, "./"+t.pkg)
	build.Dir = strings.TrimSpace(string(root))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the tests of %s: %w\n%s", t.pkg, err, out)
	}
	return path, nil
}

// Clean removes what was built on the way.
func Clean() error {
	buildDir.Lock()
	defer buildDir.Unlock()
	if buildDir.path == "" {
		return nil
	}
	return os.RemoveAll(buildDir.path)
}

// run has the benchmark that the pattern matches run for a number of
// iterations, and returns its figures by unit.
func (t *testBinary) run(pattern string, iterations int) (map[string]float64, error) {
	path, err := t.path()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "-test.run=^$", "-test.bench="+pattern, "-test.benchmem",
		"-test.benchtime="+strconv.Itoa(iterations)+"x")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("running %s of %s: %w\n%s", pattern, t.pkg, err, out)
	}
	return parseBenchmark(out)
}

// parseBenchmark reads the figures of the one benchmark line in out.
func parseBenchmark(out []byte) (map[string]float64, error) {
	for line := range bytes.Lines(out) {
		fields := strings.Fields(string(line))
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		figures := make(map[string]float64)
		// The name and the number of iterations go before pairs of value and unit.
		for pair := fields[2:]; len(pair) >= 2; pair = pair[2:] {
			value, err := strconv.ParseFloat(pair[0], 64)
			if err != nil {
				return nil, err
			}
			figures[pair[1]] = value
		}
		return figures, nil
	}
	return nil, errors.New("no benchmark line in the output")
}

var leaseTests = newTestBinary("executor/lease")

const ownerWay = "cadre, fast path off"

// ownerRoundTrip is the lease pool with every acquisition going by way of its
// owner, which only its own tests can have it do.
func ownerRoundTrip(ops int) sampling.Sample {
	figures, err := leaseTests.run("^BenchmarkPair$/^slow=true$", ops)
	check(err)
	return sampling.Sample{Ran: ops, Figures: figures}
}
