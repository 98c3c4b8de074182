//! A server that sends back what it gets: a goroutine for each connection, plain `Read` and
//! `Write`.
//!
//! `cargo run --release -p gosched-examples --example echo_server`, then `nc 127.0.0.1 7777`.

#![forbid(unsafe_code)]

use std::io;
use std::process::ExitCode;

use gosched::{context, go};
use gosched_examples::{accept_each, listen, run, until_interrupted};

const USAGE: &str = "usage: echo_server [HOST:PORT]

Sends back whatever is sent to it, on 127.0.0.1:7777 unless told otherwise (port 0: any that is free).
Ctrl-C ends it.";

fn main() -> ExitCode {
    run(USAGE, 0..=1, |arguments| {
        let address = arguments.first().map_or("127.0.0.1:7777", String::as_str);
        let listener = listen(address)?;
        let ctx = until_interrupted()?;
        context::enter(&ctx, || {
            accept_each(&listener, |stream, _peer| {
                // An error of one connection ends that connection only.
                go(move || io::copy(&mut &stream, &mut &stream));
            });
        });
        println!("bye");
        Ok(())
    })
}
