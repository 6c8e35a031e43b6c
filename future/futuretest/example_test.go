package futuretest_test

import (
	"testing"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
)

func Example() {
	_ = func(t *testing.T) {
		c := future.NewCompleter[int]()
		futuretest.RequirePending(t, c.Future())
		go c.Complete(7)
		if v := futuretest.Await(t, c.Future()); v != 7 {
			t.Errorf("got %d", v)
		}
	}
	// Output:
}
