//! Peers that misbehave (S47): they vanish, half-close, send garbage, stall, or reset in the middle
//! of a write. That is an error for the goroutine that serves them, and for nobody else. With 1, 2
//! and 8 Ps.

mod common;

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::{Random, child, join_all};
use gosched::go;
use gosched::net::{Shutdown, TcpListener, TcpStream};

const LIMIT: Duration = Duration::from_secs(90);

fn with_procs(test: &'static str, body: fn()) {
    for procs in [1, 2, 8] {
        child(test, || gosched::run(body)).procs(procs).limit(LIMIT).run().ok();
    }
}

/// Closing this one resets the connection.
fn reset_on_close(stream: &TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: sets an option of an open socket from a value of the right type and size.
    let rc = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of_val(&linger) as libc::socklen_t,
        )
    };
    assert_eq!(rc, 0);
}

/// A connection: the client's end and the server's.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

/// A reset ends the wait of a reader and that of a writer, with an error.
#[test]
fn a_reset_ends_waits_with_an_error() {
    with_procs("a_reset_ends_waits_with_an_error", || {
        let (client, mut server) = pair();
        reset_on_close(&client);
        let reader = go(move || server.read(&mut [0; 8]).unwrap_err().kind());
        gosched::sleep(Duration::from_millis(10));
        drop(client);
        assert_eq!(reader.join().unwrap(), ErrorKind::ConnectionReset);

        let (client, mut server) = pair();
        reset_on_close(&client);
        let writer = go(move || server.write_all(&[7; 64 << 20]).unwrap_err().kind());
        gosched::sleep(Duration::from_millis(10));
        drop(client);
        let kind = writer.join().unwrap();
        assert!(matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{kind:?}");
    });
}

/// A half-closed connection still works the other way.
#[test]
fn half_closed() {
    with_procs("half_closed", || {
        let (mut client, mut server) = pair();
        let serving = go(move || {
            let mut question = String::new();
            server.read_to_string(&mut question).unwrap();
            server.write_all(format!("{question}!").repeat(100_000).as_bytes()).unwrap();
        });
        client.write_all(b"well").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer.len(), 500_000);
        assert!(answer.starts_with("well!well!"));
        assert_eq!(client.write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
        serving.join().unwrap();
    });
}

/// Reads from a peer that sends nothing, and writes to one that reads nothing, end with the
/// time-out.
#[test]
fn stalled() {
    with_procs("stalled", || {
        let (_client, mut server) = pair();
        server.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        server.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        assert_eq!(server.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(server.write_all(&[7; 64 << 20]).unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

/// What a client does.
#[derive(Clone, Copy)]
enum Manner {
    Good,
    /// Closes without a word.
    Silent,
    /// Closes in the middle of a message.
    Vanishes,
    /// Sends what is no message.
    Garbage,
    /// Resets while the answer is being written.
    Resets,
    /// Never reads the answer.
    Stalls,
}

const MANNERS: [Manner; 6] =
    [Manner::Good, Manner::Silent, Manner::Vanishes, Manner::Garbage, Manner::Resets, Manner::Stalls];
/// How long an answer is, in bytes for each byte of the question.
const FACTOR: usize = 4096;

/// Messages are a length of two bytes, at most 1,000, and so many bytes; the answer is each byte,
/// repeated.
fn serve(mut stream: TcpStream) -> io::Result<()> {
    loop {
        let mut length = [0; 2];
        stream.read_exact(&mut length)?;
        let length = usize::from(u16::from_le_bytes(length));
        if length > 1000 {
            return Err(io::Error::new(ErrorKind::InvalidData, "no message of ours"));
        }
        let mut question = vec![0; length];
        stream.read_exact(&mut question)?;
        // Only clients that ask for much have a time limit: a good one may be slow on a busy
        // machine.
        stream.set_write_timeout((length == 1000).then_some(Duration::from_millis(200)))?;
        let answer: Vec<u8> = question.iter().flat_map(|byte| [*byte; FACTOR]).collect();
        stream.write_all(&answer)?;
    }
}

fn ask(address: SocketAddr, i: usize, manner: Manner) {
    let mut random = Random::new(i as u64 + 1);
    let mut stream = TcpStream::connect(address).unwrap();
    match manner {
        Manner::Silent => {}
        Manner::Garbage => stream.write_all(&[0xff; 100]).unwrap(),
        Manner::Vanishes => stream.write_all(&[100, 0, 1, 2, 3]).unwrap(),
        Manner::Resets | Manner::Stalls => {
            stream.write_all(&1000_u16.to_le_bytes()).unwrap();
            stream.write_all(&[i as u8; 1000]).unwrap();
            gosched::sleep(Duration::from_millis(5 + random.below(20)));
            if matches!(manner, Manner::Resets) {
                reset_on_close(&stream);
            } else {
                gosched::sleep(Duration::from_millis(400));
            }
        }
        Manner::Good => {
            for _ in 0..5 {
                let question: Vec<u8> = (0..1 + random.below(30)).map(|n| n as u8 ^ i as u8).collect();
                stream.write_all(&(question.len() as u16).to_le_bytes()).unwrap();
                stream.write_all(&question).unwrap();
                let mut answer = vec![0; question.len() * FACTOR];
                stream.read_exact(&mut answer).unwrap();
                assert!(answer.iter().enumerate().all(|(at, byte)| *byte == question[at / FACTOR]));
            }
        }
    }
}

/// A server with clients of all manners: the good ones are served well, the others end with an
/// error of their own.
#[test]
fn the_others_do_not_suffer() {
    with_procs("the_others_do_not_suffer", || {
        const CLIENTS: usize = 120;
        static FAILED: AtomicUsize = AtomicUsize::new(0);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = go(move || {
            let serve_all = listener.incoming().take(CLIENTS).map(|stream| {
                let stream = stream.unwrap();
                go(move || FAILED.fetch_add(usize::from(serve(stream).is_err()), Ordering::Relaxed))
            });
            join_all(serve_all.collect());
        });
        let clients = (0..CLIENTS).map(|i| go(move || ask(address, i, MANNERS[i % MANNERS.len()]))).collect();
        join_all(clients);
        server.join().unwrap();
        // Every connection ends with an error: the good ones with the end of the stream where a
        // message was expected.
        assert_eq!(FAILED.load(Ordering::Relaxed), CLIENTS);
    });
}

/// Connections are closed while reports about them are on their way, and others get their numbers
/// at once: no read ends wrongly, and none misses its data.
#[test]
fn numbers_are_used_again() {
    with_procs("numbers_are_used_again", || {
        let workers = (0..16_u64)
            .map(|i| {
                go(move || {
                    let mut random = Random::new(i + 1);
                    for round in 0..150_u64 {
                        let (mut client, mut server) = pair();
                        let tag = (i * 1000 + round).to_le_bytes();
                        let reader = go(move || {
                            let mut found = [0; 8];
                            server.read_exact(&mut found).map(|()| (found, server))
                        });
                        if random.below(2) == 0 {
                            gosched::yield_now();
                        }
                        if random.below(4) == 0 {
                            drop(client);
                            assert!(reader.join().unwrap().is_err());
                            continue;
                        }
                        client.write_all(&tag).unwrap();
                        let (found, mut server) = reader.join().unwrap().unwrap();
                        assert_eq!(found, tag);
                        // These bytes stay unread: reports for both ends may come after they are
                        // closed.
                        server.write_all(&[0; 100]).unwrap();
                        client.write_all(&[0; 100]).unwrap();
                    }
                })
            })
            .collect();
        join_all(workers);
    });
}
