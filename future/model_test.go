package future_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cadre-go/cadre/future"
)

// The model is a naive future: a list of what waits for it and functions that
// call one another, without a lock, a ring or a context. A sequence of
// operations, read from bytes, is done to both; after every step the log of
// callbacks (which, with what, in which order) and all the outcomes have to
// be the same.

// outcome is an outcome as text; the empty string is pending.
type outcome string

func valueOf(v any) outcome { return outcome(fmt.Sprint("value ", v)) }
func errorOf(err error) outcome {
	if _, ok := err.(*future.CanceledError); ok {
		return outcome("canceled " + err.Error())
	}
	return outcome("error " + err.Error())
}

func (o outcome) canceled() bool { return strings.HasPrefix(string(o), "canceled ") }
func (o outcome) failed() bool   { return o.canceled() || strings.HasPrefix(string(o), "error ") }

// text is the error's or the value's.
func (o outcome) text() string {
	_, text, _ := strings.Cut(string(o), " ")
	return text
}

// waiter is one thing that waits for a model future.
type waiter struct {
	onCancel bool
	run      func(o outcome) (panicked any)
}

// node is a future and its model.
type node struct {
	c *future.Completer[int] // nil if derived
	f *future.Future[int]    // nil if its values are no ints

	cancel, abandon func(error) bool
	outcome         func() outcome
	onSettle        func(fn func(outcome))
	endCtx          context.CancelCauseFunc // of what it is derived under

	depth    int    // over completers; texts grow with it
	name     string // in the log
	state    outcome
	byCancel bool
	cause    string // of that Cancel
	waiters  []*waiter
	inputs   []*node // whom a Cancel reaches
	subs     []*waiter
	subsAt   []*node
}

func handleOf[T any](f *future.Future[T]) *node {
	text := func(o future.Outcome[T]) outcome {
		if o.Err != nil {
			return errorOf(o.Err)
		}
		return valueOf(o.Value)
	}
	return &node{
		cancel:  f.Cancel,
		abandon: f.Abandon,
		outcome: func() outcome {
			o, ok := f.Outcome()
			if !ok {
				return ""
			}
			return text(o)
		},
		onSettle: func(fn func(outcome)) { f.OnSettle(func(o future.Outcome[T]) { fn(text(o)) }) },
	}
}

// settle is the model's settle. It returns the first panic.
func (n *node) settle(o outcome, byCancel bool, cause string) (won bool, panicked any) {
	if n.state != "" {
		return false, nil
	}
	n.state, n.byCancel, n.cause = o, byCancel, cause
	return true, n.notify()
}

func first(panicked *any, v any) {
	if *panicked == nil {
		*panicked = v
	}
}

func (n *node) notify() (panicked any) {
	for i, s := range n.subs { // nothing is left on its inputs
		at := n.subsAt[i]
		at.waiters = slices.DeleteFunc(slices.Clone(at.waiters), func(w *waiter) bool { return at.state == "" && w == s })
	}
	waiters := n.waiters
	n.waiters = nil
	if n.byCancel {
		first(&panicked, n.cancelInputs(n.cause))
		for _, w := range waiters {
			if w.onCancel {
				first(&panicked, w.run(outcome(n.cause)))
			}
		}
	}
	for _, w := range waiters {
		if !w.onCancel {
			first(&panicked, w.run(n.state))
		}
	}
	return panicked
}

func (n *node) cancelInputs(cause string) (panicked any) {
	for _, in := range n.inputs {
		_, p := in.modelCancel(cause)
		first(&panicked, p)
	}
	return panicked
}

func canceledBy(cause string) outcome { return outcome("canceled future: canceled: " + cause) }

func (n *node) modelCancel(cause string) (bool, any) { return n.settle(canceledBy(cause), true, cause) }

// finish settles an aggregate, and cancels its inputs before its callbacks.
func (n *node) finish(o outcome, cause string) (panicked any) {
	if n.state != "" {
		return nil
	}
	waiters := n.waiters
	n.waiters, n.state = nil, o
	n.notify() // only leaves its inputs
	panicked = n.cancelInputs(cause)
	for _, w := range waiters {
		first(&panicked, w.run(o))
	}
	return panicked
}

