package diagnostics_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
)

// show writes a snapshot as "key=value ..." in the order of All.
func show(s diagnostics.Snapshot) string {
	var text string
	for attr := range s.All() {
		text += attr.String() + " "
	}
	return text
}

// carried is what ctx carries, as show writes it.
func carried(ctx context.Context) string { return show(diagnostics.Capture(ctx)) }

// scope returns ctx with a task scope that starts as what ctx carries.
func scope(ctx context.Context) context.Context {
	return diagnostics.Capture(ctx).Install(ctx)
}

func requireValue(t *testing.T, ctx context.Context, key, want string) {
	t.Helper()
	v, ok := diagnostics.Value(ctx, key)
	require.True(t, ok, "%s is absent", key)
	require.Equal(t, want, v.String())
}

func requireAbsent(t *testing.T, ctx context.Context, key string) {
	t.Helper()
	v, ok := diagnostics.Value(ctx, key)
	require.False(t, ok, "%s is present", key)
	require.True(t, v.Equal(slog.Value{}))
}

func TestWith(t *testing.T) {
	parent := diagnostics.With(t.Context(), slog.String("a", "1"), slog.String("b", "2"))

	t.Run("the child carries more and the parent stays as it is", func(t *testing.T) {
		child := diagnostics.With(parent, slog.String("c", "3"), slog.String("a", "4"))
		require.Equal(t, "a=4 b=2 c=3 ", carried(child))
		require.Equal(t, "a=1 b=2 ", carried(parent))
	})
	t.Run("siblings do not see one another", func(t *testing.T) {
		one := diagnostics.With(parent, slog.String("x", "1"))
		two := diagnostics.With(parent, slog.String("x", "2"))
		require.Equal(t, "a=1 b=2 x=1 ", carried(one))
		require.Equal(t, "a=1 b=2 x=2 ", carried(two))
	})
	t.Run("DIAG-2 a key written again keeps its place", func(t *testing.T) {
		child := diagnostics.With(parent, slog.String("c", "3"), slog.String("a", "4"), slog.String("c", "5"))
		require.Equal(t, "a=4 b=2 c=5 ", carried(child))
	})
	t.Run("the caller's slice may be used again", func(t *testing.T) {
		attrs := []slog.Attr{slog.String("k", "before")}
		child := diagnostics.With(t.Context(), attrs...)
		attrs[0] = slog.String("other", "after")
		require.Equal(t, "k=before ", carried(child))
	})
	t.Run("without attributes ctx comes back", func(t *testing.T) {
		require.Equal(t, parent, diagnostics.With(parent))
	})
	t.Run("what else the context is shows through", func(t *testing.T) {
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
		child := scope(diagnostics.With(ctx, slog.String("a", "1")))
		require.Equal(t, "v", child.Value(key{}))
		grandchild, stop := context.WithCancel(child)
		defer stop()
		requireValue(t, grandchild, "a", "1")
		cancel()
		require.ErrorIs(t, grandchild.Err(), context.Canceled)
	})
}

