package diagnostics_test

import (
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

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
	switch kind := p.next(8); {
	case kind == 0:
		return slog.AnyValue(panicking)
	case kind == 1:
		return slog.AnyValue(nil)
	case kind == 2 && depth > 0:
		v := p.value(depth-1, keys)
		return slog.AnyValue(valuer(func() slog.Value { return v }))
	case kind <= 5 && depth > 0:
		// slog's JSON handler loses a comma after a group that has members
		// of which none shows.
		if members := p.attrs(depth-1, keys...); slices.ContainsFunc(members, shows) {
			return slog.GroupValue(members...)
		}
		return slog.GroupValue()
	}
	return slog.IntValue(p.next(100))
}

func shows(attr slog.Attr) bool {
	v := attr.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		return slices.ContainsFunc(v.Group(), shows)
	}
	return attr.Key != "" || v.Any() != nil
}

// root is the root of one JSON record: each key once, the latest value,
// objects of one name joined. keys counts how often a key was written.
func root(t *testing.T, text string) (values map[string]any, keys map[string]int) {
	dec := json.NewDecoder(strings.NewReader(text))
	keys = map[string]int{}
	v := decode(t, dec, func(values map[string]any, key string, v any) {
		keys[key]++
		old, isGroup := values[key].(map[string]any)
		if group, ok := v.(map[string]any); ok && isGroup {
			maps.Copy(old, group)
		} else {
			values[key] = v
		}
	})
	return v.(map[string]any), keys
}

// decode reads one JSON value and has put write the members of an object. It
// cuts the stacks from the placeholders and drops empty groups, of which
// slog's own handlers write some; a decoder that takes the latest value of a
// key would take those for it.
func decode(t *testing.T, dec *json.Decoder, put func(values map[string]any, key string, v any)) any {
	token, err := dec.Token()
	require.NoError(t, err)
	if text, ok := token.(string); ok {
		text, _, _ = strings.Cut(text, "\n")
		return text
	}
	if token != json.Delim('{') {
		return token
	}
	values := map[string]any{}
	for dec.More() {
		key, err := dec.Token()
		require.NoError(t, err)
		v := decode(t, dec, func(values map[string]any, key string, v any) { values[key] = v })
		if group, ok := v.(map[string]any); !ok || len(group) > 0 {
			put(values, key.(string), v)
		}
	}
	_, err = dec.Token()
	require.NoError(t, err)
	return values
}

// FuzzHandler compares what is written through NewHandler with what slog's
// own handler writes for the same calls and for the context's attributes.
func FuzzHandler(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x02\x01\x07\x05\x02\x07\x06\x00\x01\x01\x01\x07\x09"))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28})
	f.Add([]byte{3, 1, 7, 1, 2, 7, 2, 3, 7, 3, 0, 3, 1, 1, 1, 7, 1, 2, 3, 1, 3, 1, 4, 1, 1, 7, 1, 2, 7})
	f.Add([]byte("22C00222002000C700010001120C1000C20C7000002010101202C1020170107000700C10000"))
	f.Add([]byte("0000000110000102C"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := program(data)
		ctx := diagnostics.With(t.Context(), p.attrs(2, "a", "b", "c", "g", "", "msg", "level")...)
		ctx = scope(ctx)
		diagnostics.Set(ctx, p.attrs(2, "a", "b", "d", "")...)
		ctx = diagnostics.With(ctx, p.attrs(2, "a", "e", "g")...)

		var keys []string
		if p.next(2) == 1 {
			keys = []string{"a", "d", "g"}
		}
		var got, plain, context output
		ours, theirs := diagnostics.NewHandler(got.handler(), keys...), plain.handler()
		for range p.next(5) {
			if p.next(3) == 0 {
				name := []string{"g", "h", "a", ""}[p.next(4)]
				// slog's own handlers leave the empty name to the Logger.
				if name != "" {
					theirs = theirs.WithGroup(name)
				}
				ours = ours.WithGroup(name)
			} else {
				attrs := p.attrs(2, "a", "b", "f", "g", "")
				theirs = theirs.WithAttrs(slices.Clone(attrs))
				ours = ours.WithAttrs(attrs)
			}
		}
		attrs := p.attrs(2, "a", "b", "c", "g", "")
		slog.New(ours).LogAttrs(ctx, slog.LevelInfo, "m", attrs...)
		slog.New(theirs).LogAttrs(ctx, slog.LevelInfo, "m", attrs...)
		slog.New(context.handler()).LogAttrs(ctx, slog.LevelInfo, "m", slices.Collect(diagnostics.Capture(ctx).All())...)

		want, _ := root(t, plain.String())
		added, _ := root(t, context.String())
		for key, v := range added {
			_, taken := want[key]
			if !taken && key != slog.LevelKey && (keys == nil || slices.Contains(keys, key)) {
				want[key] = v
			}
		}
		values, times := root(t, got.String())
		require.Equal(t, want, values, "%s", got.String())
		for key, n := range times {
			require.Equal(t, 1, n, "%q in %s", key, got.String())
		}
	})
}
