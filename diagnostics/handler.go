package diagnostics

import (
	"context"
	"log/slog"
	"slices"
)

// NewHandler returns a handler that hands records to inner with the
// attributes of their context added. If keys are given, only attributes of
// those keys are added.
//
//   - The context's attributes stand at the root of the record, before the
//     record's own, whatever group is open.
//   - A key appears once at the root. A root attribute or an open group of the
//     logger or of the record wins over an attribute of the context, an
//     attribute of the record wins over one of the logger (WithAttrs), and two
//     groups of one name are joined. In groups, keys are left alone.
//   - The keys of slog's own attributes (time, level, msg, source) are taken:
//     a context's attribute of that name is not added. A record's attribute
//     of that name is left to inner, as without this handler.
//   - A LogValuer is resolved before inner sees it, those of WithAttrs when
//     that is called. One that panics is contained, and an error that says so
//     stands for its value.
//   - A group that turns out empty does not show.
//
// What inner had been given before NewHandler (its own WithAttrs) cannot be
// seen and is not compared with. NewHandler panics if inner is nil. The
// handler is safe for concurrent use if inner is.
func NewHandler(inner slog.Handler, keys ...string) slog.Handler {
	if inner == nil {
		panic("diagnostics: NewHandler: nil handler")
	}
	return &handler{bare: inner, base: inner, inner: inner, keys: slices.Clone(keys)}
}

// handler keeps inner three times: a record goes to the one that has as much
// as possible laid down already, so that inner can have formatted it.
//
// Adding the context's attributes with inner.WithAttrs would put them into the
// open group, which is why a record under a group is rebuilt from the root.
type handler struct {
	bare  slog.Handler // as it was given
	base  slog.Handler // bare with the attributes of root
	inner slog.Handler // base with groups too
	keys  []string     // which of the context's; none: all

	// Invariant: no slice here is written to once the handler is made, and
	// all attributes are resolved, without empty groups and, in root and in
	// each group's list, without inlined ones.
	root   []slog.Attr // WithAttrs before any group; each key once
	groups []group     // the open ones, outermost first
	clash  bool        // base has a key twice
}

// group is an open group with what WithAttrs put into it.
type group struct {
	name  string
	attrs []slog.Attr
}

// Enabled asks inner.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.inner.Enabled(ctx, level)
}

// WithAttrs returns a handler whose records carry attrs in the open group.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var list []slog.Attr
	for _, attr := range attrs {
		list = add(list, attr)
	}
	if len(list) == 0 {
		return h
	}
	h2 := *h
	// inner owns the slice that it is given.
	h2.inner = h.inner.WithAttrs(slices.Clone(list))
	if n := len(h.groups); n > 0 {
		h2.groups = slices.Clone(h.groups)
		last := &h2.groups[n-1]
		last.attrs = slices.Concat(last.attrs, list)
		return &h2
	}
	h2.base = h2.inner
	h2.root = fold(h.root, list)
	h2.clash = h.clash || len(h2.root) < len(h.root)+len(list)
	return &h2
}

// WithGroup returns a handler that puts what follows into a group of name.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	h2 := *h
	h2.inner = h.inner.WithGroup(name)
	h2.groups = append(slices.Clip(h.groups), group{name: name})
	return &h2
}

// Handle adds the attributes of ctx to the record and hands it to inner.
func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	extra := h.extra(ctx)
	if len(extra) == 0 && h.plain(record) {
		return h.inner.Handle(ctx, record)
	}
	target, own := h.base, h.own(record)
	if h.clash || h.clashes(own) {
		target, own = h.bare, fold(h.root, own)
	}
	extra = slices.DeleteFunc(extra, func(attr slog.Attr) bool {
		return has(own, attr.Key) || has(h.root, attr.Key)
	})
	record = slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
	record.AddAttrs(extra...)
	record.AddAttrs(own...)
	return target.Handle(ctx, record)
}

