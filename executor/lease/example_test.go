package lease_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/cadre-go/cadre/executor/lease"
)

func ExampleNew() {
	ctx := context.Background()
	type conn struct{ id int }
	n := 0
	pool, err := lease.New(lease.Config[*conn]{
		Name:  "upstream",
		Slots: 1,
		Connect: func(context.Context) (*conn, error) {
			n++
			return &conn{n}, nil
		},
		Dispose: func(c *conn) { fmt.Println("disposed of connection", c.id) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()

	use := func(err error) {
		_ = pool.Do(ctx, func(_ context.Context, c *conn) error {
			fmt.Println("using connection", c.id)
			return err
		})
	}
	use(nil)
	use(errors.New("reset by peer")) // so nobody else gets connection 1
	use(nil)
	// Output:
	// using connection 1
	// using connection 1
	// disposed of connection 1
	// using connection 2
	// disposed of connection 2
}

func ExamplePool_Handle() {
	pool, err := lease.New(lease.Config[net.Conn]{
		Slots: 4, MaxWaiters: 256,
		AcquireTimeout: 2 * time.Second, ConnectTimeout: time.Second, MaxIdle: time.Minute,
		Connect: func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", "localhost:7")
		},
		Dispose: func(c net.Conn) { _ = c.Close() },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	alice, bob := pool.Handle(), pool.Handle() // two clients, who take turns
	fmt.Println(alice.ID(), bob.ID())
	// Output: 1 2
}
