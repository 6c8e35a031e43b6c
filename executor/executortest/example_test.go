package executortest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/executor/executortest"
)

func ExampleNewManual() {
	ex := executortest.NewManual()
	f := executor.Submit(context.Background(), ex, func(context.Context) (string, error) { return "done", nil })
	_, settled := f.Outcome()
	fmt.Println(ex.Queued(), settled)
	ex.RunAll()
	fmt.Println(f.Await(context.Background()))
	// Output:
	// 1 false
	// done <nil>
}

func ExampleSaturated() {
	f := executor.Submit(context.Background(), executortest.Saturated(), func(context.Context) (int, error) { return 7, nil })
	_, err := f.Await(context.Background())
	fmt.Println(err)
	// Output:
	// executor "saturated" (size 1, queue limit 0): task rejected: queue full
}

// A test of an executor of your own calls Conformance with a function that
// makes one.
func ExampleConformance() {
	TestMine := func(t *testing.T) {
		executortest.Conformance(t, func(t *testing.T) executor.Executor {
			p, err := executor.New(executor.Config{Size: 2})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			return p // or whatever you have made of it
		})
	}
	_ = TestMine
}
