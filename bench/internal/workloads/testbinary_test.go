package workloads

import "testing"

func TestParseBenchmark(t *testing.T) {
	figures, err := parseBenchmark([]byte("goos: linux\nBenchmarkPair/slow=true-2   \t 1000\t 512.5 ns/op\t 0 B/op\t 1 allocs/op\nPASS\n"))
	if err != nil {
		t.Fatal(err)
	}
	if figures["ns/op"] != 512.5 || figures["allocs/op"] != 1 {
		t.Errorf("the figures are %v", figures)
	}
	if _, err := parseBenchmark([]byte("PASS\n")); err == nil {
		t.Error("no benchmark, and no error")
	}
}

func TestBenchmarksOfTheModuleAreFound(t *testing.T) {
	if _, err := leaseTests.run("^BenchmarkNoSuchThing$", 1); err == nil {
		t.Error("a benchmark that is not there has figures")
	}
}
