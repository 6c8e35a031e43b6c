package diagnostics_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
)

// program reads attributes and calls out of the fuzzer's bytes.
type program []byte

func (p *program) next(n int) int {
	if len(*p) == 0 {
		return 0
	}
	b := int((*p)[0])
	*p = (*p)[1:]
	return b % n
}

func (p *program) attrs(depth int, keys ...string) []slog.Attr {
	var list []slog.Attr
	for range p.next(4) {
		list = append(list, slog.Attr{Key: keys[p.next(len(keys))], Value: p.value(depth, keys)})
	}
	return list
}

func (p *program) value(depth int, keys []string) slog.Value {
	switch kind := p.next(9); {
	case kind == 8 && p.next(3) == 2:
		return slog.AnyValue(panicking)
	case kind == 1:
		return slog.AnyValue(nil)
	case kind == 2 && depth > 0:
		v := p.value(depth-1, keys)
		return slog.AnyValue(valuer(func() slog.Value { return v }))
	case kind >= 3 && kind <= 5 && depth > 0:
		// slog's JSON handler loses a comma after a group that has members
		// of which none shows.
		if members := p.attrs(depth-1, keys...); slices.ContainsFunc(members, shows) {
			return slog.GroupValue(members...)
		}
		return slog.GroupValue()
	}
	return slog.IntValue(len(*p)) // few are there twice
}

func shows(attr slog.Attr) bool {
	v := attr.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		return slices.ContainsFunc(v.Group(), shows)
	}
	return attr.Key != "" || v.Any() != nil
}

// field is a member of a JSON object.
type field struct {
	key   string
	value any // of an object: its members, in order
}

// root is the root of one JSON record: each key once, the latest value,
// objects of one name joined. keys has every key as often as it was written,
// in order.
func root(t *testing.T, text string) (values map[string]any, keys []string) {
	values = map[string]any{}
	for _, f := range decode(t, json.NewDecoder(strings.NewReader(text))).([]field) {
		keys = append(keys, f.key)
		old, isGroup := values[f.key].([]field)
		if group, ok := f.value.([]field); ok && isGroup {
			f.value = slices.Concat(old, group)
		}
		values[f.key] = f.value
	}
	return values, keys
}

// decode reads one JSON value. It cuts the stacks from the placeholders and
// drops empty groups, of which slog's own handlers write some.
func decode(t *testing.T, dec *json.Decoder) any {
	token, err := dec.Token()
	require.NoError(t, err)
	if text, ok := token.(string); ok {
		text, _, _ = strings.Cut(text, "\n")
		return text
	}
	if token != json.Delim('{') {
		return token
	}
	var fields []field
	for dec.More() {
		key, err := dec.Token()
		require.NoError(t, err)
		v := decode(t, dec)
		if group, ok := v.([]field); !ok || len(group) > 0 {
			fields = append(fields, field{key.(string), v})
		}
	}
	_, err = dec.Token()
	require.NoError(t, err)
	return fields
}

// logging is two handlers that were made by the same calls, slog's own and
// ours, and what they write.
type logging struct {
	ours, theirs slog.Handler
	got, plain   *output
	top          slog.Handler // theirs before the first group
	fails        bool
}

// choosy is a handler that is enabled from a level on and fails after it has
// written.
type choosy struct {
	slog.Handler
	from slog.Level
	err  error
}

func (c choosy) Enabled(_ context.Context, level slog.Level) bool { return level >= c.from }

func (c choosy) Handle(ctx context.Context, record slog.Record) error {
	return errors.Join(c.Handler.Handle(ctx, record), c.err)
}

func (c choosy) WithAttrs(attrs []slog.Attr) slog.Handler {
	return choosy{c.Handler.WithAttrs(attrs), c.from, c.err}
}

func (c choosy) WithGroup(name string) slog.Handler {
	return choosy{c.Handler.WithGroup(name), c.from, c.err}
}

// derive returns the two after one more call. The slices that they are given
// are used again.
func (l logging) derive(p *program) logging {
	if p.next(2) == 1 {
		name := []string{"g", "h", "a", ""}[p.next(4)]
		// slog's own handlers leave the empty name to the Logger.
		if name != "" {
			l.top = l.root()
			l.theirs = l.theirs.WithGroup(name)
		}
		l.ours = l.ours.WithGroup(name)
		return l
	}
	attrs := p.attrs(2, "a", "b", "f", "g", "")
	l.theirs = l.theirs.WithAttrs(slices.Clone(attrs))
	l.ours = l.ours.WithAttrs(attrs)
	clear(attrs)
	return l
}

