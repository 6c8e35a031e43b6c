package diagnostics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
)

// output collects what a JSON handler writes.
type output struct{ bytes.Buffer }

// handler returns a JSON handler without time and level that writes to o.
func (o *output) handler() slog.Handler {
	return slog.NewJSONHandler(o, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
			if len(groups) == 0 && (attr.Key == slog.TimeKey || attr.Key == slog.LevelKey) {
				if _, ok := attr.Value.Any().(string); !ok {
					return slog.Attr{}
				}
			}
			return attr
		},
	})
}

// valuer is a LogValuer.
type valuer func() slog.Value

func (v valuer) LogValue() slog.Value { return v() }

var panicking = valuer(func() slog.Value { panic("no value") })

// collector is a handler that asks LogValuers itself, without a net, and
// keeps the root attributes of the records.
type collector struct {
	slog.Handler
	records *[]map[string]any
}

func newCollector() collector {
	return collector{slog.DiscardHandler, new([]map[string]any)}
}

func (c collector) Enabled(context.Context, slog.Level) bool { return true }

func (c collector) Handle(_ context.Context, record slog.Record) error {
	values := map[string]any{}
	record.Attrs(func(attr slog.Attr) bool {
		values[attr.Key] = plainValue(attr.Value)
		return true
	})
	*c.records = append(*c.records, values)
	return nil
}

func (c collector) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, attr := range attrs {
		plainValue(attr.Value)
	}
	return c
}

func (c collector) WithGroup(string) slog.Handler { return c }

func plainValue(v slog.Value) any {
	for v.Kind() == slog.KindLogValuer {
		v = v.LogValuer().LogValue()
	}
	if v.Kind() != slog.KindGroup {
		return v.Any()
	}
	values := map[string]any{}
	for _, attr := range v.Group() {
		values[attr.Key] = plainValue(attr.Value)
	}
	return values
}

