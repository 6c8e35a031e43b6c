package supervised

import (
	"bytes"
	"context"
	"log/slog"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cadre-go/cadre/diagnostics"
	"github.com/cadre-go/cadre/executor"
	"github.com/cadre-go/cadre/future/futuretest"
	"github.com/cadre-go/cadre/internal/frame"
	"github.com/cadre-go/cadre/internal/testwait"
)

// labelsHere returns the pprof labels of the calling goroutine as the goroutine
// profile shows them. One goroutine at a time may call it.
//
//go:noinline
func labelsHere() string {
	var buf bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&buf, 1); err != nil {
		panic(err)
	}
	for block := range strings.SplitSeq(buf.String(), "\n\n") {
		if !strings.Contains(block, "supervised.labelsHere+") {
			continue
		}
		for line := range strings.Lines(block) {
			if labels, ok := strings.CutPrefix(line, "# labels: "); ok {
				return strings.TrimSpace(labels)
			}
		}
		return ""
	}
	panic("the goroutine profile does not show its caller:\n" + buf.String())
}

func TestLabels(t *testing.T) {
	const idle = `{"executor":"supervised"}`
	t.Run("SUP-38 DIAG-4 a job's labels come with Next, and go with the following one and with Serve", func(t *testing.T) {
		seen := make(chan [3]string, 1)
		last := make(chan string, 1)
		activated := make(chan string, 1)
		cfg := plain(1, nil)
		cfg.Recovery = Temporary(RetireRole)
		cfg.Factory = making(&labeled{
			activate: func() { activated <- labelsHere() },
			serve: func(ctx context.Context, in *inbox) error {
				var got [3]string
				got[0] = labelsHere()
				a, err := in.Next(ctx)
				if err != nil {
					return err
				}
				got[1] = labelsHere()
				if err := a.Complete(1); err != nil {
					return err
				}
				short, cancel := context.WithCancel(ctx)
				cancel()
				_, _ = in.Next(short)
				got[2] = labelsHere()
				seen <- got
				return errTest
			},
		})
		cfg.OnDiagnostic = func(d Diagnostic) {
			if d.Kind == AbnormalExit {
				last <- labelsHere()
			}
		}
		var p *pool
		pprof.Do(context.Background(), pprof.Labels("starter", "test"), func(context.Context) {
			p, _ = New(context.Background(), cfg) // a goroutine inherits the labels of its starter
		})
		require.Equal(t, idle, testwait.Value(t, activated))
		ticket, err := p.Submit(pprof.WithLabels(context.Background(), pprof.Labels("tenant", "t1")), 1)
		for err != nil { // Activate has returned, and is about to be known to have
			ticket, err = p.Submit(pprof.WithLabels(context.Background(), pprof.Labels("tenant", "t1")), 1)
		}
		futuretest.Await(t, ticket.Outcome)
		require.Equal(t, [3]string{idle, `{"tenant":"t1"}`, idle}, testwait.Value(t, seen))
		require.Equal(t, idle, testwait.Value(t, last))
		stop(t, p)
	})
	t.Run("SUP-7 a returned job's callbacks run under its labels", func(t *testing.T) {
		h := newHeld()
		p, _ := start(t, plain(1, h))
		ticket, err := p.Submit(pprof.WithLabels(context.Background(), pprof.Labels("tenant", "t2")), 1)
		require.NoError(t, err)
		testwait.Value(t, h.has)
		got := make(chan string, 1)
		ticket.Outcome.OnSettle(func(outcome) { got <- labelsHere() })
		p.Stop()
		require.Equal(t, `{"tenant":"t2"}`, testwait.Value(t, got))
	})
	t.Run("DIAG-3 a job submitted by a task of a pool has its values and a scope of its own", func(t *testing.T) {
		type got struct {
			trace      string
			host, op   bool
			set        bool
			inner      string
			deadlineOk bool
		}
		seen := make(chan got, 1)
		p, _ := start(t, plain(1, handler(func(ctx context.Context, a assignment) error {
			var g got
			v, _ := diagnostics.Value(ctx, "trace")
			g.trace = v.String()
			f := frame.Of(ctx)
			g.host, g.op = f.Host() != nil, f.Op() != nil
			g.set = diagnostics.Set(ctx, slog.String("trace", "inner"))
			v, _ = diagnostics.Value(ctx, "trace")
			g.inner = v.String()
			_, g.deadlineOk = ctx.Deadline()
			seen <- g
			return a.Complete(1)
		})))
		ex, err := executor.New(executor.Config{Size: 1})
		require.NoError(t, err)
		ctx := diagnostics.With(context.Background(), slog.String("trace", "outer"))
		outside := executor.Submit(ctx, ex, func(ctx context.Context) (string, error) {
			ticket, err := p.Submit(ctx, 1)
			if err != nil {
				return "", err
			}
			if _, err := ticket.Outcome.Await(ctx); err != nil {
				return "", err
			}
			v, _ := diagnostics.Value(ctx, "trace")
			return v.String(), nil
		})
		require.Equal(t, "outer", futuretest.Await(t, outside))
		require.Equal(t, got{trace: "outer", set: true, inner: "inner"}, testwait.Value(t, seen))
		require.NoError(t, ex.Shutdown(within(t)))
	})
}

// labeled is a worker of two functions.
type labeled struct {
	activate func()
	serve    func(ctx context.Context, in *inbox) error
}

func (l *labeled) Activate(context.Context) error             { l.activate(); return nil }
func (l *labeled) Serve(ctx context.Context, in *inbox) error { return l.serve(ctx, in) }