// wait has run called with in's outcome.
func (n *node) wait(in *node, run func(o outcome) any) (panicked any) {
	w := &waiter{run: func(o outcome) any {
		if n.state != "" {
			return nil
		}
		return run(o)
	}}
	if in.state != "" {
		return w.run(in.state)
	}
	in.waiters = append(in.waiters, w)
	n.subs, n.subsAt = append(n.subs, w), append(n.subsAt, in)
	return nil
}

const maxDepth = 5

// play is one run of the model.
type play struct {
	t     require.TestingT
	data  []byte
	nodes []*node
	next  int // for texts that occur once

	mu        sync.Mutex
	got, want []string
}

func (p *play) byte() int {
	if len(p.data) == 0 {
		return 0
	}
	b := p.data[0]
	p.data = p.data[1:]
	return int(b)
}

func (p *play) pick() *node { return p.nodes[p.byte()%len(p.nodes)] }

// pickInt picks a node of ints.
func (p *play) pickInt() *node {
	for i, at := 0, p.byte(); ; i++ {
		if n := p.nodes[(at+i)%len(p.nodes)]; n.f != nil {
			return n
		}
	}
}

func (p *play) name() string { p.next++; return fmt.Sprintf("#%d", p.next) }

func (p *play) saw(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, s)
}

func (p *play) expect(s string) { p.want = append(p.want, s) }

// callback returns a callback that notes its call and then may cancel another
// future or panic, and the model of it.
func (p *play) callback() (real func(o outcome), model func(o outcome) any) {
	name, kind := p.name(), p.byte()%4
	other := p.pick()
	cause := testErr("by " + name)
	real = func(o outcome) {
		p.saw(name + " " + string(o))
		switch kind {
		case 1:
			other.cancel(cause)
		case 2:
			panic(name)
		}
	}
	model = func(o outcome) (panicked any) {
		p.expect(name + " " + string(o))
		switch kind {
		case 1:
			_, panicked = other.modelCancel(string(cause))
		case 2:
			panicked = name
		}
		return panicked
	}
	return real, model
}

// do calls fn and returns what it panicked with.
func do(fn func()) (panicked any) {
	defer func() { panicked = recover() }()
	fn()
	return nil
}

func (p *play) equal(want, got any, what string) {
	require.Equal(p.t, want, got, "%s\nlog %q", what, p.got)
}

func (p *play) newCompleter() {
	name := p.name()
	c := future.NewCompleter(future.WithDispose(func(v int) { p.saw(fmt.Sprint(name, " disposed of ", v)) }))
	n := handleOf(c.Future())
	n.name, n.c, n.f = name, c, c.Future()
	p.nodes = append(p.nodes, n)
}

