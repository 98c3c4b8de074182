// net/http: a goroutine for each connection.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

// As in ../workload/src/serving.rs.
const greeting = "Hello, World"

func httpHello(params) sample {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail("no free port: %v", err)
	}
	announce(listener.Addr().(*net.TCPAddr))
	hello := func(w http.ResponseWriter, _ *http.Request) {
		// Not guessed from the answer: the others send none.
		w.Header()["Content-Type"] = nil
		io.WriteString(w, greeting)
	}
	fail("%v", http.Serve(listener, http.HandlerFunc(hello)))
	return ""
}

// Tells the harness where this program serves, and ends it when its input does.
func announce(address *net.TCPAddr) {
	fmt.Printf("port=%d\n", address.Port)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
}
