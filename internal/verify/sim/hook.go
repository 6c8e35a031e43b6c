package sim

import (
	"context"
	"log/slog"

	"github.com/cadre-go/cadre/diagnostics"
)

// hookFault is what the next call of a hook does.
type hookFault uint8

const (
	hookPanics hookFault = iota
	hookBlocks
	hookCallsBack
	lastHookFault
)

// armHook prepares a fault of the next hook that is called, whichever that is.
func (w *world) armHook(op Op) {
	f := hookFault(op.A % uint16(lastHookFault))
	w.note("the next hook %s", [...]string{"panics", "blocks", "calls back in"}[f])
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = append(w.armed, f)
}

// freeHook lets a hook or a callback go that stands still.
func (w *world) freeHook(op Op) {
	w.endPuppetOf(op, returned, hookRole, callbackRole)
}

// hook is what every hook and logger of the simulation comes down to. It reports
// whether it is going to panic, for those subjects to which that matters.
func (w *world) hook(ctx context.Context, what string, panics func()) {
	w.mu.Lock()
	if len(w.armed) == 0 || w.epilogue.Load() {
		w.mu.Unlock()
		return
	}
	f := w.armed[0]
	w.armed = w.armed[1:]
	w.mu.Unlock()
	switch f {
	case hookPanics:
		w.counts.fault("panic in " + what)
		if panics != nil {
			panics()
		}
		panic(&boom{what})
	case hookBlocks:
		w.counts.fault("block in " + what)
		w.stand(w.newPuppet(hookRole, ctx, what), nil)
	case hookCallsBack:
		w.counts.fault("call back in from " + what)
		w.callBack(ctx)
	}
}

// callBack calls into every subject, as a hook or a callback may.
func (w *world) callBack(ctx context.Context) {
	w.pool.Stats()
	w.pool.Running()
	w.timer.Len()
	w.lease.Stats()
	w.lease.Outstanding()
	if w.sup != nil {
		w.sup.Stats()
	}
	if l, err := w.lease.TryAcquire(ended); err == nil {
		w.bad("a context that had ended got lease %v", l)
	}
}

// ended is a context that has ended.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// logHandler is the handler of every subject's logger. It counts the errors and
// warnings that are about a job, by that job's context.
type logHandler struct{ w *world }

func (h logHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h logHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h logHandler) WithGroup(string) slog.Handler            { return h }

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if v, ok := diagnostics.Value(ctx, "job"); ok {
		h.w.mu.Lock()
		if id := int(v.Int64()); id < len(h.w.byJob) {
			if t := h.w.byJob[id]; t != nil {
				switch r.Level {
				case slog.LevelError:
					t.errorRecords++
				case slog.LevelWarn:
					t.warnRecords++
				}
			}
		}
		h.w.mu.Unlock()
	}
	h.w.hook(ctx, "a logger", nil)
	return nil
}