// step does one operation.
func (p *play) step() {
	switch op := p.byte() % 16; op {
	case 0:
		p.newCompleter()
	case 1, 2, 3:
		p.settleOne(op)
	case 4, 5:
		n := p.pick()
		cause := testErr("cause " + p.name())
		var won, wantWon bool
		var panicked, wantPanic any
		if op == 4 {
			panicked = do(func() { won = n.cancel(cause) })
			wantWon, wantPanic = n.modelCancel(string(cause))
		} else {
			panicked = do(func() { won = n.abandon(cause) })
			wantWon, wantPanic = n.settle(canceledBy(string(cause)), false, "")
		}
		p.equal(wantPanic, panicked, "panic of Cancel or Abandon")
		if panicked == nil {
			p.equal(wantWon, won, "result of Cancel or Abandon")
		}
	case 6, 7:
		n := p.pick()
		real, model := p.callback()
		panicked := do(func() { n.onSettle(real) })
		var want any
		if n.state != "" {
			want = model(n.state)
		} else {
			n.waiters = append(n.waiters, &waiter{run: model})
		}
		p.equal(want, panicked, "panic of OnSettle")
	case 8:
		n := p.pickInt()
		if n.c == nil {
			return
		}
		real, model := p.callback()
		panicked := do(func() { n.c.OnCancel(func(cause error) { real(outcome(cause.Error())) }) })
		var want any
		if n.byCancel {
			want = model(outcome(n.cause))
		} else if n.state == "" {
			n.waiters = append(n.waiters, &waiter{onCancel: true, run: model})
		}
		p.equal(want, panicked, "panic of OnCancel")
	case 9, 10, 11:
		p.derive(op)
	case 12, 13:
		p.combine()
	case 14:
		n := p.pickInt()
		v, err := n.f.Await(ended(errWhy))
		switch {
		case n.state == "":
			require.IsType(p.t, &future.InterruptedError{}, err)
		case err != nil:
			p.equal(n.state, errorOf(err), "Await")
		default:
			p.equal(n.state, valueOf(v), "Await")
		}
	case 15:
		n := p.pick()
		if n.endCtx == nil {
			return
		}
		cause := testErr("ctx " + p.name())
		n.endCtx(cause)
		n.endCtx = nil
		synctest.Wait()
		n.modelCancel(string(cause)) // what panics is contained
	}
}

func (p *play) settleOne(op int) {
	n := p.pickInt()
	if n.c == nil {
		return
	}
	v, err := p.next, testErr("failure "+p.name())
	var won, wantWon bool
	var panicked, wantPanic any
	if op == 3 {
		panicked = do(func() { won = n.c.Fail(err) })
		wantWon, wantPanic = n.settle(errorOf(err), false, "")
	} else {
		panicked = do(func() { won = n.c.Complete(v) })
		wantWon, wantPanic = n.settle(valueOf(v), false, "")
		if !wantWon {
			p.expect(fmt.Sprint(n.name, " disposed of ", v))
		}
	}
	p.equal(wantPanic, panicked, "panic of Complete or Fail")
	if panicked == nil {
		p.equal(wantWon, won, "result of Complete or Fail")
	}
}

func (p *play) derive(op int) {
	in := p.pickInt()
	name, fails := p.name(), p.byte()%3 == 0
	if in.depth == maxDepth {
		return
	}
	err := testErr("failure " + name)
	ctx, endCtx := context.WithCancelCause(bg)
	var f *future.Future[int]
	switch op {
	case 9:
		f = future.Then(ctx, in.f, func(_ context.Context, v int) (int, error) {
			p.saw(fmt.Sprint(name, " got value ", v))
			if fails {
				return 0, err
			}
			return v + 1, nil
		})
	case 10:
		f = future.Recover(ctx, in.f, func(_ context.Context, e error) (int, error) {
			p.saw(fmt.Sprint(name, " got error ", e))
			if fails {
				panic(err)
			}
			return 7, nil
		})
	case 11:
		f, endCtx = future.Shield(in.f), nil
	}
	n := handleOf(f)
	n.f, n.endCtx, n.depth = f, endCtx, in.depth+1
	if op != 11 {
		n.inputs = []*node{in}
	}
	panicked := n.wait(in, func(o outcome) any {
		switch {
		case op == 9 && !o.failed():
			p.expect(name + " got " + string(o))
			var v int
			_, _ = fmt.Sscanf(string(o), "value %d", &v)
			o = valueOf(v + 1)
			if fails {
				o = errorOf(err)
			}
		case op == 10 && o.failed() && !o.canceled():
			p.expect(name + " got error " + o.text())
			o = valueOf(7)
			if fails {
				o = errorOf(&future.PanicError{Value: err})
			}
		}
		_, panicked := n.settle(o, false, "")
		return panicked
	})
	p.equal(nil, panicked, "nothing waits for a new future")
	p.nodes = append(p.nodes, n)
}

