package future_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/future"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/link"
)

// producer is what an executor or a timer puts behind a future.
type producer struct {
	got    []string
	failed []error
}

func (p *producer) Find(pool any) any {
	if pool == "pool" {
		return "task"
	}
	return nil
}
func (p *producer) Settled()                     { p.got = append(p.got, "settled") }
func (p *producer) Canceled(cause error)         { p.got = append(p.got, "canceled: "+cause.Error()) }
func (p *producer) Report(msg string, err error) { p.failed = append(p.failed, err) }
func (p *producer) note(s string) func(error)    { return func(error) { p.got = append(p.got, s) } }
func (p *producer) settle(future.Outcome[int])   { p.got = append(p.got, "OnSettle") }
func bound(keep bool) (*future.Completer[int], *producer) {
	p, c := &producer{}, &future.Completer[int]{}
	link.Bind(c, &frame.Link{Producer: p, Keep: keep},
		[]future.Option[int]{future.WithDispose(func(int) { panic(errBoom) })})
	return c, p
}

func TestProducer(t *testing.T) {
	t.Run("FUT-6_a_producer_learns_of_a_Cancel_before_any_callback", func(t *testing.T) {
		c, p := bound(false)
		c.Future().OnSettle(p.settle)
		c.OnCancel(p.note("OnCancel"))
		c.Future().Cancel(errWhy)
		require.Equal(t, []string{"settled", "canceled: why", "OnCancel", "OnSettle"}, p.got)

		c, p = bound(false)
		c.Future().Cancel(errWhy)
		require.Equal(t, []string{"settled", "canceled: why"}, p.got, "whether or not there are callbacks")

		for _, settle := range []func(*future.Completer[int]){
			func(c *future.Completer[int]) { c.Complete(1) },
			func(c *future.Completer[int]) { c.Fail(errBoom) },
			func(c *future.Completer[int]) { c.Future().Abandon(errWhy) },
		} {
			c, p = bound(false)
			c.Future().OnSettle(p.settle)
			settle(c)
			require.Equal(t, []string{"settled", "OnSettle"}, p.got)
		}
	})

	t.Run("FUT-3_a_kept_producer_is_told_of_a_dispose_that_failed", func(t *testing.T) {
		c, p := bound(true)
		c.Future().Abandon(nil)
		c.Complete(1)
		require.Len(t, p.failed, 1)
		require.ErrorIs(t, p.failed[0], errBoom)

		logged := recordLogs(t)
		c, p = bound(false)
		c.Future().Abandon(nil)
		c.Complete(1)
		require.Empty(t, p.failed)
		require.Len(t, logged(), 1)
	})

	t.Run("Fail_leaves_the_callbacks_to_the_caller", func(t *testing.T) {
		c, p := bound(false)
		c.Future().OnSettle(p.settle)
		callbacks := link.Fail(c, errBoom)
		requireErr(t, c.Future(), errBoom)
		require.Empty(t, p.got)
		callbacks()
		require.Equal(t, []string{"settled", "OnSettle"}, p.got)
		require.Nil(t, link.Fail(c, errWhy))
		requireErr(t, c.Future(), errBoom)
	})

	t.Run("Watched", func(t *testing.T) {
		c, p := bound(false)
		require.False(t, link.Watched(c))
		c.Future().Done()
		require.False(t, link.Watched(c), "a channel calls nothing")
		c.Future().OnSettle(p.settle)
		require.True(t, link.Watched(c))
		c.Complete(1)
		require.False(t, link.Watched(c))
	})
}

// host is a running task of a pool.
type host struct {
	context.Context
	found []any
	wake  func()
}

func (h *host) Value(key any) any {
	if key == (frame.Key{}) {
		return h
	}
	return nil
}
func (*host) Scope() *frame.Scope { return nil }
func (*host) Over() *frame.Attrs  { return nil }
func (*host) Op() frame.Op        { return nil }
func (h *host) Host() frame.Host  { return h }

func (*host) Report(string, error) {}

func (h *host) Await(_ context.Context, p frame.Producer, done <-chan struct{}) {
	h.found = append(h.found, p.Find("pool"), p.Find("another pool"))
	h.wake()
	<-done
}

func TestHost(t *testing.T) {
	waits := map[string]func(ctx context.Context, f *future.Future[int]){
		"Await": func(ctx context.Context, f *future.Future[int]) { _, _ = f.Await(ctx) },
		"Then": func(ctx context.Context, f *future.Future[int]) {
			_, _ = future.Then(bg, f, itoa).Await(ctx)
		},
		"Shield": func(ctx context.Context, f *future.Future[int]) { _, _ = future.Shield(f).Await(ctx) },
		"All": func(ctx context.Context, f *future.Future[int]) {
			_, _ = future.All(bg, future.Completed(1), f).Await(ctx)
		},
		"Each": func(ctx context.Context, f *future.Future[int]) {
			for range future.Each(ctx, f) {
			}
		},
	}
	for name, wait := range waits {
		t.Run("EXEC-13_the_host_of_a_wait_finds_the_task_behind_the_future/"+name, func(t *testing.T) {
			c, _ := bound(false)
			h := &host{Context: bg, wake: func() { c.Complete(1) }}
			wait(h, c.Future())
			require.Equal(t, []any{"task", nil}, h.found)
		})
	}

	t.Run("EXEC-13_a_future_without_a_producer_needs_no_host", func(t *testing.T) {
		h := &host{Context: ended(errWhy), wake: func() { t.Error("asked") }}
		_, fs := pending(1)
		_, err := fs[0].Await(h)
		require.ErrorIs(t, err, context.Canceled)
	})
}
