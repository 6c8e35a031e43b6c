package future_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cadre-go/cadre/future"
)

func ExampleNewCompleter() {
	c := future.NewCompleter[string]()
	c.OnCancel(func(cause error) { fmt.Println("asked to stop:", cause) })

	go c.Complete("hello") // the producer

	v, err := c.Future().Await(context.Background())
	fmt.Println(v, err)
	// Output: hello <nil>
}

func ExampleWithDispose() {
	c := future.NewCompleter(future.WithDispose(func(conn string) { fmt.Println("disposed of", conn) }))
	c.Future().Cancel(errors.New("the user left"))

	delivered := c.Complete("connection 7") // too late
	fmt.Println(delivered)
	// Output:
	// disposed of connection 7
	// false
}

func ExampleFuture_Await() {
	c := future.NewCompleter[int]()
	ctx, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()

	_, err := c.Future().Await(ctx)
	var interrupted *future.InterruptedError
	fmt.Println(errors.As(err, &interrupted), errors.Is(err, context.DeadlineExceeded))

	c.Complete(1) // the future was still pending
	v, err := c.Future().Await(ctx)
	fmt.Println(v, err)
	// Output:
	// true true
	// 1 <nil>
}

func ExampleFuture_Cancel() {
	c := future.NewCompleter[int]()
	c.OnCancel(func(cause error) { fmt.Println("producer stops:", cause) })
	c.Future().OnSettle(func(o future.Outcome[int]) { fmt.Println("settled:", o.Err) })

	fmt.Println(c.Future().Cancel(errors.New("not needed")))
	fmt.Println(c.Future().Cancel(errors.New("again")))
	// Output:
	// producer stops: not needed
	// settled: future: canceled: not needed
	// true
	// false
}

func ExampleFuture_Abandon() {
	c := future.NewCompleter[int]()
	c.OnCancel(func(error) { fmt.Println("not called") })

	c.Future().Abandon(errors.New("nobody waits"))
	fmt.Println(c.Complete(1)) // the producer was left to finish
	// Output: false
}

func ExampleThen() {
	ctx := context.Background()
	c := future.NewCompleter[string]()
	length := future.Then(ctx, c.Future(), func(_ context.Context, s string) (int, error) {
		return len(s), nil
	})
	c.Complete("four")
	fmt.Println(length.Await(ctx))
	// Output: 4 <nil>
}

func ExampleRecover() {
	ctx := context.Background()
	failed := future.Failed[string](errors.New("no such user"))
	name := future.Recover(ctx, failed, func(context.Context, error) (string, error) {
		return "guest", nil
	})
	fmt.Println(name.Await(ctx))
	// Output: guest <nil>
}

func ExampleAll() {
	ctx := context.Background()
	a, b := future.NewCompleter[int](), future.NewCompleter[int]()
	all := future.All(ctx, a.Future(), b.Future())
	b.Complete(2)
	a.Complete(1)
	fmt.Println(all.Await(ctx))
	// Output: [1 2] <nil>
}

func ExampleSettled() {
	ctx := context.Background()
	settled := future.Settled(ctx, future.Completed(1), future.Failed[int](errors.New("no")), future.Completed(3))
	outcomes, _ := settled.Await(ctx)
	for _, o := range outcomes {
		fmt.Println(o.Value, o.Err)
	}
	// Output:
	// 1 <nil>
	// 0 no
	// 3 <nil>
}

func ExampleAny() {
	ctx := context.Background()
	mirror := future.Any(ctx, future.Failed[string](errors.New("down")), future.Completed("mirror 2"))
	fmt.Println(mirror.Await(ctx))

	_, err := future.Any(ctx, future.Failed[string](errors.New("down")), future.Failed[string](errors.New("busy"))).Await(ctx)
	fmt.Println(strings.ReplaceAll(err.Error(), "\n", ", "))
	// Output:
	// mirror 2 <nil>
	// down, busy
}

func ExampleRace() {
	ctx := context.Background()
	slow, fast := future.NewCompleter[string](), future.NewCompleter[string]()
	race := future.Race(ctx, slow.Future(), fast.Future())
	fast.Complete("fast")
	fmt.Println(race.Await(ctx))
	fmt.Println(slow.Complete("slow")) // it was canceled
	// Output:
	// fast <nil>
	// false
}

func ExampleShield() {
	ctx := context.Background()
	shared := future.NewCompleter[int]()
	mine := future.Then(ctx, future.Shield(shared.Future()), func(_ context.Context, v int) (int, error) {
		return v * 2, nil
	})
	mine.Cancel(errors.New("I have seen enough"))
	fmt.Println(shared.Complete(21)) // others still wait for it
	// Output: true
}

func ExampleEach() {
	ctx := context.Background()
	first, second := future.NewCompleter[string](), future.NewCompleter[string]()
	second.Complete("b")
	for i, o := range future.Each(ctx, first.Future(), second.Future()) {
		fmt.Println(i, o.Value)
		first.Complete("a")
	}
	// Output:
	// 1 b
	// 0 a
}

func ExamplePanicError() {
	ctx := context.Background()
	f := future.Then(ctx, future.Completed(1), func(context.Context, int) (int, error) { panic("oops") })
	_, err := f.Await(ctx)
	var p *future.PanicError
	fmt.Println(errors.As(err, &p), p.Value)
	// Output: true oops
}
