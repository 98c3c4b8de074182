//! A TCP proxy: connections to one address are forwarded to another. Two goroutines for each
//! connection, with `io::copy`.
//!
//! `cargo run --release -p gosched-examples --example proxy -- 127.0.0.1:8000 127.0.0.1:7777`

#![forbid(unsafe_code)]

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use gosched::context::ContextError;
use gosched::go;
use gosched::net::{Shutdown, TcpStream};
use gosched_examples::{listen, relay, run, serve_each};

const USAGE: &str = "usage: proxy LISTEN TARGET

Takes connections on LISTEN (HOST:PORT; port 0: any that is free) and passes what comes on to TARGET (HOST:PORT), and what
comes back. Ctrl-C ends it: what was read is still passed on, and who does not take it in is named, with status 1.";

fn main() -> ExitCode {
    run(USAGE, 2..=2, |arguments| {
        let [address, target] = arguments.try_into().expect("two were asked for");
        serve_each(listen(&address)?, move |stream, peer| match forward(stream, &target) {
            Err(error) if ContextError::of(&error).is_none() => eprintln!("{peer}: {error}"),
            _ => {}
        })
    })
}

/// Passes data on in both directions until both sides have ended.
fn forward(client: TcpStream, target: &str) -> io::Result<()> {
    let server = TcpStream::connect(target)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot connect to {target}: {error}")))?;
    let (client, server) = (Arc::new(client), Arc::new(server));
    let back = {
        let (client, server) = (Arc::clone(&client), Arc::clone(&server));
        go(move || pass_on(&server, &client))
    };
    let there = pass_on(&client, &server);
    // Not before both have ended, also after an error: the connection counts until then.
    let back = back.join().unwrap_or_else(|_| Err(io::Error::other("the way back panicked")));
    there.and(back)
}

/// Passes data on in one direction; at its end, shuts down the target's writing side.
fn pass_on(from: &TcpStream, to: &TcpStream) -> io::Result<()> {
    let passed = relay(from, to);
    let _ = to.shutdown(Shutdown::Write);
    passed
}
