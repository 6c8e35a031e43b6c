package main

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/cadre-go/cadre/executor/lease"
)

// refusal is how the server says no.
const refusal = "no"

var (
	errRefused   = errors.New("the server refused")
	errBusy      = errors.New("busy")
	errGoingAway = errors.New("going away")
	errInternal  = errors.New("internal error")
)

func newPool(addr string, slots int) (*lease.Pool[net.Conn], error) {
	return lease.New(lease.Config[net.Conn]{
		Name: "upstream", Slots: slots, MaxWaiters: 256,
		AcquireTimeout: 2 * time.Second, ConnectTimeout: time.Second, MaxIdle: time.Minute,
		Connect: func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		},
		Dispose: func(c net.Conn) { _ = c.Close() },
		// A refusal is a whole answer: the connection is as good as before.
		KeepOn: func(err error) bool { return errors.Is(err, errRefused) },
	})
}

// transport is one client's. The clients of a pool take turns.
type transport struct{ handle *lease.Handle[net.Conn] }

// call sends a request and waits for the answer or the end of ctx.
func (t *transport) call(ctx context.Context, req string) (string, error) {
	var resp []byte
	err := t.handle.Do(ctx, func(ctx context.Context, c net.Conn) (err error) {
		resp, err = exchange(ctx, c, []byte(req))
		return err
	})
	switch {
	case errors.Is(err, lease.ErrSaturated), errors.Is(err, lease.ErrAcquireTimeout):
		return "", errBusy // shed load
	case errors.Is(err, lease.ErrClosed):
		return "", errGoingAway // try elsewhere
	case errors.Is(err, lease.ErrSchedulerFailed):
		return "", errInternal // a defect
	}
	return string(resp), err
}

// exchange is one request and its answer. When ctx ends it is cut off by a
// deadline in the past.
func exchange(ctx context.Context, c net.Conn, req []byte) (resp []byte, err error) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() { // the deadline is or will be set: dirty, even if the answer came
			err = context.Cause(ctx)
		}
	}()
	if err = writeFrame(c, req); err != nil { // half of it may be written: dirty
		return nil, err
	}
	resp, err = readFrame(c)
	if err == nil && string(resp) == refusal {
		err = errRefused
	}
	return resp, err
}
