package diagnostics_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-go/cadre/diagnostics"
)

var scopeKeys = []string{"a", "b", "c", "d", "e", ""}

// jobs plays a program of callers and jobs over a tree of contexts. A job is a
// snapshot that is taken now and installed later, in any context. No value is
// written twice, so one that has strayed tells where it came from.
type jobs struct {
	t     *testing.T
	p     program
	nodes []node
	taken []taken
	value int
}

// attrs returns attributes with fresh values; a key may be there twice.
func (j *jobs) attrs() []slog.Attr {
	list := make([]slog.Attr, 0, 3)
	for range j.p.next(4) {
		j.value++
		list = append(list, slog.Int(scopeKeys[j.p.next(len(scopeKeys))], j.value))
	}
	return list
}

func (j *jobs) step() {
	at := j.p.next(len(j.nodes))
	n := j.nodes[at]
	switch j.p.next(6) {
	case 0: // With
		attrs := j.attrs()
		n.ctx, n.over = diagnostics.With(n.ctx, attrs...), n.over.with(attrs...)
		clear(attrs) // the caller's slice
		j.nodes = append(j.nodes, n)
	case 1, 2: // Set
		attrs := j.attrs()
		if got := diagnostics.Set(n.ctx, attrs...); got != (n.scope != nil) {
			j.t.Fatalf("Set: %v", got)
		}
		if n.scope != nil {
			*n.scope = n.scope.with(attrs...)
		}
		clear(attrs)
	case 3: // a job is handed over
		s := taken{diagnostics.Capture(n.ctx), n.all()}
		j.taken = append(j.taken, s)
		j.same(s.want, s.snapshot)
	case 4: // a job starts
		s := j.taken[j.p.next(len(j.taken))]
		scope := s.want.with()
		n = node{ctx: s.snapshot.Install(n.ctx), scope: &scope}
		j.nodes = append(j.nodes, n)
	case 5: // a context of somebody else
		type key struct{}
		n.ctx = context.WithoutCancel(context.WithValue(n.ctx, key{}, 1))
		j.nodes = append(j.nodes, n)
	}
	j.same(n.all(), diagnostics.Capture(n.ctx))
}

// check looks at every context and every snapshot that there has been.
func (j *jobs) check() {
	for _, n := range j.nodes {
		j.same(n.all(), diagnostics.Capture(n.ctx))
		want := n.all()
		for _, key := range scopeKeys {
			v, ok := diagnostics.Value(n.ctx, key)
			i := slices.IndexFunc(want, func(attr slog.Attr) bool { return attr.Key == key })
			if ok != (i >= 0) || ok && !v.Equal(want[i].Value) {
				j.t.Fatalf("Value of %q: %v, %v beside %v", key, v, ok, want)
			}
		}
	}
	for _, s := range j.taken {
		j.same(s.want, s.snapshot)
	}
}

// same compares all that can be read of a snapshot with the model.
func (j *jobs) same(want entries, s diagnostics.Snapshot) {
	got := slices.AppendSeq(make([]slog.Attr, 0, 8), s.All())
	if !slices.EqualFunc(want, got, slog.Attr.Equal) || s.Len() != len(want) {
		j.t.Fatalf("%v, %d in number, instead of %v", got, s.Len(), want)
	}
	if text := s.String(); text != strings.TrimSuffix(want.String(), " ") {
		j.t.Fatalf("%q instead of %q", text, want)
	}
	members := s.LogValue().Group()
	if !slices.EqualFunc(want, members, slog.Attr.Equal) {
		j.t.Fatalf("%v logged instead of %v", members, want)
	}
	clear(members) // nobody else's
	for attr := range s.All() {
		if !attr.Equal(want[0]) {
			j.t.Fatalf("the first one is %v, not %v", attr, want[0])
		}
		break
	}
	for _, key := range scopeKeys {
		v, ok := s.Get(key)
		i := slices.IndexFunc(want, func(attr slog.Attr) bool { return attr.Key == key })
		if ok != (i >= 0) || ok && !v.Equal(want[i].Value) {
			j.t.Fatalf("Get of %q: %v, %v beside %v", key, v, ok, want)
		}
	}
}

// FuzzScope compares every context and every snapshot of a program of jobs
// with the model: what a job sees is its snapshot and what it has set, whatever
// its caller and the other jobs do.
func FuzzScope(f *testing.F) {
	f.Add([]byte{})
	// A caller's attribute, a job, a Set in the job, another job of the same caller.
	f.Add([]byte{0, 0, 1, 0, 1, 3, 0, 4, 1, 2, 1, 1, 0, 1, 4, 1, 2, 2, 2, 1, 2, 1, 3, 3, 0, 4, 2})
	f.Add([]byte{0, 4, 0, 1, 0, 2, 0, 1, 2, 0, 0, 1, 0, 2, 1, 1, 0, 3, 3, 3, 3, 4, 1, 4, 1, 2, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		j := &jobs{t: t, p: data[:min(len(data), 200)], nodes: []node{{ctx: context.Background()}}, taken: []taken{{}}}
		for steps := 1; len(j.p) > 0; steps++ {
			j.step()
			if steps%8 == 0 {
				j.check()
			}
		}
		j.check()
	})
}
