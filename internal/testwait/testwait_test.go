package testwait_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/internal/testwait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a test that records its failure and ends as a real one does.
type fake struct {
	testing.TB
	message string
}

func (*fake) Helper() {}

func (f *fake) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure returns how the test fn ended.
func failure(fn func(testing.TB)) string {
	f := &fake{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fn(f)
	}()
	<-ended
	return f.message
}

func TestDone(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	testwait.Done(t, closed)

	values := make(chan int, 1)
	values <- 7
	require.Equal(t, 7, testwait.Value(t, values))
}

func TestDone_expiry_shows_all_goroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		message := failure(func(t testing.TB) { testwait.Done(t, never) })
		require.Contains(t, message, "still waiting after 8760h0m0s")
		require.Contains(t, message, "TestDone_expiry_shows_all_goroutines")
	})
}

func TestCall(t *testing.T) {
	called := false
	testwait.Call(t, func() { called = true; runtime.Goexit() })
	require.True(t, called)
}

func TestUntil(t *testing.T) {
	rounds := 0
	testwait.Until(t, func() bool { rounds++; return rounds == 3 })
	require.Equal(t, 3, rounds)
}

func TestLater(t *testing.T) {
	t.Run("elsewhere at once", func(t *testing.T) {
		ran := make(chan struct{})
		testwait.Later(func(_ time.Duration, callback func()) { go callback() }, func() { close(ran) })
		testwait.Done(t, ran)
	})
	t.Run("tried again with a longer delay while it is too late", func(t *testing.T) {
		ran := make(chan struct{})
		var tried []time.Duration
		testwait.Later(func(d time.Duration, callback func()) {
			if tried = append(tried, d); len(tried) == 3 {
				go callback()
			} else {
				callback()
			}
		}, func() { close(ran) })
		testwait.Done(t, ran)
		require.Equal(t, []time.Duration{time.Millisecond, 2 * time.Millisecond, 4 * time.Millisecond}, tried)
	})
}
