package frame_test

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/cadre-go/cadre/internal/frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func list(attrs ...slog.Attr) []slog.Attr { return attrs }

func TestAttrs(t *testing.T) {
	t.Run("the nil list is empty", func(t *testing.T) {
		var a *frame.Attrs
		require.Empty(t, a.List())
		_, ok := a.Get("a")
		require.False(t, ok)
		require.Nil(t, a.With(nil))
		require.Nil(t, frame.Merge(nil, nil))
	})
	t.Run("DIAG-2 a list never changes", func(t *testing.T) {
		one := (*frame.Attrs)(nil).With(list(slog.Int("a", 1), slog.Int("b", 2)))
		for _, more := range []slog.Attr{slog.Int("a", 3), slog.Int("c", 4), slog.Int("d", 5)} {
			one.With(list(more))
		}
		require.Equal(t, list(slog.Int("a", 1), slog.Int("b", 2)), one.List())
	})
	t.Run("DIAG-2 a key written again keeps its place", func(t *testing.T) {
		a := (*frame.Attrs)(nil).With(list(slog.Int("a", 1), slog.Int("b", 2), slog.Int("a", 3)))
		require.Equal(t, list(slog.Int("a", 3), slog.Int("b", 2)), a.List())
		require.Equal(t, list(slog.Int("a", 3), slog.Int("b", 4), slog.Int("c", 5)),
			frame.Merge(a, (*frame.Attrs)(nil).With(list(slog.Int("c", 5), slog.Int("b", 4)))).List())
	})
	t.Run("nothing to merge is no copy", func(t *testing.T) {
		a := (*frame.Attrs)(nil).With(list(slog.Int("a", 1)))
		require.Same(t, a, frame.Merge(a, nil))
		require.Same(t, a, frame.Merge(nil, a))
		require.Same(t, a, a.With(nil))
	})
	t.Run("any lists against a map", func(t *testing.T) {
		attrs := rapid.SliceOf(rapid.Custom(func(t *rapid.T) slog.Attr {
			return slog.Int(rapid.StringMatching("[a-d]?").Draw(t, "key"), rapid.Int().Draw(t, "value"))
		}))
		rapid.Check(t, func(t *rapid.T) {
			want := map[string]slog.Value{}
			var order []string
			var a *frame.Attrs
			for range 3 {
				write := attrs.Draw(t, "attrs")
				for _, attr := range write {
					if _, ok := want[attr.Key]; !ok {
						order = append(order, attr.Key)
					}
					want[attr.Key] = attr.Value
				}
				a = a.With(write)
				clear(write)
				require.Len(t, a.List(), len(order))
				for i, attr := range a.List() {
					require.Equal(t, order[i], attr.Key)
					require.Equal(t, want[attr.Key], attr.Value)
					v, ok := a.Get(attr.Key)
					require.True(t, ok)
					require.Equal(t, attr.Value, v)
				}
			}
		})
	})
}

func TestScope(t *testing.T) {
	t.Run("none is an empty one", func(t *testing.T) {
		var none *frame.Scope
		require.Nil(t, none.Load())
		var zero frame.Scope
		require.Nil(t, zero.Load())
		zero.Start(nil)
		require.Nil(t, zero.Load())
	})
	t.Run("writes at the same time all count", func(t *testing.T) {
		var scope frame.Scope
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				for i := range 50 {
					scope.Set(list(slog.Int(string(rune(w*50+i)), i)))
				}
			})
		}
		all.Wait()
		require.Len(t, scope.Load().List(), 400)
	})
}

// posted is a context of this module, as an executor makes them.
type posted struct {
	context.Context
	scope frame.Scope
	op    frame.Op
	host  frame.Host
}

func (p *posted) Value(key any) any {
	if key == (frame.Key{}) {
		return p
	}
	return p.Context.Value(key)
}

func (p *posted) Scope() *frame.Scope { return &p.scope }
func (p *posted) Over() *frame.Attrs  { return nil }
func (p *posted) Op() frame.Op        { return p.op }
func (p *posted) Host() frame.Host    { return p.host }

