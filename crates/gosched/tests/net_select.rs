//! Sockets as cases of `select!`: `readable` and `writable` (S45, S47).
//!
//! Seen to fail: without the look whether the socket is ready (`what_is_ready_is_told_at_once`, and
//! `nothing_is_missed`, which hangs); with a feed that tells nobody (most hang). That a receiver
//! which is dropped leaves the poller is shown by `tests/deadlock.rs`.

mod common;

use std::io::{Read, Write};
use std::net::Shutdown;
use std::path::PathBuf;
use std::time::Duration;

use common::{child, threads};
use gosched::chan::{Receiver, TryRecvError, bounded};
use gosched::future::block_on;
use gosched::net::{TcpListener, TcpStream, UdpSocket};
use gosched::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use gosched::{go, runtime, select};

const LIMIT: Duration = Duration::from_secs(60);

fn with_procs(test: &'static str, body: fn()) {
    for procs in [1, 2, 8] {
        child(test, || gosched::run(body)).procs(procs).limit(LIMIT).run().ok();
    }
}

/// Nothing yet; then, after `act`, one value, and no second one.
fn told_by(receiver: &Receiver<()>, act: impl FnOnce()) {
    let (_never, nothing) = bounded::<()>(0);
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    act();
    select! {
        recv(receiver) -> told => assert_eq!(told, Ok(())),
        recv(nothing) -> _ => unreachable!("nobody sends"),
    }
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
}

fn tcp() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (ours, listener.accept().unwrap().0)
}

fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("gosched-select-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

/// All kinds of sockets tell when there is something to receive or to accept.
#[test]
fn sockets_are_cases() {
    with_procs("sockets_are_cases", || {
        let (ours, theirs) = tcp();
        told_by(&ours.readable(), || (&theirs).write_all(b"x").unwrap());
        assert_eq!((&ours).read(&mut [0; 8]).unwrap(), 1);
        let again = ours.readable();
        told_by(&again, || theirs.shutdown(Shutdown::Write).unwrap());

        let (ours, theirs) = UnixStream::pair().unwrap();
        told_by(&ours.readable(), || (&theirs).write_all(b"x").unwrap());

        let (ours, theirs) = UnixDatagram::pair().unwrap();
        told_by(&ours.readable(), || assert_eq!(theirs.send(b"x").unwrap(), 1));

        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        told_by(&socket.readable(), || assert_eq!(socket.send_to(b"x", address).unwrap(), 1));

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = None;
        told_by(&listener.readable(), || client = Some(TcpStream::connect(address).unwrap()));
        assert_eq!(listener.accept().unwrap().1, client.unwrap().local_addr().unwrap());
        let writable = listener.writable();
        told_by(&writable, || listener.shutdown().unwrap());

        let path = path("listener");
        let listener = UnixListener::bind(&path).unwrap();
        let mut client = None;
        told_by(&listener.readable(), || client = Some(UnixStream::connect(&path).unwrap()));
        listener.accept().unwrap();
        std::fs::remove_file(path).unwrap();
    });
}

/// What is ready already is told at once, and anew for each call, as long as it is ready; in a
/// stopped world, too.
#[test]
fn what_is_ready_is_told_at_once() {
    with_procs("what_is_ready_is_told_at_once", || {
        let (ours, theirs) = tcp();
        for stream in [&ours, &theirs] {
            assert_eq!(stream.writable().try_recv(), Ok(()));
        }
        (&theirs).write_all(b"xy").unwrap();
        assert_eq!(ours.readable().recv(), Ok(()));
        for left in [1, 0] {
            assert_eq!(ours.readable().try_recv(), Ok(()));
            runtime::stop_the_world(|_| assert_eq!(ours.readable().try_recv(), Ok(())));
            assert_eq!((&ours).read(&mut [0; 1]).unwrap(), 1, "{left} left");
        }
        assert_eq!(ours.readable().try_recv(), Err(TryRecvError::Empty));
    });
}

/// A stream whose buffer is full is not writable until the peer has read.
#[test]
fn writable_waits_for_room() {
    with_procs("writable_waits_for_room", || {
        for (ours, mut theirs) in [UnixStream::pair().unwrap(), UnixStream::pair().unwrap()] {
            ours.set_nonblocking(true).unwrap();
            while (&ours).write(&[0; 4096]).is_ok() {}
            told_by(&ours.writable(), || {
                theirs.set_nonblocking(true).unwrap();
                while theirs.read(&mut [0; 4096]).is_ok() {}
            });
            assert!((&ours).write(b"x").is_ok());
        }
    });
}

/// Each receiver of a socket gets its value; clones of one share it. On a foreign thread and in
/// async code, too.
#[test]
fn every_receiver_is_told_once() {
    with_procs("every_receiver_is_told_once", || {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (a, b, c, d) = (ours.readable(), ours.readable(), ours.readable(), ours.readable());
        let foreign = std::thread::spawn(move || b.recv());
        let in_async = go(move || block_on(c.recv_async()));
        let clone = d.clone();
        (&theirs).write_all(b"x").unwrap();
        assert_eq!((a.recv(), d.recv()), (Ok(()), Ok(())));
        assert_eq!(clone.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(in_async.join().unwrap(), Ok(()));
        assert_eq!(runtime::blocking(|| foreign.join().unwrap()), Ok(()));
        // Never closed, not even by the receiver.
        assert!(!a.close() && !a.is_closed());
        assert_eq!(a.recv_timeout(Duration::from_millis(1)).map_err(|error| error.is_timeout()), Err(true));
    });
}

/// A socket that is dropped or given away tells its receivers, which may outlive it.
#[test]
fn closing_tells() {
    with_procs("closing_tells", || {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (first, second) = (ours.readable(), theirs.readable());
        told_by(&first, || drop(ours));
        assert_eq!(second.recv(), Ok(()), "the end can be read");
        let (ours, _theirs) = tcp();
        let receiver = ours.readable();
        told_by(&receiver, || drop(std::net::TcpStream::from(ours)));
    });
}

/// Waiting costs neither a goroutine nor a thread. Receivers come and go in any order, also while
/// the socket becomes ready: the others get their value.
#[test]
fn receivers_come_and_go() {
    with_procs("receivers_come_and_go", || {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let before = threads();
        let mut receivers: Vec<_> = (0..1000).map(|_| ours.readable()).collect();
        assert_eq!(runtime::num_goroutine(), 1);
        assert!(threads() <= before + 4, "{} threads after {before}", threads());
        for _ in 0..20 {
            receivers.truncate(receivers.len() / 2);
            receivers.extend((0..10).map(|_| ours.readable()));
        }
        let kept = receivers.swap_remove(3);
        drop(receivers);
        told_by(&kept, || (&theirs).write_all(b"x").unwrap());
        assert_eq!((&ours).read(&mut [0; 8]).unwrap(), 1);
        // Dropped while the report is under way.
        for _ in 0..1000 {
            let (dropped, waiting) = (ours.readable(), ours.readable());
            let write = go({
                let theirs = theirs.try_clone().unwrap();
                move || (&theirs).write_all(b"x").unwrap()
            });
            drop(dropped);
            assert_eq!(waiting.recv(), Ok(()));
            assert_eq!((&ours).read(&mut [0; 8]).unwrap(), 1);
            write.join().unwrap();
        }
    });
}

/// Many rounds of question and answer, each found by a selection: nothing is missed.
#[test]
fn nothing_is_missed() {
    with_procs("nothing_is_missed", || {
        const ROUNDS: usize = 300;
        let (quit, quitting) = bounded::<()>(0);
        let pairs: Vec<_> = (0..8)
            .map(|_| {
                let (ours, theirs) = tcp();
                let quitting = quitting.clone();
                let server = go(move || {
                    let mut answered = 0;
                    loop {
                        select! {
                            recv(theirs.readable()) -> told => {
                                assert_eq!(told, Ok(()));
                                let mut bytes = [0; 16];
                                let n = (&theirs).read(&mut bytes).unwrap();
                                (&theirs).write_all(&bytes[..n]).unwrap();
                                answered += n;
                            }
                            recv(quitting) -> end => {
                                assert!(end.is_err());
                                return answered;
                            }
                        }
                    }
                });
                let client = go(move || {
                    for round in 0..ROUNDS {
                        (&ours).write_all(&[round as u8]).unwrap();
                        assert_eq!(ours.readable().recv(), Ok(()));
                        assert_eq!((&ours).read(&mut [0; 8]).unwrap(), 1);
                    }
                });
                (server, client)
            })
            .collect();
        let (servers, clients): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        clients.into_iter().for_each(|client| client.join().unwrap());
        drop(quit);
        servers.into_iter().for_each(|server| assert_eq!(server.join().unwrap(), ROUNDS));
    });
}