func TestSet(t *testing.T) {
	t.Run("false outside of a scope", func(t *testing.T) {
		ctx := diagnostics.With(t.Context(), slog.String("a", "1"))
		require.False(t, diagnostics.Set(ctx, slog.String("a", "2")))
		require.False(t, diagnostics.Set(t.Context(), slog.String("a", "2")))
		require.Equal(t, "a=1 ", carried(ctx))
	})
	t.Run("seen through every context of the scope", func(t *testing.T) {
		task := scope(t.Context())
		child := diagnostics.With(task, slog.String("b", "2"))
		require.True(t, diagnostics.Set(child, slog.String("a", "1")))
		require.Equal(t, "a=1 ", carried(task))
		require.Equal(t, "a=1 b=2 ", carried(child))
		require.True(t, diagnostics.Set(task))
	})
	t.Run("DIAG-2 writes below any With", func(t *testing.T) {
		task := scope(diagnostics.With(t.Context(), slog.String("a", "1"), slog.String("b", "2")))
		child := diagnostics.With(task, slog.String("a", "with"))
		require.True(t, diagnostics.Set(child, slog.String("a", "set")))
		requireValue(t, child, "a", "with")
		require.Equal(t, "a=with b=2 ", carried(child))
		require.Equal(t, "a=set b=2 ", carried(task))
	})
	t.Run("DIAG-2 a key written again keeps its place", func(t *testing.T) {
		task := scope(diagnostics.With(t.Context(), slog.String("a", "1"), slog.String("b", "2")))
		require.True(t, diagnostics.Set(task, slog.String("c", "3"), slog.String("a", "4")))
		require.Equal(t, "a=4 b=2 c=3 ", carried(task))
	})
	t.Run("writes the innermost scope", func(t *testing.T) {
		outer := scope(t.Context())
		inner := scope(outer)
		require.True(t, diagnostics.Set(inner, slog.String("a", "1")))
		require.Equal(t, "a=1 ", carried(inner))
		require.Empty(t, carried(outer))
	})
	t.Run("the caller's slice may be used again", func(t *testing.T) {
		task := scope(t.Context())
		attrs := []slog.Attr{slog.String("k", "before")}
		require.True(t, diagnostics.Set(task, attrs...))
		attrs[0] = slog.String("other", "after")
		require.Equal(t, "k=before ", carried(task))
	})
	t.Run("writes at the same time all count", func(t *testing.T) {
		const writers, writes = 8, 50
		task := scope(t.Context())
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range writes {
					diagnostics.Set(task, slog.Int(fmt.Sprintf("%d/%d", w, i), i))
					if _, ok := diagnostics.Value(task, fmt.Sprintf("%d/0", w)); !ok {
						t.Error("a write was lost")
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, writers*writes, diagnostics.Capture(task).Len())
	})
}

func TestCapture(t *testing.T) {
	t.Run("DIAG-2 a later With does not alter a snapshot", func(t *testing.T) {
		ctx := diagnostics.With(t.Context(), slog.String("a", "1"))
		s := diagnostics.Capture(ctx)
		ctx = diagnostics.With(ctx, slog.String("a", "2"), slog.String("b", "3"))
		require.Equal(t, "a=1 ", show(s))
		require.Equal(t, "a=2 b=3 ", carried(ctx))
	})
	t.Run("DIAG-2 a later Set does not alter a snapshot", func(t *testing.T) {
		task := scope(diagnostics.With(t.Context(), slog.String("a", "1")))
		s := diagnostics.Capture(task)
		require.True(t, diagnostics.Set(task, slog.String("a", "2"), slog.String("b", "3")))
		require.Equal(t, "a=1 ", show(s))
		require.Equal(t, "a=2 b=3 ", carried(task))
	})
	t.Run("DIAG-2 values are shared", func(t *testing.T) {
		tags := []string{"old"}
		s := diagnostics.Capture(diagnostics.With(t.Context(), slog.Any("tags", tags)))
		tags[0] = "new"
		v, _ := s.Get("tags")
		require.Equal(t, []string{"new"}, v.Any())
	})
	t.Run("DIAG-1 each call takes what its own context carries", func(t *testing.T) {
		// One object, used under two contexts.
		capture := diagnostics.Capture
		one := capture(diagnostics.With(t.Context(), slog.String("tenant", "A")))
		two := capture(diagnostics.With(t.Context(), slog.String("tenant", "B")))
		require.Equal(t, "tenant=A ", show(one))
		require.Equal(t, "tenant=B ", show(two))
	})
	t.Run("B43 what the context was built from may change", func(t *testing.T) {
		attrs := []slog.Attr{slog.String("tenant", "A")}
		one := diagnostics.Capture(diagnostics.With(t.Context(), attrs...))
		attrs[0].Value = slog.StringValue("B")
		two := diagnostics.Capture(diagnostics.With(t.Context(), attrs...))
		require.Equal(t, "tenant=A ", show(one))
		require.Equal(t, "tenant=B ", show(two))
	})
	t.Run("DIAG-5 a bare context costs nothing", func(t *testing.T) {
		ctx := t.Context()
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if diagnostics.Capture(ctx).Len() != 0 {
				t.Error("a bare context carries something")
			}
		}))
	})
	t.Run("copies no entries", func(t *testing.T) {
		ctx := t.Context()
		for i := range 100 {
			ctx = diagnostics.With(ctx, slog.Int(fmt.Sprint(i), i))
		}
		ctx = diagnostics.With(scope(ctx), slog.Int("over", 1))
		require.Zero(t, testing.AllocsPerRun(100, func() { sink = diagnostics.Capture(ctx) }))
		require.Equal(t, 101, sink.Len())
	})
}

var sink diagnostics.Snapshot

func TestSnapshot(t *testing.T) {
	t.Run("the zero value is empty", func(t *testing.T) {
		var s diagnostics.Snapshot
		require.Zero(t, s.Len())
		_, ok := s.Get("a")
		require.False(t, ok)
		require.Empty(t, show(s))
		require.Empty(t, carried(s.Install(t.Context())))
	})
	t.Run("Len Get and All agree on hidden keys", func(t *testing.T) {
		task := scope(diagnostics.With(t.Context(), slog.String("a", "1"), slog.String("b", "2")))
		s := diagnostics.Capture(diagnostics.With(task, slog.String("b", "3"), slog.String("c", "4")))
		require.Equal(t, 3, s.Len())
		require.Equal(t, "a=1 b=3 c=4 ", show(s))
		for key, want := range map[string]string{"a": "1", "b": "3", "c": "4"} {
			v, ok := s.Get(key)
			require.True(t, ok)
			require.Equal(t, want, v.String())
		}
	})
	t.Run("All may be left early and run again", func(t *testing.T) {
		task := scope(diagnostics.With(t.Context(), slog.String("a", "1"), slog.String("b", "2")))
		s := diagnostics.Capture(diagnostics.With(task, slog.String("c", "3"), slog.String("d", "4")))
		for n := range 5 {
			var keys string
			for attr := range s.All() {
				if len(keys) == n {
					break
				}
				keys += attr.Key
			}
			require.Equal(t, "abcd"[:n], keys)
		}
	})
}

