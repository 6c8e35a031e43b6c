package timer_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cadre-go/cadre/timer"
	"github.com/cadre-go/cadre/timer/timertest"
)

func ExampleNew() {
	t, err := timer.New(timer.Config{Name: "retries", Limit: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { fmt.Println("closed:", t.Close() == nil) }()

	_, err = timer.New(timer.Config{Limit: -1})
	fmt.Println(err)
	// Output:
	// Limit is -1: it must not be negative
	// closed: true
}

func ExampleTimer_Delay() {
	t, err := timer.New(timer.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()
	ctx := context.Background()

	timeout := t.Delay(ctx, time.Hour)
	soon := t.Delay(ctx, time.Millisecond)
	if _, err := soon.Await(ctx); err == nil {
		fmt.Println("a millisecond has passed")
	}
	fmt.Println("outstanding:", t.Len())
	timeout.Cancel(nil)
	fmt.Println("outstanding:", t.Len())
	// Output:
	// a millisecond has passed
	// outstanding: 1
	// outstanding: 0
}

func ExampleTimer_Every() {
	clock := timertest.NewMock()
	t, err := timer.New(timer.Config{Clock: clock})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()
	ctx := context.Background()

	ticker, err := t.Every(ctx, time.Minute, func(context.Context) error {
		fmt.Println("tick at", clock.Now().UTC().Format(time.TimeOnly))
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		clock.Add(time.Minute)
		_ = t.Sync(ctx)
	}
	ticker.Stop()
	clock.Add(time.Hour)
	fmt.Println(ticker.Runs(), "runs,", ticker.Missed(), "missed")
	// Output:
	// tick at 00:01:00
	// tick at 00:02:00
	// tick at 00:03:00
	// 3 runs, 0 missed
}
