package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cadre-go/cadre/executor/lease"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLeasepool(t *testing.T) {
	t.Run("LEASE-83 two clients, one slot, a call cut off, a reconnect", func(t *testing.T) {
		var out bytes.Buffer
		require.NoError(t, run(&out))
		story := out.String()
		for _, line := range []string{
			"== turns: alice 1: request 1 of connection 1",
			"== turns: bob 1: request 2 of connection 1",
			"== turns: alice 2: request 3 of connection 1",
			"== refused: after a refusal: request 5 of connection 1",
			"== cut off: the user left",
			"== again: bob 2: request 1 of connection 2; 2 connected, 1 discarded",
			"== closed: going away",
		} {
			require.Contains(t, story, line+"\n")
		}
	})
	t.Run("LEASE-83 what a client sees of a pool that cannot serve it", func(t *testing.T) {
		srv, err := startServer()
		require.NoError(t, err)
		pool, err := newPool(srv.addr(), 1)
		require.NoError(t, err)
		require.NoError(t, srv.close())
		c := &transport{pool.Handle()}
		_, err = c.call(context.Background(), "hello")
		require.ErrorIs(t, err, lease.ErrConnect)
		require.NoError(t, pool.Close())
		_, err = c.call(context.Background(), "hello")
		require.ErrorIs(t, err, errGoingAway)
	})
	t.Run("LEASE-83 frames", func(t *testing.T) {
		var b bytes.Buffer
		require.NoError(t, writeFrame(&b, []byte("x")))
		got, err := readFrame(&b)
		require.NoError(t, err)
		require.Equal(t, "x", string(got))
		require.ErrorIs(t, writeFrame(&b, make([]byte, maxFrame+1)), errFrameTooLong)
		_, err = readFrame(strings.NewReader("\xff\xff\xff\xff"))
		require.ErrorIs(t, err, errFrameTooLong)
	})
}