func TestInstall(t *testing.T) {
	caller := diagnostics.With(t.Context(), slog.String("a", "1"), slog.String("empty", ""))

	t.Run("DIAG-3 the scope starts as exactly the snapshot", func(t *testing.T) {
		below := diagnostics.With(t.Context(), slog.String("below", "x"), slog.String("a", "x"))
		task := diagnostics.Capture(caller).Install(below)
		require.Equal(t, "a=1 empty= ", carried(task))
		requireAbsent(t, task, "below")
		requireValue(t, task, "empty", "")
	})
	t.Run("DIAG-3 what lay over the scope is in the new one", func(t *testing.T) {
		over := diagnostics.With(scope(caller), slog.String("a", "2"))
		task := scope(over)
		require.True(t, diagnostics.Set(task, slog.String("a", "3")))
		requireValue(t, task, "a", "3")
	})
	t.Run("DIAG-3 what a task sets is seen by what it submits", func(t *testing.T) {
		task := scope(caller)
		require.True(t, diagnostics.Set(task, slog.String("x", "1")))
		requireValue(t, scope(task), "x", "1")
	})
	t.Run("DIAG-3 what a task sets is seen by nobody else", func(t *testing.T) {
		s := diagnostics.Capture(caller)
		parent := s.Install(caller)
		before := scope(parent)
		require.True(t, diagnostics.Set(parent, slog.String("x", "1"), slog.String("a", "2")))
		for name, ctx := range map[string]context.Context{
			"the caller": caller, "submitted before": before, "a sibling": s.Install(caller),
		} {
			requireAbsent(t, ctx, "x")
			requireValue(t, ctx, "a", "1")
			require.Equal(t, "a=1 empty= ", carried(ctx), name)
		}
		require.Equal(t, "a=1 empty= ", show(s))
	})
	t.Run("B45 DIAG-4 what one job leaves behind does not reach the next", func(t *testing.T) {
		empty := diagnostics.Capture(t.Context())
		worker := t.Context()
		first := empty.Install(worker)
		require.True(t, diagnostics.Set(first, slog.String("x", "1")))
		next := empty.Install(worker)
		requireAbsent(t, next, "x")
		requireAbsent(t, empty.Install(first), "x")
	})
	t.Run("DIAG-4 profiler labels are left alone", func(t *testing.T) {
		pprof.Do(t.Context(), pprof.Labels("job", "7"), func(ctx context.Context) {
			ctx = scope(diagnostics.With(ctx, slog.String("a", "1")))
			v, ok := pprof.Label(ctx, "job")
			require.True(t, ok)
			require.Equal(t, "7", v)
		})
	})
	t.Run("DIAG-5 an empty snapshot clears and costs the scope", func(t *testing.T) {
		empty := diagnostics.Capture(t.Context())
		task := empty.Install(caller)
		require.Empty(t, carried(task))
		requireAbsent(t, task, "a")
		require.True(t, diagnostics.Set(task, slog.String("x", "1")))
		require.Equal(t, 1.0, testing.AllocsPerRun(100, func() { ctxSink = empty.Install(caller) }))
	})
}

var ctxSink context.Context

func TestNilContext(t *testing.T) {
	var ctx context.Context
	require.PanicsWithValue(t, "diagnostics: With: nil context", func() { diagnostics.With(ctx) })
	require.PanicsWithValue(t, "diagnostics: Set: nil context", func() { diagnostics.Set(ctx) })
	require.PanicsWithValue(t, "diagnostics: Value: nil context", func() { diagnostics.Value(ctx, "a") })
	require.PanicsWithValue(t, "diagnostics: Capture: nil context", func() { diagnostics.Capture(ctx) })
	require.PanicsWithValue(t, "diagnostics: Snapshot.Install: nil context", func() { diagnostics.Snapshot{}.Install(ctx) })
}

func TestSnapshotShown(t *testing.T) {
	ctx := diagnostics.With(context.Background(), slog.String("request", "r-17"), slog.Int("user", 7))
	snapshot := diagnostics.Capture(ctx)
	require.Equal(t, "request=r-17 user=7", snapshot.String())
	require.Equal(t, "request=r-17 user=7", fmt.Sprint(snapshot))
	require.Empty(t, diagnostics.Snapshot{}.String())

	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("left", "task", snapshot)
	require.Contains(t, out.String(), "task.request=r-17 task.user=7")
}
