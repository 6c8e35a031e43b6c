package sim

import (
	"sync"

	"github.com/cadre-go/cadre/future"
)

// token is a value that a future may deliver. What nobody can receive is
// disposed of, once; what was delivered never is.
type token struct {
	id       int
	of       string
	disposed int
	mu       *sync.Mutex // the world's
}

func (w *world) newToken(of string) *token {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &token{id: len(w.tokens), of: of, mu: &w.mu}
	w.tokens = append(w.tokens, t)
	return t
}

// dispose is the option that every future of a token is made with.
func (w *world) dispose() future.Option[*token] {
	return future.WithDispose(func(t *token) {
		if t == nil {
			return // a failed function's value is not one
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		t.disposed++
		if t.disposed > 1 {
			w.badLocked("the value of %s was disposed of twice", t.of)
		}
	})
}

// Close is how values are disposed of where there is no option for it.
func (t *token) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disposed++
	return nil
}

// fateLocked checks a value that was produced for f: delivered or disposed of.
func (w *world) fateLocked(t *token, f *tracked) {
	o, ok := f.outcome()
	if !ok || t == nil {
		return
	}
	delivered := o.err == nil && o.value == any(t)
	switch {
	case delivered && t.disposed != 0:
		w.badLocked("the value of %s was delivered by %s, and disposed of", t.of, f.what)
	case !delivered && t.disposed != 1:
		w.badLocked("the value of %s did not reach %s, and was disposed of %d times", t.of, f.what, t.disposed)
	}
}
