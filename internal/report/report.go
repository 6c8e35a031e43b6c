// Package report writes this module's log records. No record can break the
// caller: a handler that panics costs one report to [slog.Default], and the
// failure of that is swallowed.
package report

import (
	"context"
	"log/slog"
)

// Logger writes records to a logger that may be nil: then errors and warnings
// go to slog.Default() and the rest nowhere. The zero value is ready to use.
type Logger struct{ To *slog.Logger }

// Error writes a record of level ERROR.
func (l Logger) Error(ctx context.Context, msg string, attrs ...slog.Attr) {
	l.log(ctx, l.orDefault(), slog.LevelError, msg, attrs)
}

// Warn writes a record of level WARN.
func (l Logger) Warn(ctx context.Context, msg string, attrs ...slog.Attr) {
	l.log(ctx, l.orDefault(), slog.LevelWarn, msg, attrs)
}

// Info writes a record of level INFO, if there is a logger.
func (l Logger) Info(ctx context.Context, msg string, attrs ...slog.Attr) {
	if l.To != nil {
		l.log(ctx, l.To, slog.LevelInfo, msg, attrs)
	}
}

func (l Logger) orDefault() *slog.Logger {
	if l.To != nil {
		return l.To
	}
	return slog.Default()
}

func (l Logger) log(ctx context.Context, to *slog.Logger, level slog.Level, msg string, attrs []slog.Attr) {
	defer func() {
		v := recover()
		if v == nil || to == slog.Default() {
			return
		}
		defer func() { _ = recover() }()
		slog.Default().LogAttrs(context.Background(), slog.LevelError, "cadre: a log handler panicked",
			slog.Any("panic", v), slog.String("lost", msg))
	}()
	to.LogAttrs(ctx, level, msg, attrs...)
}
