//! A TCP proxy: connections to one address are forwarded to another. Two goroutines for each
//! connection, with `io::copy`.
//!
//! `cargo run --release -p gosched-examples --example proxy -- 127.0.0.1:8000 127.0.0.1:7777`

#![forbid(unsafe_code)]

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use gosched::net::{Shutdown, TcpStream};
use gosched::{context, go};
use gosched_examples::{accept_each, listen, run, until_interrupted};

const USAGE: &str = "usage: proxy LISTEN TARGET

Takes connections on LISTEN (HOST:PORT; port 0: any that is free) and passes what comes on to TARGET (HOST:PORT), and what
comes back. Ctrl-C ends it.";

fn main() -> ExitCode {
    run(USAGE, 2..=2, |arguments| {
        let [address, target] = &arguments[..] else { unreachable!("two were asked for") };
        let listener = listen(address)?;
        let ctx = until_interrupted()?;
        context::enter(&ctx, || {
            accept_each(&listener, |stream, peer| {
                let target = target.clone();
                go(move || {
                    if let Err(error) = forward(stream, &target) {
                        eprintln!("{peer}: {error}");
                    }
                });
            });
        });
        println!("bye");
        Ok(())
    })
}

/// Passes data on in both directions until both sides have ended.
fn forward(client: TcpStream, target: &str) -> io::Result<()> {
    let server = TcpStream::connect(target)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot connect to {target}: {error}")))?;
    let (client, server) = (Arc::new(client), Arc::new(server));
    let back = {
        let (client, server) = (Arc::clone(&client), Arc::clone(&server));
        go(move || copy(&server, &client))
    };
    copy(&client, &server)?;
    back.join().unwrap_or_else(|_| Err(io::Error::other("the way back panicked")))
}

/// Passes data on in one direction; at its end, shuts down the target's writing side.
fn copy(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
    let copied = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
    copied.map(drop)
}
