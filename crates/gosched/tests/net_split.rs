//! `into_split`: the halves of a stream, with tokio's semantics.
//!
//! Seen to fail: with a `WriteHalf` whose drop does nothing (`dropping_the_writing_half_is_the_end`);
//! with one that shuts down both directions (the same); with a `forget` that shuts down
//! (`a_forgotten_half_ends_nothing`); with a `reunite` that does not compare
//! (`only_halves_of_one_stream_reunite`: it panics).

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use gosched::net::{self, TcpListener, TcpStream};
use gosched::os::unix::net::{self as unix, UnixStream};
use gosched::{go, select};

fn tcp() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (ours, listener.accept().unwrap().0)
}

/// Reads and writes at the same time, each half in a goroutine of its own; the drop of the writing
/// half is the end for the peer, and reading goes on.
#[gosched::test]
fn dropping_the_writing_half_is_the_end() {
    const LENGTH: usize = 1 << 20;
    fn exchange(
        (mut input, mut output): (impl Read + Send + 'static, impl Write + Send + 'static),
        mut peer: impl Read + Write,
    ) {
        let reading = go(move || {
            let mut bytes = Vec::new();
            input.read_to_end(&mut bytes).map(|_| bytes)
        });
        let writing = go(move || output.write_all(&vec![7; LENGTH]));
        let mut bytes = Vec::new();
        peer.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len(), LENGTH);
        writing.join().unwrap().unwrap();
        peer.write_all(b"read after the end").unwrap();
        drop(peer);
        assert_eq!(reading.join().unwrap().unwrap(), b"read after the end");
    }
    let (ours, theirs) = tcp();
    exchange(ours.into_split(), theirs);
    let (ours, theirs) = UnixStream::pair().unwrap();
    exchange(ours.into_split(), theirs);
}

/// The connection stays open in both directions as long as one half is there, if the writing half
/// was forgotten; and closes with the last one.
#[gosched::test]
fn a_forgotten_half_ends_nothing() {
    let (ours, mut theirs) = tcp();
    let (input, output) = ours.into_split();
    output.forget();
    theirs.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    assert_eq!(theirs.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    theirs.set_read_timeout(None).unwrap();
    drop(input);
    assert_eq!(theirs.read(&mut [0; 8]).unwrap(), 0);
}

/// Dropping the reading half has no effect on writing.
#[gosched::test]
fn dropping_the_reading_half_is_nothing() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let (input, mut output) = ours.into_split();
    drop(input);
    output.write_all(b"x").unwrap();
    assert_eq!(theirs.read(&mut [0; 8]).unwrap(), 1);
}

/// Halves become the stream again, from either side; strangers come back in the error.
#[gosched::test]
fn only_halves_of_one_stream_reunite() {
    let (ours, theirs) = tcp();
    let ((input, output), (other_input, other_output)) = (ours.into_split(), theirs.into_split());
    let net::ReuniteError(input, other_output) = input.reunite(other_output).unwrap_err();
    let whole = output.reunite(input).unwrap();
    let other = other_input.reunite(other_output).unwrap();
    // Nothing was shut down.
    (&whole).write_all(b"x").unwrap();
    (&other).write_all(b"xy").unwrap();
    assert_eq!(((&whole).read(&mut [0; 8]).unwrap(), (&other).read(&mut [0; 8]).unwrap()), (2, 1));

    let (ours, theirs) = UnixStream::pair().unwrap();
    let ((input, output), (other_input, _output)) = (ours.into_split(), theirs.into_split());
    let error: unix::ReuniteError = output.reunite(other_input).unwrap_err();
    let text = (&error as &dyn Error).to_string();
    assert_eq!(text, "tried to reunite halves that are not from the same socket");
    input.reunite(error.1).unwrap();
}

/// Both halves are cases, and show the stream's addresses and settings.
#[gosched::test]
fn halves_are_cases() {
    let (ours, mut theirs) = tcp();
    let address = ours.local_addr().unwrap();
    let (input, output) = ours.into_split();
    assert_eq!(input.as_ref().local_addr().unwrap(), address);
    output.as_ref().set_nodelay(true).unwrap();
    assert_eq!(output.writable().recv(), Ok(()));
    let writing = go(move || theirs.write_all(b"x"));
    select! {
        recv(input.readable()) -> told => assert_eq!(told, Ok(())),
        default(Duration::from_secs(30)) => panic!("nothing came"),
    }
    writing.join().unwrap().unwrap();
    assert_eq!((&input).read(&mut [0; 8]).unwrap(), 1);
}