func TestNewHandler(t *testing.T) {
	carrying := func(attrs ...slog.Attr) func(*testing.T) context.Context {
		return func(t *testing.T) context.Context { return diagnostics.With(t.Context(), attrs...) }
	}
	trace := carrying(slog.String("trace", "ctx"))
	bare := carrying()

	for _, test := range []struct {
		name string
		ctx  func(*testing.T) context.Context
		keys []string
		log  func(context.Context, *slog.Logger)
		want string
	}{
		{
			name: "DIAG-6 the context's attributes are added",
			ctx:  carrying(slog.String("trace", "ctx"), slog.Int("n", 7)),
			log:  func(ctx context.Context, l *slog.Logger) { l.With("w", 1).InfoContext(ctx, "m", "r", 2) },
			want: `{"msg":"m","w":1,"trace":"ctx","n":7,"r":2}`,
		}, {
			name: "DIAG-6 a record without a context's attributes is left as it is",
			ctx:  bare,
			log: func(ctx context.Context, l *slog.Logger) {
				l.With("w", 1).WithGroup("g").InfoContext(ctx, "m", "r", 2, "msg", 3, "r", 4)
			},
			want: `{"msg":"m","w":1,"g":{"r":2,"msg":3,"r":4}}`,
		}, {
			name: "DIAG-6 at the root whatever group is open",
			ctx:  trace,
			log: func(ctx context.Context, l *slog.Logger) {
				l.With("w", 1).WithGroup("g").With("x", 2).WithGroup("h").With("y", 3).InfoContext(ctx, "m", "r", 4)
			},
			want: `{"msg":"m","w":1,"trace":"ctx","g":{"x":2,"h":{"y":3,"r":4}}}`,
		}, {
			name: "DIAG-6 a key of the context and one in a group are two",
			ctx:  trace,
			log:  func(ctx context.Context, l *slog.Logger) { l.WithGroup("g").InfoContext(ctx, "m", "trace", "rec") },
			want: `{"msg":"m","trace":"ctx","g":{"trace":"rec"}}`,
		}, {
			name: "DIAG-6 a root attribute of the record wins",
			ctx:  trace,
			log:  func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "m", "trace", "rec") },
			want: `{"msg":"m","trace":"rec"}`,
		}, {
			name: "DIAG-6 a root attribute of WithAttrs wins",
			ctx:  trace,
			log:  func(ctx context.Context, l *slog.Logger) { l.With("trace", "with").InfoContext(ctx, "m") },
			want: `{"msg":"m","trace":"with"}`,
		}, {
			name: "DIAG-6 a root attribute of WithAttrs wins under a group",
			ctx:  trace,
			log: func(ctx context.Context, l *slog.Logger) {
				l.With("trace", "with").WithGroup("g").InfoContext(ctx, "m", "r", 1)
			},
			want: `{"msg":"m","trace":"with","g":{"r":1}}`,
		}, {
			name: "DIAG-6 a member of an inlined group wins",
			ctx:  trace,
			log: func(ctx context.Context, l *slog.Logger) {
				l.InfoContext(ctx, "m", slog.Group("", slog.Group("", slog.String("trace", "rec"))))
			},
			want: `{"msg":"m","trace":"rec"}`,
		}, {
			name: "DIAG-6 a LogValuer that makes an inlined group wins",
			ctx:  trace,
			log: func(ctx context.Context, l *slog.Logger) {
				l.InfoContext(ctx, "m", "", valuer(func() slog.Value { return slog.GroupValue(slog.Int("trace", 1)) }))
			},
			want: `{"msg":"m","trace":1}`,
		}, {
			name: "DIAG-6 a group of the record wins",
			ctx:  trace,
			log:  func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "m", slog.Group("trace", "r", 1)) },
			want: `{"msg":"m","trace":{"r":1}}`,
		}, {
			name: "DIAG-6 an open group wins",
			ctx:  trace,
			log:  func(ctx context.Context, l *slog.Logger) { l.WithGroup("trace").InfoContext(ctx, "m", "r", 1) },
			want: `{"msg":"m","trace":{"r":1}}`,
		}, {
			name: "DIAG-6 a group that shows nothing does not win",
			ctx:  trace,
			log: func(ctx context.Context, l *slog.Logger) {
				l.WithGroup("trace").WithGroup("g").InfoContext(ctx, "m", slog.Group("h"), slog.Attr{})
				l.InfoContext(ctx, "n", slog.Group("trace", slog.Group("h", slog.Attr{})))
			},
			want: `{"msg":"m","trace":"ctx"}` + "\n" + `{"msg":"n","trace":"ctx"}`,
		}, {
			name: "DIAG-6 a key appears once",
			ctx:  trace,
			log: func(ctx context.Context, l *slog.Logger) {
				l.With("trace", "with").InfoContext(ctx, "m", "trace", "rec")
				l.With("trace", "with", "trace", "again").InfoContext(ctx, "n")
				l.With("trace", "with").With("trace", "again").InfoContext(ctx, "o")
				l.InfoContext(ctx, "p", "trace", "rec", "trace", "again")
			},
			want: `{"msg":"m","trace":"rec"}` + "\n" + `{"msg":"n","trace":"again"}` + "\n" +
				`{"msg":"o","trace":"again"}` + "\n" + `{"msg":"p","trace":"again"}`,
		}, {
			name: "DIAG-6 a key appears once without a context's attributes",
			ctx:  bare,
			log: func(ctx context.Context, l *slog.Logger) {
				l.With("k", "with").InfoContext(ctx, "m", "k", "rec")
				l.With("k", "with", "k", "again").InfoContext(ctx, "n")
				l.InfoContext(ctx, "o", "k", "rec", "k", "again")
				l.InfoContext(ctx, "p", "k", "rec", slog.Group("", "k", "again"))
				l.With("k", "with").WithGroup("k").InfoContext(ctx, "q", "r", 1)
			},
			want: `{"msg":"m","k":"rec"}` + "\n" + `{"msg":"n","k":"again"}` + "\n" +
				`{"msg":"o","k":"again"}` + "\n" + `{"msg":"p","k":"again"}` + "\n" + `{"msg":"q","k":{"r":1}}`,
		}, {
			name: "DIAG-6 groups of one name at the root are joined",
			ctx:  bare,
			log: func(ctx context.Context, l *slog.Logger) {
				l = l.With(slog.Group("g", "a", 1))
				l.InfoContext(ctx, "m", slog.Group("g", "b", 2))
				l.WithGroup("g").InfoContext(ctx, "n", "b", 2)
			},
			want: `{"msg":"m","g":{"a":1,"b":2}}` + "\n" + `{"msg":"n","g":{"a":1,"b":2}}`,
		}, {
			name: "DIAG-6 slog's own keys are taken",
			ctx: carrying(slog.String("time", "x"), slog.String("level", "x"), slog.String("msg", "x"),
				slog.String("source", "x"), slog.Group("", "msg", "x"), slog.String("a", "1")),
			log:  func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "m") },
			want: `{"msg":"m","a":"1"}`,
		}, {
			name: "DIAG-6 only the given keys are added",
			ctx: carrying(slog.Int("a", 1), slog.Int("b", 2), slog.Int("c", 3),
				slog.Group("", "a", 4, "d", 5, "e", 6)),
			keys: []string{"a", "c", "d", "missing"},
			log:  func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "m", "b", "rec") },
			want: `{"msg":"m","a":4,"c":3,"d":5,"b":"rec"}`,
		}, {
			name: "DIAG-6 a group of the context is one key",
			ctx:  carrying(slog.Group("user", "id", 1, slog.Group("none")), slog.Group("none"), slog.Attr{}),
			log:  func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "m") },
			want: `{"msg":"m","user":{"id":1}}`,
		}, {
			name: "DIAG-6 WithAttrs and WithGroup of nothing are nothing",
			ctx:  trace,
			log: func(ctx context.Context, l *slog.Logger) {
				l = slog.New(l.Handler().WithAttrs(nil).WithGroup("").WithAttrs([]slog.Attr{{}, slog.Group("g")}))
				l.InfoContext(ctx, "m", "r", 1)
				l.Info("n", "r", 1)
			},
			want: `{"msg":"m","trace":"ctx","r":1}` + "\n" + `{"msg":"n","r":1}`,
		}, {
			name: "DIAG-1 a record carries its own context",
			ctx:  trace,
			log: func(ctx context.Context, l *slog.Logger) {
				l = l.WithGroup("g")
				l.InfoContext(ctx, "m", "r", 1)
				l.InfoContext(diagnostics.With(ctx, slog.String("trace", "B")), "m", "r", 1)
			},
			want: `{"msg":"m","trace":"ctx","g":{"r":1}}` + "\n" + `{"msg":"m","trace":"B","g":{"r":1}}`,
		}, {
			name: "B46 a line without a task's context carries none",
			ctx:  bare,
			log:  func(_ context.Context, l *slog.Logger) { l.Info("m") },
			want: `{"msg":"m"}`,
		}, {
			name: "two handlers add a key once",
			ctx:  trace,
			log: func(ctx context.Context, l *slog.Logger) {
				l = slog.New(diagnostics.NewHandler(l.Handler()))
				l.WithGroup("g").InfoContext(ctx, "m", "r", 1)
			},
			want: `{"msg":"m","trace":"ctx","g":{"r":1}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out output
			logger := slog.New(diagnostics.NewHandler(out.handler(), test.keys...))
			test.log(test.ctx(t), logger)
			require.Equal(t, test.want+"\n", out.String())
		})
	}

	t.Run("DIAG-6 a panic in a LogValuer is contained", func(t *testing.T) {
		for name, ctx := range map[string]context.Context{
			"of the context": diagnostics.With(t.Context(), slog.Any("bad", panicking), slog.Int("good", 1)),
			"in a group of the context": diagnostics.With(t.Context(),
				slog.Group("bad", slog.Group("deep", slog.Any("bad", panicking))), slog.Int("good", 1)),
			"that a LogValuer returned": diagnostics.With(t.Context(), slog.Int("good", 1),
				slog.Any("bad", valuer(func() slog.Value { return slog.GroupValue(slog.Any("bad", panicking)) }))),
		} {
			var out output
			slog.New(diagnostics.NewHandler(out.handler())).WithGroup("g").InfoContext(ctx, "m", "r", 1)
			require.Contains(t, out.String(), "LogValue panicked", name)
			require.Contains(t, out.String(), `"good":1`, name)

			inner := newCollector()
			slog.New(diagnostics.NewHandler(inner)).InfoContext(ctx, "m", "r", int64(1))
			require.Len(t, *inner.records, 1, name)
			require.Contains(t, (*inner.records)[0], "bad", name)
			require.Equal(t, int64(1), (*inner.records)[0]["r"], name)
		}
	})
	t.Run("DIAG-6 a panic in a LogValuer of the record or of WithAttrs is contained", func(t *testing.T) {
		inner := newCollector()
		logger := slog.New(diagnostics.NewHandler(inner)).With(slog.Group("w", "bad", panicking))
		logger.InfoContext(t.Context(), "m", "r", 1, slog.Group("rec", slog.Int("r", 1), slog.Any("bad", panicking)))
		require.Len(t, *inner.records, 1)
		group := (*inner.records)[0]["rec"].(map[string]any)
		err, ok := group["bad"].(error)
		require.True(t, ok, "%v", group)
		require.True(t, strings.HasPrefix(err.Error(), "LogValue panicked"), err)
	})
	t.Run("a LogValuer of the context is asked for each record", func(t *testing.T) {
		var asked int
		ctx := diagnostics.With(t.Context(), slog.Any("n", valuer(func() slog.Value {
			asked++
			return slog.IntValue(asked)
		})))
		var out output
		logger := slog.New(diagnostics.NewHandler(out.handler()))
		require.Zero(t, asked)
		logger.InfoContext(ctx, "m")
		logger.InfoContext(ctx, "m")
		require.Equal(t, `{"msg":"m","n":1}`+"\n"+`{"msg":"m","n":2}`+"\n", out.String())
	})
	t.Run("a LogValuer of a key that is not wanted is not asked", func(t *testing.T) {
		ctx := diagnostics.With(t.Context(), slog.Any("n", valuer(func() slog.Value {
			t.Error("asked")
			return slog.Value{}
		})))
		slog.New(diagnostics.NewHandler(new(output).handler(), "other")).InfoContext(ctx, "m")
	})
	t.Run("handlers that come from one another are apart", func(t *testing.T) {
		var out output
		ctx := trace(t)
		one := slog.New(diagnostics.NewHandler(out.handler())).WithGroup("g").With("a", 1).WithGroup("h")
		two, three := one.With("b", 2), one.With("b", 3)
		one = one.WithGroup("k")
		four, five := one.WithGroup("i"), one.WithGroup("j")
		for _, l := range []*slog.Logger{one, two, three, four, five} {
			l.InfoContext(ctx, "m", "r", 1)
		}
		require.Equal(t, []string{
			`{"msg":"m","trace":"ctx","g":{"a":1,"h":{"k":{"r":1}}}}`,
			`{"msg":"m","trace":"ctx","g":{"a":1,"h":{"b":2,"r":1}}}`,
			`{"msg":"m","trace":"ctx","g":{"a":1,"h":{"b":3,"r":1}}}`,
			`{"msg":"m","trace":"ctx","g":{"a":1,"h":{"k":{"i":{"r":1}}}}}`,
			`{"msg":"m","trace":"ctx","g":{"a":1,"h":{"k":{"j":{"r":1}}}}}`,
		}, strings.Split(strings.TrimSpace(out.String()), "\n"))
	})
	t.Run("the caller's keys and attributes may be used again", func(t *testing.T) {
		var out output
		keys := []string{"trace"}
		h := diagnostics.NewHandler(out.handler(), keys...)
		keys[0] = "other"
		attrs := []slog.Attr{slog.Int("a", 1)}
		h = h.WithAttrs(attrs)
		attrs[0] = slog.Int("trace", 2)
		h = h.WithGroup("g").WithAttrs(attrs)
		attrs[0] = slog.Int("b", 3)
		slog.New(h).InfoContext(trace(t), "m")
		require.Equal(t, `{"msg":"m","a":1,"trace":"ctx","g":{"trace":2}}`+"\n", out.String())
	})
	t.Run("time level and source go through", func(t *testing.T) {
		var out bytes.Buffer
		h := slog.NewJSONHandler(&out, &slog.HandlerOptions{AddSource: true})
		ctx := diagnostics.With(trace(t), slog.String("source", "ctx"))
		slog.New(diagnostics.NewHandler(h)).WarnContext(ctx, "m")
		require.Contains(t, out.String(), `"level":"WARN"`)
		require.Contains(t, out.String(), "handler_test.go")
		require.Equal(t, 1, strings.Count(out.String(), `"source"`))
		require.Equal(t, 1, strings.Count(out.String(), `"time"`))
	})
	t.Run("Enabled and errors are inner's", func(t *testing.T) {
		failure := errors.New("disk full")
		h := diagnostics.NewHandler(failing{failure, slog.DiscardHandler})
		require.True(t, h.Enabled(t.Context(), slog.LevelInfo))
		require.False(t, h.Enabled(t.Context(), slog.LevelDebug))
		record := slog.NewRecord(time.Time{}, slog.LevelInfo, "m", 0)
		require.Equal(t, failure, h.Handle(t.Context(), record))
		require.Equal(t, failure, h.Handle(trace(t), record))
		var none context.Context
		require.Equal(t, failure, h.Handle(none, record))
	})
	t.Run("nil inner panics", func(t *testing.T) {
		require.PanicsWithValue(t, "diagnostics: NewHandler: nil handler", func() { diagnostics.NewHandler(nil) })
	})
	t.Run("DIAG-5 a record of a bare context costs nothing more", func(t *testing.T) {
		h := diagnostics.NewHandler(slog.DiscardHandler).WithAttrs([]slog.Attr{slog.Int("a", 1)})
		record := slog.NewRecord(time.Time{}, slog.LevelInfo, "m", 0)
		record.AddAttrs(slog.Int("b", 1), slog.Group("c", slog.Int("d", 1)))
		ctx := t.Context()
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = h.Handle(ctx, record) }))
	})
	t.Run("many goroutines at once", func(t *testing.T) {
		h := diagnostics.NewHandler(slog.NewJSONHandler(io.Discard, nil)).WithAttrs([]slog.Attr{slog.Int("a", 1)})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				ctx := scope(trace(t))
				l := slog.New(h.WithGroup("g"))
				for i := range 50 {
					diagnostics.Set(ctx, slog.Int("i", i))
					l.With("b", 1).InfoContext(ctx, "m", "r", i)
					l.InfoContext(ctx, "m", "a", i)
				}
			})
		}
		all.Wait()
	})
}

// failing is enabled from INFO and fails to write.
type failing struct {
	err error
	slog.Handler
}

func (f failing) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (f failing) Handle(context.Context, slog.Record) error        { return f.err }

// under hands records on under another context.
type under struct {
	slog.Handler
	ctx context.Context
}

func (u under) Handle(_ context.Context, record slog.Record) error {
	return u.Handler.Handle(u.ctx, record)
}
func (u under) WithAttrs(attrs []slog.Attr) slog.Handler {
	return under{u.Handler.WithAttrs(attrs), u.ctx}
}
func (u under) WithGroup(name string) slog.Handler {
	return under{u.Handler.WithGroup(name), u.ctx}
}

func TestSlogtest(t *testing.T) {
	for name, attrs := range map[string][]slog.Attr{
		"DIAG-6 without attributes":      nil,
		"DIAG-6 with a context":          {slog.String("trace", "ctx"), slog.Int("n", 1)},
		"DIAG-6 with keys of slog's own": {slog.String("time", "ctx"), slog.String("msg", "ctx"), slog.String("source", "ctx")},
	} {
		t.Run(name, func(t *testing.T) {
			var out *bytes.Buffer
			slogtest.Run(t, func(t *testing.T) slog.Handler {
				out = new(bytes.Buffer)
				inner := diagnostics.NewHandler(slog.NewJSONHandler(out, nil))
				return under{inner, diagnostics.With(t.Context(), attrs...)}
			}, func(t *testing.T) map[string]any {
				values := map[string]any{}
				require.NoError(t, json.Unmarshal(out.Bytes(), &values))
				return values
			})
		})
	}
}
