//! A server that sends back what it gets: a goroutine for each connection, plain `Read` and
//! `Write`.
//!
//! `cargo run --release -p gosched-examples --example echo_server`, then `nc 127.0.0.1 7777`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use gosched_examples::{listen, relay, run, serve_each};

const USAGE: &str = "usage: echo_server [HOST:PORT]

Sends back whatever is sent to it, on 127.0.0.1:7777 unless told otherwise (port 0: any that is free).
Ctrl-C ends it: what was read is still sent back, and who does not take it in is named, with status 1.";

fn main() -> ExitCode {
    run(USAGE, 0..=1, |arguments| {
        let address = arguments.first().map_or("127.0.0.1:7777", String::as_str);
        serve_each(listen(address)?, |stream, _peer| {
            // An error of one connection ends that connection only.
            let _ = relay(&stream, &stream);
        })
    })
}
