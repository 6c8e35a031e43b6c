package timertest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/timer"
	"github.com/cadre-go/cadre/timer/timertest"
)

// t stands for the *testing.T of a test.
var t = &fake{}

func ExampleAdvance() {
	mock := timertest.NewMock()
	tm, err := timer.New(timer.Config{Clock: mock})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tm.Close()

	// A retry after one second, and another one two seconds later.
	retry := func(n int) func(future.Outcome[time.Time]) {
		return func(o future.Outcome[time.Time]) {
			fmt.Println("try", n, "at", o.Value.UTC().Format(time.TimeOnly))
		}
	}
	ctx := context.Background()
	tm.Delay(ctx, time.Second).OnSettle(func(o future.Outcome[time.Time]) {
		retry(1)(o)
		tm.Delay(ctx, 2*time.Second).OnSettle(retry(2))
	})
	timertest.Advance(t, mock, tm, time.Minute)
	// Output:
	// try 1 at 00:00:01
	// try 2 at 00:00:03
}
