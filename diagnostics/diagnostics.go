package diagnostics

import (
	"context"
	"log/slog"

	"github.com/cadre-go/cadre/internal/frame"
)

// With returns a child of ctx that carries attrs besides what ctx carries.
// A key that ctx carries too takes the value given here and keeps its place;
// of a key given twice the later value counts. Without attrs it returns ctx.
//
// Under a task scope the child hides the key from then on: a later [Set] of
// it is not seen through the child. ctx itself is left as it is, and the
// caller may use the slice of attrs again.
func With(ctx context.Context, attrs ...slog.Attr) context.Context {
	check(ctx, "With")
	if len(attrs) == 0 {
		return ctx
	}
	return frame.WithAttrs(ctx, attrs)
}

// Set writes attrs into the innermost task scope of ctx. It returns false,
// having written nothing, if ctx is under no scope.
//
// Whoever shares the scope sees the values: the task itself, through any
// context that it derived, and what it submits from now on. Neither the
// task's caller nor a task that was submitted before does. A key that [With]
// has laid over the scope stays hidden behind it.
func Set(ctx context.Context, attrs ...slog.Attr) bool {
	check(ctx, "Set")
	f := frame.Of(ctx)
	if f == nil {
		return false
	}
	scope := f.Scope()
	if scope == nil {
		return false
	}
	scope.Set(attrs)
	return true
}

// Value returns the value that ctx carries for key, and whether it carries
// one. The value is as it was given: a LogValuer is not resolved.
func Value(ctx context.Context, key string) (slog.Value, bool) {
	check(ctx, "Value")
	return capture(ctx).Get(key)
}

// check panics if ctx is nil, as package context does.
func check(ctx context.Context, function string) {
	if ctx == nil {
		panic("diagnostics: " + function + ": nil context")
	}
}