// extra returns what ctx may add: wanted, not named like an attribute of
// slog's own, and each key once.
func (h *handler) extra(ctx context.Context) []slog.Attr {
	if ctx == nil { // a Logger never does this; a record is no place to panic
		return nil
	}
	snapshot := capture(ctx)
	list := make([]slog.Attr, 0, snapshot.Len())
	for attr := range snapshot.All() {
		// The members of a group without a name are keys of the root.
		if attr.Key == "" || h.wanted(attr.Key) {
			list = add(list, attr)
		}
	}
	return fold(nil, slices.DeleteFunc(list, func(attr slog.Attr) bool {
		return !h.wanted(attr.Key)
	}))
}

func (h *handler) wanted(key string) bool {
	switch key {
	case slog.TimeKey, slog.LevelKey, slog.MessageKey, slog.SourceKey:
		return false
	}
	return len(h.keys) == 0 || slices.Contains(h.keys, key)
}

// own returns what the record itself adds to the root: its attributes, or the
// outermost open group with all that is in it.
func (h *handler) own(record slog.Record) []slog.Attr {
	members := make([]slog.Attr, 0, record.NumAttrs())
	record.Attrs(func(attr slog.Attr) bool {
		members = add(members, attr)
		return true
	})
	for _, g := range slices.Backward(h.groups) {
		members = slices.Concat(g.attrs, members)
		if len(members) > 0 {
			members = []slog.Attr{{Key: g.name, Value: slog.GroupValue(members...)}}
		}
	}
	return members
}

// clashes reports whether own has a key twice or one of root's.
func (h *handler) clashes(own []slog.Attr) bool {
	for i := range own {
		if has(h.root, own[i].Key) || has(own[:i], own[i].Key) {
			return true
		}
	}
	return false
}

// plain reports whether record can go to inner as it is.
func (h *handler) plain(record slog.Record) bool {
	if h.clash || len(h.groups) > 0 && has(h.root, h.groups[0].name) {
		return false
	}
	var buf [16]string
	keys, plain := buf[:0], true
	record.Attrs(func(attr slog.Attr) bool {
		plain = !hasLogValuer(attr.Value)
		if len(h.groups) == 0 {
			plain = plain && attr.Key != "" && !slices.Contains(keys, attr.Key) && !has(h.root, attr.Key)
			keys = append(keys, attr.Key)
		}
		return plain
	})
	return plain
}

func hasLogValuer(v slog.Value) bool {
	switch v.Kind() {
	case slog.KindLogValuer:
		return true
	case slog.KindGroup:
		return slices.ContainsFunc(v.Group(), func(attr slog.Attr) bool { return hasLogValuer(attr.Value) })
	}
	return false
}

func has(list []slog.Attr, key string) bool {
	return index(list, key) >= 0
}

func index(list []slog.Attr, key string) int {
	for i := range list {
		if list[i].Key == key {
			return i
		}
	}
	return -1
}

// add appends attr, resolved: the members of a group without a name in its
// place, nothing for an empty group or an empty attribute.
func add(list []slog.Attr, attr slog.Attr) []slog.Attr {
	attr.Value = attr.Value.Resolve() // contains a panic
	if attr.Value.Kind() == slog.KindGroup {
		var members []slog.Attr
		for _, member := range attr.Value.Group() {
			members = add(members, member)
		}
		if attr.Key == "" || len(members) == 0 {
			return append(list, members...)
		}
		attr.Value = slog.GroupValue(members...)
	}
	if attr.Equal(slog.Attr{}) {
		return list
	}
	return append(list, attr)
}

// fold returns list, which has each key once, with attrs written over it. All
// are resolved.
func fold(list, attrs []slog.Attr) []slog.Attr {
	list = slices.Grow(slices.Clip(list), len(attrs)) // a copy, if there are any
	for _, attr := range attrs {
		list = put(list, attr)
	}
	return list
}

func put(list []slog.Attr, attr slog.Attr) []slog.Attr {
	i := index(list, attr.Key)
	if i < 0 {
		return append(list, attr)
	}
	if old := list[i].Value; old.Kind() == slog.KindGroup && attr.Value.Kind() == slog.KindGroup {
		attr.Value = slog.GroupValue(slices.Concat(old.Group(), attr.Value.Group())...)
	}
	list[i] = attr
	return list
}