func (p *play) combine() {
	ins := make([]*node, 1+p.byte()%3)
	fs := make([]*future.Future[int], len(ins))
	depth := 0
	for i := range ins {
		ins[i] = p.pickInt()
		fs[i] = ins[i].f
		depth = max(depth, ins[i].depth+1)
	}
	if depth > maxDepth {
		return
	}
	ctx, endCtx := context.WithCancelCause(bg)
	kind := p.byte() % 4
	n := &node{}
	panicked := do(func() {
		switch kind {
		case 0:
			*n = *handleOf(future.All(ctx, fs...))
		case 1:
			*n = *handleOf(future.Settled(ctx, fs...))
		case 2, 3:
			var f *future.Future[int]
			if kind == 2 {
				f = future.Any(ctx, fs...)
			} else {
				f = future.Race(ctx, fs...)
			}
			*n = *handleOf(f)
			n.f = f
		}
	})
	n.inputs, n.endCtx, n.depth = ins, endCtx, depth
	const lost = "future: another future settled first"
	outcomes := make([]outcome, len(ins))
	left := len(ins)
	var want any
	for i, in := range ins {
		first(&want, n.wait(in, func(o outcome) (panicked any) {
			outcomes[i] = o
			left--
			switch {
			case kind == 0 && o.failed():
				return n.finish(o, o.text())
			case kind == 2 && !o.failed(), kind == 3:
				return n.finish(o, lost)
			case left > 0:
				return nil
			}
			_, panicked = n.settle(joined(kind, outcomes), false, "")
			return panicked
		}))
		if n.state != "" {
			break
		}
	}
	p.equal(want, panicked, "panic of a combinator")
	if panicked == nil {
		p.nodes = append(p.nodes, n)
	}
}

// joined is the outcome of All, Settled or Any that waited for all.
func joined(kind int, outcomes []outcome) outcome {
	var parts []string
	for _, o := range outcomes {
		switch {
		case kind != 1:
			parts = append(parts, o.text())
		case o.failed():
			parts = append(parts, "{0 "+o.text()+"}")
		default:
			parts = append(parts, "{"+o.text()+" <nil>}")
		}
	}
	if kind == 2 {
		return outcome("error " + strings.Join(parts, "\n"))
	}
	return outcome("value [" + strings.Join(parts, " ") + "]")
}

func (p *play) run() {
	defer func() { // ends what is registered with contexts
		for _, n := range p.nodes {
			if n.endCtx != nil {
				n.endCtx(nil)
			}
		}
	}()
	start := len(p.data)
	for range 3 {
		p.newCompleter()
	}
	for len(p.data) > 0 {
		p.step()
		at := fmt.Sprintf("after byte %d", start-len(p.data))
		if !slices.Equal(p.want, p.got) {
			p.equal(p.want, p.got, at)
		}
		for i, n := range p.nodes {
			p.equal(n.state, n.outcome(), fmt.Sprint("node ", i, " ", at))
		}
	}
}

// playIn runs data in a bubble, which lets a step wait until the goroutines
// that the end of a context starts have come to rest.
func playIn(t *testing.T, data []byte) (failed string) {
	f := &failure{}
	synctest.Test(t, func(*testing.T) {
		defer func() {
			if v := recover(); v != nil && v != any(f) {
				panic(v)
			}
		}()
		(&play{t: f, data: data}).run()
	})
	return f.text
}

// failure is a test that fails in a bubble and is looked at outside.
type failure struct{ text string }

func (f *failure) Errorf(format string, args ...any) { f.text += fmt.Sprintf(format, args...) }
func (f *failure) FailNow()                          { panic(f) }

func TestModel(t *testing.T) {
	recordLogs(t) // of what is contained
	t.Run("TEST-4_FUT-1_FUT-4_FUT-5_FUT-6_FUT-9_FUT-10_random_operations", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			data := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "data")
			if failed := playIn(t, data); failed != "" {
				rt.Fatal(failed)
			}
		})
	})
}

func FuzzFuture(f *testing.F) {
	f.Add([]byte{12, 2, 0, 1, 2, 3, 6, 0, 1, 1, 4, 3, 1, 0, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 500 {
			return
		}
		recordLogs(t)
		if failed := playIn(t, data); failed != "" {
			t.Fatal(failed)
		}
	})
}
