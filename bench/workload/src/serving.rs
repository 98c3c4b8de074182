//! For programs that only serve, and are loaded by a client that the harness starts.

use std::net::SocketAddr;
use std::{io, process, thread};

/// What `http_hello` answers with. `go/http.go` has the same.
pub const GREETING: &str = "Hello, World";

/// Prints the port for the harness, and ends the process at the end of its input: so it cannot
/// outlive the harness.
pub fn announce(address: SocketAddr) {
    println!("port={}", address.port());
    thread::spawn(|| {
        // An input that cannot be read has ended.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        process::exit(0)
    });
}
