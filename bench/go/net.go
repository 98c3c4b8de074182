// Goroutines that talk over TCP.
package main

import (
	"io"
	"net"
	"sync"
	"time"
)

func tcpEcho(p params) sample {
	connections, each := p.get("connections"), p.get("each")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail("no free port: %v", err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				var buffer [64]byte
				for {
					if _, err := io.ReadFull(conn, buffer[:]); err != nil {
						return
					}
					if _, err := conn.Write(buffer[:]); err != nil {
						return
					}
				}
			}()
		}
	}()
	conns := make([]net.Conn, connections)
	for i := range conns {
		if conns[i], err = net.Dial("tcp", listener.Addr().String()); err != nil {
			fail("cannot connect: %v", err)
		}
	}
	var group sync.WaitGroup
	start := time.Now()
	group.Add(connections)
	for _, conn := range conns {
		go func() {
			var message, back [64]byte
			for range each {
				if _, err := conn.Write(message[:]); err != nil {
					fail("cannot write: %v", err)
				}
				if _, err := io.ReadFull(conn, back[:]); err != nil {
					fail("cannot read: %v", err)
				}
			}
			group.Done()
		}()
	}
	group.Wait()
	return figure("per_s", float64(connections*each)/time.Since(start).Seconds())
}
