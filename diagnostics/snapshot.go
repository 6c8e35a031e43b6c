package diagnostics

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"strings"

	"github.com/cadre-go/cadre/internal/frame"
)

// Snapshot is what a context carried when [Capture] was called. It never
// changes and may be used by any number of goroutines. The zero value is
// empty.
//
// The values in it are shared with the caller, not copied.
type Snapshot struct {
	// Both lists are immutable, so two pointers are a copy of everything.
	base *frame.Attrs // what the task scope held
	over *frame.Attrs // what With laid over it
}

// Capture returns the attributes that ctx carries now. It copies no entries:
// its cost does not depend on how many there are, and it allocates nothing.
func Capture(ctx context.Context) Snapshot {
	check(ctx, "Capture")
	return capture(ctx)
}

func capture(ctx context.Context) Snapshot {
	base, over := frame.Parts(frame.Of(ctx))
	return Snapshot{base: base, over: over}
}

// Len returns the number of keys.
func (s Snapshot) Len() int {
	n := len(s.base.List())
	for _, attr := range s.over.List() {
		if _, ok := s.base.Get(attr.Key); !ok {
			n++
		}
	}
	return n
}

// Get returns the value of key and whether there is one.
func (s Snapshot) Get(key string) (slog.Value, bool) {
	if v, ok := s.over.Get(key); ok {
		return v, true
	}
	return s.base.Get(key)
}

// All returns the attributes: each key once with its latest value, in the
// order in which the keys were first written.
//
// The lists are not merged beforehand, so that a log record costs no copy.
func (s Snapshot) All() iter.Seq[slog.Attr] {
	return func(yield func(slog.Attr) bool) {
		for _, attr := range s.base.List() {
			if v, ok := s.over.Get(attr.Key); ok {
				attr.Value = v
			}
			if !yield(attr) {
				return
			}
		}
		for _, attr := range s.over.List() {
			if _, ok := s.base.Get(attr.Key); !ok && !yield(attr) {
				return
			}
		}
	}
}

// String returns the attributes as text, such as "request=r-17 user=7".
func (s Snapshot) String() string {
	var b strings.Builder
	for attr := range s.All() {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		attr.Value = attr.Value.Resolve()
		b.WriteString(attr.String())
	}
	return b.String()
}

// LogValue makes a logged Snapshot a group of its attributes.
func (s Snapshot) LogValue() slog.Value { return slog.GroupValue(slices.Collect(s.All())...) }

// Install returns ctx with a fresh task scope that starts as s. Through it
// nothing is seen of the attributes that ctx carries, and what is [Set]
// through it reaches neither ctx nor s. Installing an empty snapshot therefore
// clears.
func (s Snapshot) Install(ctx context.Context) context.Context {
	check(ctx, "Snapshot.Install")
	return frame.WithScope(ctx, frame.Merge(s.base, s.over))
}
