package report_test

import (
	"context"
	"log"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/internal/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type key struct{}

// recorder keeps the records that it gets, or panics with each.
type recorder struct {
	slog.Handler
	panics  any
	records []slog.Record
	values  []any // of key in the records' contexts
}

func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }

func (r *recorder) Handle(ctx context.Context, record slog.Record) error {
	r.records = append(r.records, record)
	r.values = append(r.values, ctx.Value(key{}))
	if r.panics != nil {
		panic(r.panics)
	}
	return nil
}

// setDefault makes r the default logger for the test.
func setDefault(t *testing.T, r *recorder) {
	old, writer, flags := slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(slog.New(r))
	t.Cleanup(func() {
		slog.SetDefault(old)
		log.SetOutput(writer) // SetDefault has turned package log to r
		log.SetFlags(flags)
	})
}

// write writes one record of each level.
func write(ctx context.Context, l report.Logger) {
	l.Error(ctx, "error", slog.Int("n", 1))
	l.Warn(ctx, "warn")
	l.Info(ctx, "info")
}

func messages(records []slog.Record) []string {
	var list []string
	for _, record := range records {
		list = append(list, record.Level.String()+" "+record.Message)
	}
	return list
}

func TestLogger(t *testing.T) {
	t.Run("to its logger", func(t *testing.T) {
		var to, def recorder
		setDefault(t, &def)
		write(t.Context(), report.Logger{To: slog.New(&to)})
		require.Equal(t, []string{"ERROR error", "WARN warn", "INFO info"}, messages(to.records))
		require.Equal(t, 1, to.records[0].NumAttrs())
		require.Empty(t, def.records)
	})
	t.Run("without one errors and warnings go to the default", func(t *testing.T) {
		var def recorder
		setDefault(t, &def)
		write(t.Context(), report.Logger{})
		require.Equal(t, []string{"ERROR error", "WARN warn"}, messages(def.records))
	})
	t.Run("DIAG-7 B46 a record is written under its context", func(t *testing.T) {
		var to recorder
		write(context.WithValue(t.Context(), key{}, "task"), report.Logger{To: slog.New(&to)})
		require.Equal(t, []any{"task", "task", "task"}, to.values)
	})
	t.Run("DIAG-7 a handler that panics costs one report to the default", func(t *testing.T) {
		for _, to := range []slog.Handler{&recorder{panics: "broken"}, nilPanic{}} {
			var def recorder
			setDefault(t, &def)
			report.Logger{To: slog.New(to)}.Error(context.WithValue(t.Context(), key{}, "task"), "error")
			require.Equal(t, []string{"ERROR cadre: a log handler panicked"}, messages(def.records))
			require.Equal(t, []any{nil}, def.values)
			attrs := map[string]any{}
			def.records[0].Attrs(func(attr slog.Attr) bool {
				attrs[attr.Key] = attr.Value.Any()
				return true
			})
			require.Equal(t, "error", attrs["lost"])
			require.NotNil(t, attrs["panic"])
		}
	})
	t.Run("DIAG-7 the failure of that is swallowed", func(t *testing.T) {
		def, to := recorder{panics: "default"}, recorder{panics: "broken"}
		setDefault(t, &def)
		require.NotPanics(t, func() { write(t.Context(), report.Logger{To: slog.New(&to)}) })
		require.Len(t, to.records, 3)
		require.Len(t, def.records, 3)
	})
	t.Run("DIAG-7 a default that panics is not asked again", func(t *testing.T) {
		def := recorder{panics: "default"}
		setDefault(t, &def)
		require.NotPanics(t, func() { report.Logger{}.Error(t.Context(), "error") })
		require.Len(t, def.records, 1)
	})
}

// nilPanic panics with nil.
type nilPanic struct{ slog.Handler }

func (nilPanic) Enabled(context.Context, slog.Level) bool { panic(nil) }
