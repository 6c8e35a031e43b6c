package diagnostics_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cadre-go/cadre/diagnostics"
)

// entries is the naive ordered map of the model.
type entries []slog.Attr

func (e entries) with(attrs ...slog.Attr) entries {
	e = append(entries(nil), e...)
write:
	for _, attr := range attrs {
		for i := range e {
			if e[i].Key == attr.Key {
				e[i] = attr
				continue write
			}
		}
		e = append(e, attr)
	}
	return e
}

func (e entries) String() string {
	var text string
	for _, attr := range e {
		text += attr.String() + " "
	}
	return text
}

// node is a context with what the model says of it.
type node struct {
	ctx   context.Context
	scope *entries // shared by the nodes of one task; nil outside of any
	over  entries
}

func (n node) all() entries {
	if n.scope == nil {
		return n.over
	}
	return n.scope.with(n.over...)
}

type taken struct {
	snapshot diagnostics.Snapshot
	want     entries
}

// TestModel runs random operations over a tree of contexts and compares every
// context and every snapshot with the model after each.
func TestModel(t *testing.T) {
	keys := []string{"a", "b", "c", "d", ""}
	attrs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) slog.Attr {
		return slog.Int(rapid.SampledFrom(keys).Draw(t, "key"), rapid.IntRange(0, 9).Draw(t, "value"))
	}), 0, 3)

	rapid.Check(t, func(t *rapid.T) {
		nodes := []node{{ctx: context.Background()}}
		snapshots := []taken{{}}
		pick := func(t *rapid.T) node { return rapid.SampledFrom(nodes).Draw(t, "context") }

		t.Repeat(map[string]func(*rapid.T){
			"With": func(t *rapid.T) {
				n, attrs := pick(t), attrs.Draw(t, "attrs")
				n.ctx, n.over = diagnostics.With(n.ctx, attrs...), n.over.with(attrs...)
				clear(attrs) // the caller's slice
				nodes = append(nodes, n)
			},
			"Set": func(t *rapid.T) {
				n, attrs := pick(t), attrs.Draw(t, "attrs")
				require.Equal(t, n.scope != nil, diagnostics.Set(n.ctx, attrs...))
				if n.scope != nil {
					*n.scope = n.scope.with(attrs...)
				}
				clear(attrs)
			},
			"Capture": func(t *rapid.T) {
				n := pick(t)
				snapshots = append(snapshots, taken{diagnostics.Capture(n.ctx), n.all()})
			},
			"Install": func(t *rapid.T) {
				n, s := pick(t), rapid.SampledFrom(snapshots).Draw(t, "snapshot")
				scope := s.want.with()
				nodes = append(nodes, node{ctx: s.snapshot.Install(n.ctx), scope: &scope})
			},
			"another context in between": func(t *rapid.T) {
				n := pick(t)
				type key struct{}
				n.ctx = context.WithValue(n.ctx, key{}, 1)
				nodes = append(nodes, n)
			},
			"": func(t *rapid.T) {
				for _, n := range nodes {
					requireEntries(t, n.all(), diagnostics.Capture(n.ctx), keys)
					for _, attr := range n.all() {
						v, ok := diagnostics.Value(n.ctx, attr.Key)
						require.True(t, ok)
						require.True(t, v.Equal(attr.Value))
					}
				}
				for _, s := range snapshots {
					requireEntries(t, s.want, s.snapshot, keys)
				}
			},
		})
	})
}

func requireEntries(t require.TestingT, want entries, got diagnostics.Snapshot, keys []string) {
	require.Equal(t, want.String(), show(got))
	require.Equal(t, len(want), got.Len())
	present := 0
	for _, key := range keys {
		if _, ok := got.Get(key); ok {
			present++
		}
	}
	require.Equal(t, len(want), present)
}
