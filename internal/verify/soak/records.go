package main

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/cadre-go/cadre/diagnostics"
)

// recordCounter is a log handler that counts what is reported: of posts and ticks,
// and of others, whose failure came when nobody could receive it any more; and
// what is reported under a context that is no job's.
type recordCounter struct{ own, late, strangers atomic.Uint64 }

// reported marks the context of what has nobody but the logger to report to.
func reported(ctx context.Context) context.Context {
	return diagnostics.With(ctx, slog.Bool("reported", true))
}

func (r *recordCounter) Enabled(context.Context, slog.Level) bool { return true }
func (r *recordCounter) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *recordCounter) WithGroup(string) slog.Handler            { return r }

func (r *recordCounter) Handle(ctx context.Context, record slog.Record) error {
	if record.Level < slog.LevelError {
		return nil
	}
	if _, ok := diagnostics.Value(ctx, "reported"); ok {
		r.own.Add(1)
	} else {
		r.late.Add(1)
	}
	if _, ok := diagnostics.Value(ctx, "job"); !ok {
		r.strangers.Add(1)
	}
	return nil
}
