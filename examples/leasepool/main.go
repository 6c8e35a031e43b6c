// Command leasepool shares one framed TCP connection between two clients: they
// take turns, a call that is cut off in the middle of its answer costs the
// connection, and the next call is on a new one.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/cadre-go/cadre/executor/lease"
)

// patience bounds the whole story.
const patience = 10 * time.Second

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "leasepool:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) (err error) {
	srv, err := startServer()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.close()) }()
	pool, err := newPool(srv.addr(), 1)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer func() { err = errors.Join(err, pool.Shutdown(ctx)) }()

	alice, bob := &transport{pool.Handle()}, &transport{pool.Handle()}
	for _, step := range []func() error{
		func() error { return turns(ctx, out, pool, alice, bob) },
		func() error { return refused(ctx, out, alice) },
		func() error { return cutOff(ctx, out, srv, alice) },
		func() error { return again(ctx, out, pool, bob) },
		func() error { return closed(ctx, out, pool, bob) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// turns has two clients queue for the slot, one with two calls, and shows that
// the other's comes in between.
func turns(ctx context.Context, out io.Writer, pool *lease.Pool[net.Conn], alice, bob *transport) error {
	first, err := pool.Acquire(ctx) // so that both have to wait
	if err != nil {
		return err
	}
	type reply struct {
		text string
		err  error
	}
	replies := make(chan reply)
	for i, c := range []struct {
		t   *transport
		req string
	}{{alice, "alice 1"}, {alice, "alice 2"}, {bob, "bob 1"}} {
		go func() {
			text, err := c.t.call(ctx, c.req)
			replies <- reply{text, err}
		}()
		if err := queued(ctx, pool, i+1); err != nil {
			return err
		}
	}
	if err := first.Release(); err != nil {
		return err
	}
	for range 3 {
		r := <-replies
		if r.err != nil {
			return fmt.Errorf("turns: %w", r.err)
		}
		fmt.Fprintf(out, "== turns: %s\n", r.text)
	}
	return nil
}

// queued waits until n calls wait for the slot.
func queued(ctx context.Context, pool *lease.Pool[net.Conn], n int) error {
	for pool.Stats().Waiters < n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		runtime.Gosched()
	}
	return nil
}

// refused is an error after which the connection is kept.
func refused(ctx context.Context, out io.Writer, alice *transport) error {
	_, err := alice.call(ctx, "refuse")
	if !errors.Is(err, errRefused) {
		return fmt.Errorf("refused: got %v", err)
	}
	text, err := alice.call(ctx, "after a refusal")
	if err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	fmt.Fprintf(out, "== refused: %s\n", text)
	return nil
}

// cutOff gives up a call when half of its answer has come.
func cutOff(ctx context.Context, out io.Writer, srv *server, alice *transport) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		<-srv.stalled
		cancel(errors.New("the user left"))
	}()
	_, err := alice.call(ctx, "stall")
	if err == nil || err.Error() != "the user left" {
		return fmt.Errorf("cut off: got %v", err)
	}
	fmt.Fprintf(out, "== cut off: %v\n", err)
	return nil
}

// again shows that the rest of that answer is nobody's.
func again(ctx context.Context, out io.Writer, pool *lease.Pool[net.Conn], bob *transport) error {
	text, err := bob.call(ctx, "bob 2")
	if err != nil {
		return fmt.Errorf("again: %w", err)
	}
	st := pool.Stats()
	fmt.Fprintf(out, "== again: %s; %d connected, %d discarded\n", text, st.Connects, st.Discards)
	return nil
}

// closed is what a client sees of a pool that has ended.
func closed(ctx context.Context, out io.Writer, pool *lease.Pool[net.Conn], bob *transport) error {
	if err := pool.Shutdown(ctx); err != nil {
		return err
	}
	_, err := bob.call(ctx, "bob 3")
	if !errors.Is(err, errGoingAway) {
		return fmt.Errorf("closed: got %v", err)
	}
	fmt.Fprintf(out, "== closed: %v\n", err)
	return nil
}
