package executortest

import (
	"testing"

	"github.com/cadre-go/cadre/executor"
)

// Rules are the names of the suite's checks.
func Rules() (names []string) {
	for _, c := range checks {
		names = append(names, c.name)
	}
	return names
}

// Check runs the check of that name.
func Check(t testing.TB, name string, ex executor.Executor) {
	for _, c := range checks {
		if c.name == name {
			c.run(newSuite(t, ex))
		}
	}
}
