package futuretest_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/testwait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a test that records its failure.
type fake struct {
	testing.TB
	failed  bool
	message string
	goesOn  bool // Fatalf returns
}

func (*fake) Helper() {}

func (f *fake) Fatalf(format string, args ...any) {
	f.failed, f.message = true, fmt.Sprintf(format, args...)
	if !f.goesOn {
		runtime.Goexit()
	}
}

// timed is a fake with a deadline.
type timed struct {
	*fake
	end func() (time.Time, bool)
}

func (t timed) Deadline() (time.Time, bool) { return t.end() }

// failure returns how a test of fn fails; empty if it does not.
func failure(t *testing.T, fn func(t testing.TB)) string {
	t.Helper()
	f := &fake{}
	ended := make(chan struct{})
	go func() { defer close(ended); fn(f) }()
	<-ended // fn bounds itself: testwait's bound is the same in a bubble
	require.Equal(t, f.failed, f.message != "")
	return f.message
}

var (
	errBoom = errors.New("boom")
	errWhy  = errors.New("why")
)

// requireStacks checks that message shows all goroutines and not just one.
func requireStacks(t *testing.T, message string) {
	t.Helper()
	require.GreaterOrEqual(t, strings.Count(message, "\ngoroutine "), 2, message)
}

func TestAwait(t *testing.T) {
	require.Equal(t, 3, futuretest.Await(t, future.Completed(3)))

	c := future.NewCompleter[int]()
	go c.Complete(4)
	require.Equal(t, 4, futuretest.Await(t, c.Future()))

	message := failure(t, func(t testing.TB) { futuretest.Await(t, future.Failed[int](errBoom)) })
	require.Contains(t, message, "the future failed: boom")
	requireStacks(t, message)

	require.Equal(t, "the future is nil", failure(t, func(t testing.TB) { futuretest.Await[int](t, nil) }))
}

func TestRequireError(t *testing.T) {
	err := fmt.Errorf("wrapped: %w", errBoom)
	require.Same(t, err, futuretest.RequireError(t, future.Failed[int](err), errBoom))

	c := future.NewCompleter[int]()
	go c.Fail(io.EOF)
	futuretest.RequireError(t, c.Future(), io.EOF)

	message := failure(t, func(t testing.TB) { futuretest.RequireError(t, future.Failed[int](errBoom), errWhy) })
	require.Contains(t, message, "the future failed with boom; want an error that matches why")
	requireStacks(t, message)

	message = failure(t, func(t testing.TB) { futuretest.RequireError(t, future.Completed(7), errWhy) })
	require.Contains(t, message, "the future completed with 7; want an error that matches why")
	requireStacks(t, message)
}

func TestRequirePending(t *testing.T) {
	futuretest.RequirePending(t, future.NewCompleter[int]().Future())

	message := failure(t, func(t testing.TB) { futuretest.RequirePending(t, future.Completed(7)) })
	require.Contains(t, message, "not pending; it completed with 7")
	requireStacks(t, message)
	message = failure(t, func(t testing.TB) { futuretest.RequirePending(t, future.Failed[int](errBoom)) })
	require.Contains(t, message, "not pending; it failed: boom")
	requireStacks(t, message)
	require.Equal(t, "the future is nil", failure(t, func(t testing.TB) { futuretest.RequirePending[int](t, nil) }))
}

func TestRequireSettled(t *testing.T) {
	require.Equal(t, future.Outcome[int]{Value: 1}, futuretest.RequireSettled(t, future.Completed(1)))
	require.Equal(t, future.Outcome[int]{Err: errBoom}, futuretest.RequireSettled(t, future.Failed[int](errBoom)))

	message := failure(t, func(t testing.TB) { futuretest.RequireSettled(t, future.NewCompleter[int]().Future()) })
	require.Contains(t, message, "the future is pending")
	requireStacks(t, message)
	require.Equal(t, "the future is nil", failure(t, func(t testing.TB) { futuretest.RequireSettled[int](t, nil) }))
}

func TestBound(t *testing.T) {
	never := future.NewCompleter[int]().Future()

	t.Run("a_deadline_that_is_near_leaves_time_to_print", func(t *testing.T) {
		for _, left := range []time.Duration{20 * time.Millisecond, -time.Second} {
			f := &fake{}
			end := time.Now().Add(left)
			testwait.Call(t, func() {
				futuretest.Await(timed{f, func() (time.Time, bool) { return end, true }}, never)
			})
			require.Contains(t, f.message, "the future is still pending after")
			require.Contains(t, f.message, "TestBound")
			requireStacks(t, f.message)
		}
	})

	t.Run("a_bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := future.NewCompleter[int]()
			go func() { time.Sleep(48 * time.Hour); c.Complete(5) }()
			require.Equal(t, 5, futuretest.Await(t, c.Future()), "fake time, and no deadline of the test's")

			never := future.NewCompleter[int]().Future()
			message := failure(t, func(t testing.TB) { futuretest.Await(t, never) })
			require.Contains(t, message, "still pending after 8760h0m0s")
			requireStacks(t, message)
			message = failure(t, func(t testing.TB) { futuretest.RequireError(t, never, errBoom) })
			require.Contains(t, message, "still pending")
			futuretest.RequirePending(t, never)
		})
	})

	t.Run("a_fake_that_goes_on_gets_the_zero_value", func(t *testing.T) {
		f := &fake{goesOn: true}
		past := timed{f, func() (time.Time, bool) { return time.Now(), true }}
		require.Zero(t, futuretest.Await(past, never))
		require.NoError(t, futuretest.RequireError(past, never, errBoom))
		require.Zero(t, futuretest.RequireSettled(f, never))
	})

	t.Run("a_test_without_a_deadline", func(t *testing.T) {
		none := timed{&fake{}, func() (time.Time, bool) { return time.Time{}, false }}
		require.Equal(t, 1, futuretest.Await(none, future.Completed(1)))
		require.Equal(t, 1, futuretest.Await(&fake{}, future.Completed(1)))
	})
}