func TestFrame(t *testing.T) {
	type host struct{ frame.Host }
	type op struct{ frame.Op }

	t.Run("DIAG-5 a foreign context has none", func(t *testing.T) {
		require.Nil(t, frame.Of(t.Context()))
		require.Nil(t, frame.HostOf(t.Context()))
		require.Nil(t, frame.Capture(t.Context()))
		base, over := frame.Parts(nil)
		require.Nil(t, base)
		require.Nil(t, over)
	})
	t.Run("a layer over none has attributes and nothing else", func(t *testing.T) {
		f := frame.Of(frame.WithAttrs(t.Context(), list(slog.Int("a", 1))))
		require.Nil(t, f.Scope())
		require.Nil(t, f.Op())
		require.Nil(t, f.Host())
		require.Equal(t, list(slog.Int("a", 1)), f.Over().List())
	})
	t.Run("a layer passes on what is below", func(t *testing.T) {
		p := &posted{Context: t.Context(), op: op{}, host: host{}}
		f := frame.Of(frame.WithAttrs(frame.WithAttrs(p, list(slog.Int("a", 1))), list(slog.Int("b", 2))))
		require.Same(t, &p.scope, f.Scope())
		require.Equal(t, p.op, f.Op())
		require.Equal(t, p.host, f.Host())
		require.Equal(t, list(slog.Int("a", 1), slog.Int("b", 2)), f.Over().List())
	})
	t.Run("DIAG-3 a scope hides the attributes below it", func(t *testing.T) {
		p := &posted{Context: t.Context(), op: op{}, host: host{}}
		p.scope.Set(list(slog.Int("below", 1)))
		ctx := frame.WithScope(frame.WithAttrs(p, list(slog.Int("a", 1))), nil)
		f := frame.Of(ctx)
		require.NotSame(t, &p.scope, f.Scope())
		require.Nil(t, f.Over())
		require.Equal(t, p.op, f.Op())
		require.Equal(t, p.host, f.Host())
		require.Equal(t, p.host, frame.HostOf(ctx))
		require.Nil(t, frame.Capture(ctx))
	})
	t.Run("the innermost answers", func(t *testing.T) {
		type key struct{}
		ctx := frame.WithScope(frame.WithAttrs(t.Context(), list(slog.Int("a", 1))),
			(*frame.Attrs)(nil).With(list(slog.Int("b", 2))))
		ctx = context.WithValue(frame.WithAttrs(context.WithValue(ctx, key{}, 1), list(slog.Int("c", 3))), key{}, 2)
		require.Equal(t, list(slog.Int("b", 2), slog.Int("c", 3)), frame.Capture(ctx).List())
		require.Equal(t, 2, ctx.Value(key{}))
	})
	t.Run("DIAG-5 a capture of one list is no copy", func(t *testing.T) {
		bare := t.Context()
		ctx := frame.WithScope(bare, (*frame.Attrs)(nil).With(list(slog.Int("a", 1))))
		require.Zero(t, testing.AllocsPerRun(100, func() {
			frame.Capture(bare)
			frame.Capture(ctx)
		}))
	})
}

// sick panics when it is asked for a value.
type sick struct{ context.Context }

func (sick) Value(any) any { panic("the context") }

func TestLabeled(t *testing.T) {
	t.Run("DIAG-4 labels of ctx are noticed", func(t *testing.T) {
		ctx := pprof.WithLabels(context.Background(), pprof.Labels("tenant", "a"))
		require.True(t, frame.Labeled(frame.WithScope(ctx, nil)))
		require.False(t, frame.Labeled(frame.WithScope(context.Background(), nil)))
		require.False(t, frame.Labeled(context.Background()))
	})
	t.Run("EXEC-7 a context that panics carries none", func(t *testing.T) {
		require.False(t, frame.Labeled(sick{context.Background()}))
	})
}