func (l logging) root() slog.Handler {
	if l.top != nil {
		return l.top
	}
	return l.theirs
}

// write returns the root of what h writes, to one of l's outputs.
func (l logging) write(t *testing.T, h slog.Handler, ctx context.Context, record slog.Record) (map[string]any, []string) {
	l.got.Reset()
	l.plain.Reset()
	err := h.Handle(ctx, record)
	require.Equal(t, l.fails, err != nil, "%v", err)
	return root(t, l.got.String()+l.plain.String())
}

// check compares what the two write of a record, under a context with the
// attributes added: ours has to add those whose keys are not taken, before
// what is the record's own.
func (l logging) check(t *testing.T, ctx context.Context, record slog.Record, added []field) {
	want, _ := l.write(t, l.theirs, ctx, record.Clone())
	_, early := l.write(t, l.root(), ctx, slog.NewRecord(time.Time{}, slog.LevelInfo, "m", 0))
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn} {
		require.Equal(t, l.theirs.Enabled(ctx, level), l.ours.Enabled(ctx, level))
	}
	var extra []string
	for _, f := range added {
		if _, taken := want[f.key]; !taken {
			want[f.key], extra = f.value, append(extra, f.key)
		}
	}
	for range 2 { // the record is left as it was
		values, keys := l.write(t, l.ours, ctx, record)
		require.Equal(t, want, values)
		require.Len(t, keys, len(values), "a key is there twice: %q", keys)
		keys = slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(early, key) })
		require.True(t, slices.Equal(extra, keys[:len(extra)]), "%q come late or in another order: %q", extra, keys)
	}
}

// FuzzHandler compares what is written through NewHandler with what slog's
// own handler writes for the same calls and for the context's attributes. Each
// handler is derived from any that there is, and all of them are in use until
// the end.
func FuzzHandler(f *testing.F) {
	f.Add([]byte{})
	// A group with an attribute, and two loggers that come from it.
	f.Add([]byte{0, 0, 0, 3, 0, 1, 0, 0, 0, 1, 2, 0, 0, 1, 1, 1, 0, 0, 1, 4, 6, 2, 0, 0, 1, 6, 1, 0, 6})
	f.Add([]byte{1, 1, 2, 6, 0, 0, 2, 0, 6, 1, 7, 0, 1, 0, 0, 1, 1, 0, 1, 2, 1, 1, 1, 0, 3, 0, 6, 4, 3, 2, 0, 6, 1, 6})
	f.Add([]byte{0, 2, 0, 4, 0, 0, 1, 3, 3, 2, 0, 6, 1, 6, 0, 0, 3, 0, 3, 1, 2, 6, 1, 1, 0, 3, 3, 3, 1, 0, 6, 1, 3, 4, 1, 2, 1, 3, 1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		p := program(data[:min(len(data), 300)])
		keys := []string{"a", "b", "c", "d", "e", "g", ""}
		var chosen []string
		if p.next(2) == 1 {
			keys, chosen = []string{"a", "d", "g"}, []string{"a", "d", "g"}
		}
		l := logging{got: new(output), plain: new(output)}
		from, err := slog.Level(p.next(3)*4-4), []error{nil, nil, io.ErrShortWrite}[p.next(3)]
		l.fails = err != nil
		l.ours, l.theirs = diagnostics.NewHandler(choosy{l.got.handler(), from, err}, chosen...), choosy{l.plain.handler(), from, err}
		clear(chosen)
		all := []logging{l}
		for range p.next(10) {
			last := len(all) - 1
			all = append(all, all[max(0, last-p.next(4))].derive(&p))
		}
		record := slog.NewRecord(time.Time{}, slog.LevelInfo, "m", 0)
		carried := record.Clone()
		record.AddAttrs(p.attrs(2, "a", "b", "c", "g", "")...)

		ctx := diagnostics.With(t.Context(), p.attrs(2, "a", "b", "c", "g", "", "msg", "level")...)
		ctx = scope(ctx)
		diagnostics.Set(ctx, p.attrs(2, "a", "b", "d", "")...)
		ctx = diagnostics.With(ctx, p.attrs(2, "a", "e", "g")...)
		carried.AddAttrs(slices.Collect(diagnostics.Capture(ctx).All())...)
		values, order := l.write(t, l.theirs, ctx, carried)
		var added []field
		for _, key := range order {
			if v, ok := values[key]; ok && slices.Contains(keys, key) {
				added = append(added, field{key, v})
				delete(values, key) // once
			}
		}
		for _, l := range all {
			l.check(t, ctx, record, added)
		}
	})
}
