//! What a program does that only serves, and is loaded by a client of the harness's.

use std::net::SocketAddr;
use std::{io, process, thread};

/// What `http_hello` answers with. `go/http.go` has the same.
pub const GREETING: &str = "Hello, World";

/// Tells the harness where this program serves, and ends it when its input does: so it cannot outlive the harness.
pub fn announce(address: SocketAddr) {
    println!("port={}", address.port());
    thread::spawn(|| {
        // An input that cannot be read has ended.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        process::exit(0)
    });
}
