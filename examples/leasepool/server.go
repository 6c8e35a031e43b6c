package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync"
)

// server answers each frame with one, and says which request of which connection it was. To
// "stall" it sends half of an answer and no more; "refuse" it refuses.
type server struct {
	listener net.Listener
	stalled  chan struct{} // a value for each answer that was cut off

	all   sync.WaitGroup
	mu    sync.Mutex // protects conns
	conns []net.Conn
}

func startServer() (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{listener: l, stalled: make(chan struct{}, 1)}
	s.all.Go(s.accept)
	return s, nil
}

func (s *server) addr() string { return s.listener.Addr().String() }

func (s *server) accept() {
	for n := 1; ; n++ {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns = append(s.conns, c)
		s.mu.Unlock()
		s.all.Go(func() { s.serve(c, n) })
	}
}

func (s *server) serve(c net.Conn, n int) {
	defer c.Close()
	for i := 1; ; i++ {
		req, err := readFrame(c)
		if err != nil {
			return
		}
		answer := []byte(fmt.Sprintf("%s: request %d of connection %d", req, i, n))
		switch string(req) {
		case "stall":
			head := binary.BigEndian.AppendUint32(nil, uint32(len(answer)))
			_, _ = c.Write(append(head, answer[:len(answer)/2]...))
			s.stalled <- struct{}{}
			continue
		case "refuse":
			answer = []byte(refusal)
		}
		if writeFrame(c, answer) != nil {
			return
		}
	}
}

// close ends the server and waits for its goroutines.
func (s *server) close() error {
	err := s.listener.Close()
	s.mu.Lock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.all.Wait()
	return err
}
