package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// errRefused is a whole answer, after which the connection is as good as before.
var errRefused = errors.New("the server refused")

// connection is one of a client's, and says when two use it at once.
type connection struct {
	net.Conn
	in    *bufio.Reader
	users atomic.Int32
}

func dial(ctx context.Context, addr string) (*connection, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: c, in: bufio.NewReader(c)}, nil
}

// exchange sends a line and reads the one that answers it, until ctx ends.
func (c *connection) exchange(ctx context.Context, request string) (answer string, err error) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() { // the deadline is or will be set
			err = context.Cause(ctx)
		}
	}()
	if _, err := fmt.Fprintln(c, request); err != nil {
		return "", err
	}
	answer, err = c.in.ReadString('\n')
	answer = strings.TrimSuffix(answer, "\n")
	if err == nil && answer == "no" {
		err = errRefused
	}
	return answer, err
}

// An echo is a server that answers each line with itself. It refuses "refuse",
// and of the answer to "stall" it sends a part.
type echo struct {
	net.Listener
	conns sync.WaitGroup
}

func listen() (*echo, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &echo{Listener: l}
	e.conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e.conns.Go(func() { serve(c) })
		}
	})
	return e, nil
}

// serve ends when the client closes the connection.
func serve(c net.Conn) {
	defer c.Close()
	for in := bufio.NewScanner(c); in.Scan(); {
		answer := in.Text() + "\n"
		switch in.Text() {
		case "refuse":
			answer = "no\n"
		case "stall":
			answer = "sta"
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
	}
}

// close waits for the clients to have closed their connections.
func (e *echo) close() error {
	err := e.Close()
	e.conns.Wait()
	return err
}
