//! TCP as in std (S47, S18): reading, writing, accepting and connecting; time-outs, shutdown,
//! clones, conversions; from goroutines and from foreign threads. With 1, 2 and 8 Ps.

mod common;

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{child, join_all, within};
use gosched::go;
use gosched::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs};

const LIMIT: Duration = Duration::from_secs(60);

/// Two ends of a connection.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (theirs, peer) = listener.accept().unwrap();
    assert_eq!(ours.local_addr().unwrap(), peer);
    (ours, theirs)
}

/// A stream that has no room left for a write, unless the kernel makes some later.
fn stuffed() -> (TcpStream, TcpStream) {
    let (ours, theirs) = pair();
    ours.set_nonblocking(true).unwrap();
    loop {
        match (&ours).write(&[0; 65536]) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    ours.set_nonblocking(false).unwrap();
    (ours, theirs)
}

/// Runs `body` in processes with 1, 2 and 8 Ps.
fn with_procs(test: &'static str, body: fn()) {
    for procs in [1, 2, 8] {
        child(test, || gosched::run(body)).procs(procs).limit(LIMIT).run().ok();
    }
}

/// S47: clients and servers are goroutines, and every byte comes back to its sender.
#[test]
fn echo() {
    with_procs("echo", || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        go(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                go(move || io::copy(&mut &stream, &mut &stream).unwrap());
            }
        });
        let clients = (0..50_u8)
            .map(|i| {
                go(move || {
                    let mut stream = TcpStream::connect(address).unwrap();
                    for round in 0..20_u8 {
                        let sent: Vec<u8> =
                            (0..1 + usize::from(round) * 37).map(|n| i ^ round ^ n as u8).collect();
                        stream.write_all(&sent).unwrap();
                        let mut back = vec![0; sent.len()];
                        stream.read_exact(&mut back).unwrap();
                        assert_eq!(back, sent);
                    }
                    stream.shutdown(Shutdown::Write).unwrap();
                    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
                })
            })
            .collect();
        join_all(clients);
    });
}

/// S18: the same calls block a foreign thread, and work, between foreign threads and with
/// goroutines at the other end.
#[test]
fn foreign_threads() {
    within(LIMIT, || {
        let (mut ours, mut theirs) = pair();
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 5];
            ours.read_exact(&mut bytes).unwrap();
            ours.write_all(b"thank you").unwrap();
            bytes
        });
        std::thread::sleep(Duration::from_millis(20));
        theirs.write_all(b"hello").unwrap();
        let mut answer = String::new();
        theirs.read_to_string(&mut answer).unwrap();
        assert_eq!((&reader.join().unwrap(), &*answer), (b"hello", "thank you"));

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = std::thread::spawn(move || listener.accept().unwrap());
        let client = go(move || {
            gosched::sleep(Duration::from_millis(20));
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"x").unwrap();
            stream.read(&mut [0; 8]).unwrap()
        });
        let (mut stream, _) = acceptor.join().unwrap();
        assert_eq!(stream.read(&mut [0; 8]).unwrap(), 1);
        drop(stream);
        assert_eq!(client.join().unwrap(), 0);
    });
}

/// S47: two goroutines use one connection, one reading and one writing, by reference and by clones.
#[test]
fn split_use() {
    with_procs("split_use", || {
        const BYTES: usize = 1 << 20;
        let (ours, theirs) = pair();
        let (ours, theirs) = (Arc::new(ours), Arc::new(theirs));
        let send = |stream: Arc<TcpStream>, seed: u8| {
            go(move || {
                let bytes: Vec<u8> = (0..BYTES).map(|i| (i as u8).wrapping_mul(31) ^ seed).collect();
                (&*stream).write_all(&bytes).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
            })
        };
        let receive = |stream: TcpStream, seed: u8| {
            go(move || {
                let mut bytes = Vec::new();
                (&stream).read_to_end(&mut bytes).unwrap();
                assert_eq!(bytes.len(), BYTES);
                assert!(bytes.iter().enumerate().all(|(i, b)| *b == (i as u8).wrapping_mul(31) ^ seed));
            })
        };
        join_all(vec![
            send(Arc::clone(&ours), 1),
            send(Arc::clone(&theirs), 2),
            receive(ours.try_clone().unwrap(), 2),
            receive(theirs.try_clone().unwrap(), 1),
        ]);
    });
}

/// S47: several goroutines wait for one direction of one connection; no byte is lost, and all see
/// the end.
#[test]
fn many_readers_of_one_stream() {
    with_procs("many_readers_of_one_stream", || {
        let (mut ours, theirs) = pair();
        let theirs = Arc::new(theirs);
        let readers = (0..20)
            .map(|_| {
                let stream = Arc::clone(&theirs);
                go(move || {
                    let mut total = 0;
                    loop {
                        match (&*stream).read(&mut [0; 3]).unwrap() {
                            0 => return total,
                            n => total += n,
                        }
                    }
                })
            })
            .collect();
        for _ in 0..1000 {
            ours.write_all(b"1234567").unwrap();
            gosched::yield_now();
        }
        drop(ours);
        assert_eq!(join_all(readers).into_iter().sum::<usize>(), 7000);
    });
}

/// S47: time-outs of reads and writes, as in std: `WouldBlock`, not before the time, and the
/// connection still works.
#[test]
fn timeouts() {
    with_procs("timeouts", || {
        let limit = Duration::from_millis(30);
        let (mut ours, mut theirs) = pair();
        let clone = ours.try_clone().unwrap();
        clone.set_read_timeout(Some(limit)).unwrap();
        assert_eq!(ours.read_timeout().unwrap(), Some(limit), "clones share time-outs");
        let began = Instant::now();
        assert_eq!(ours.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert!(began.elapsed() >= limit);
        theirs.write_all(b"x").unwrap();
        assert_eq!(ours.read(&mut [0; 8]).unwrap(), 1);
        ours.set_read_timeout(None).unwrap();
        let late = go(move || {
            gosched::sleep(2 * limit);
            theirs.write_all(b"x").unwrap();
            theirs
        });
        assert_eq!(ours.read(&mut [0; 8]).unwrap(), 1, "no time-out any more");
        late.join().unwrap();
        let zero = ours.set_read_timeout(Some(Duration::ZERO)).unwrap_err();
        assert_eq!(zero.kind(), ErrorKind::InvalidInput);

        let (ours, _theirs) = stuffed();
        ours.set_write_timeout(Some(limit)).unwrap();
        let mut began = Instant::now();
        let error = loop {
            began = match (&ours).write(&[0; 65536]) {
                Ok(_) => Instant::now(),
                Err(error) => break error,
            };
        };
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        assert!(began.elapsed() >= limit);
    });
}

/// S47: a read on a foreign thread ends at its time-out, or before it when data comes.
#[test]
fn timeouts_of_foreign_threads() {
    within(LIMIT, || {
        let limit = Duration::from_millis(20);
        let (mut ours, mut theirs) = pair();
        ours.set_read_timeout(Some(limit)).unwrap();
        let began = Instant::now();
        assert_eq!(ours.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert!(began.elapsed() >= limit);
        ours.set_read_timeout(Some(Duration::from_secs(100))).unwrap();
        let writer = std::thread::spawn(move || theirs.write_all(b"x").map(|()| theirs));
        assert_eq!(ours.read(&mut [0; 8]).unwrap(), 1);
        writer.join().unwrap().unwrap();
    });
}

/// S47: shutting down wakes whoever waits: readers see the end, writers an error; also through a
/// clone, and a listener's acceptors an error.
#[test]
fn shutdown_wakes_waiters() {
    with_procs("shutdown_wakes_waiters", || {
        let (ours, _theirs) = pair();
        let ours = Arc::new(ours);
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let stream = Arc::clone(&ours);
                go(move || (&*stream).read(&mut [0; 8]).unwrap())
            })
            .collect();
        gosched::sleep(Duration::from_millis(10));
        ours.try_clone().unwrap().shutdown(Shutdown::Read).unwrap();
        assert_eq!(join_all(readers), [0, 0, 0]);

        let (ours, _theirs) = stuffed();
        let clone = ours.try_clone().unwrap();
        let writer = go(move || {
            loop {
                if let Err(error) = (&ours).write_all(&[0; 1 << 20]) {
                    return error.kind();
                }
            }
        });
        gosched::sleep(Duration::from_millis(10));
        clone.shutdown(Shutdown::Both).unwrap();
        assert_eq!(writer.join().unwrap(), ErrorKind::BrokenPipe);

        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
        let acceptors = (0..3)
            .map(|_| {
                let listener = Arc::clone(&listener);
                go(move || listener.accept().is_err())
            })
            .collect();
        gosched::sleep(Duration::from_millis(10));
        listener.shutdown().unwrap();
        assert_eq!(join_all(acceptors), [true, true, true]);
        assert!(listener.accept().is_err());
    });
}

/// As in std: non-blocking mode, shared by clones.
#[test]
fn nonblocking_mode() {
    with_procs("nonblocking_mode", || {
        let (ours, mut theirs) = pair();
        let mut clone = ours.try_clone().unwrap();
        ours.set_nonblocking(true).unwrap();
        assert_eq!(clone.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        clone.set_nonblocking(false).unwrap();
        let reader = go(move || (&ours).read(&mut [0; 8]).unwrap());
        theirs.write_all(b"x").unwrap();
        assert_eq!(reader.join().unwrap(), 1);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

/// As in std: several buffers at once, and looking without taking.
#[test]
fn vectored_and_peek() {
    with_procs("vectored_and_peek", || {
        let (mut ours, theirs) = pair();
        let reader = go(move || {
            let mut bytes = [0; 5];
            while theirs.peek(&mut bytes).unwrap() < 5 {}
            assert_eq!(&bytes, b"abcde");
            let (mut a, mut b) = ([0; 2], [0; 8]);
            let n = (&theirs).read_vectored(&mut [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b)]).unwrap();
            (n, a, b)
        });
        let n = ours.write_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cde")]).unwrap();
        assert_eq!(n, 5);
        assert_eq!(reader.join().unwrap(), (5, *b"ab", *b"cde\0\0\0\0\0"));
    });
}

/// D9: a socket that is converted to std is blocking again and out of the poller; one that comes
/// from std parks goroutines. Time-outs are kept.
#[test]
fn conversions() {
    fn is_nonblocking(fd: &impl AsRawFd) -> bool {
        // SAFETY: asks for the flags of an open descriptor.
        unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) & libc::O_NONBLOCK != 0 }
    }
    with_procs("conversions", || {
        let (ours, mut theirs) = pair();
        assert!(is_nonblocking(&ours));
        ours.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        // It has been waited for, so it is in the poller.
        assert!((&ours).read(&mut [0; 8]).is_err());
        ours.set_read_timeout(Some(Duration::from_secs(100))).unwrap();
        let mut std = std::net::TcpStream::from(ours);
        assert!(!is_nonblocking(&std));
        assert_eq!(std.read_timeout().unwrap(), Some(Duration::from_secs(100)));
        theirs.write_all(b"x").unwrap();
        assert_eq!(std.read(&mut [0; 8]).unwrap(), 1);
        let ours = TcpStream::from(std);
        assert!(is_nonblocking(&ours));
        assert_eq!(ours.read_timeout().unwrap(), Some(Duration::from_secs(100)));
        let reader = go(move || (&ours).read(&mut [0; 8]).map(|n| (n, ours)).unwrap());
        theirs.write_all(b"x").unwrap();
        let (n, ours) = reader.join().unwrap();
        assert_eq!(n, 1);
        let fd = OwnedFd::from(ours);
        assert!(!is_nonblocking(&fd));
        // SAFETY: the descriptor is given up by the one and taken by the other.
        let mut ours = unsafe { TcpStream::from_raw_fd(TcpStream::from(fd).into_raw_fd()) };
        theirs.write_all(b"x").unwrap();
        assert_eq!(ours.read(&mut [0; 8]).unwrap(), 1);
        ours.set_nonblocking(true).unwrap();
        assert!(is_nonblocking(&OwnedFd::from(ours)), "the user wanted it so");
        let listener = std::net::TcpListener::from(TcpListener::bind("127.0.0.1:0").unwrap());
        assert!(!is_nonblocking(&listener));
        let listener = TcpListener::from(listener);
        let address = listener.local_addr().unwrap();
        let client = go(move || TcpStream::connect(address).unwrap());
        listener.accept().unwrap();
        client.join().unwrap();
    });
}

/// Connecting to a name, to a closed port, to no address, and with a limit to one where nobody
/// answers.
#[test]
fn connecting() {
    with_procs("connecting", || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        TcpStream::connect(("localhost", address.port())).unwrap();
        assert!(("localhost", address.port()).to_socket_addrs().unwrap().count() > 0);
        TcpStream::connect_timeout(&address, Duration::from_secs(30)).unwrap();
        drop(listener);
        assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        let none: &[std::net::SocketAddr] = &[];
        let nowhere = TcpStream::connect(none).unwrap_err();
        assert_eq!(
            (nowhere.kind(), &*nowhere.to_string()),
            (ErrorKind::InvalidInput, "could not resolve to any addresses")
        );
        assert!(TcpStream::connect("127.0.0.1:port").is_err());
        let zero = TcpStream::connect_timeout(&address, Duration::ZERO).unwrap_err();
        assert_eq!(zero.kind(), ErrorKind::InvalidInput);

        // A queue that is full answers nobody.
        let full = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        // SAFETY: shortens the queue of an open listener.
        unsafe { libc::listen(full.as_raw_fd(), 0) };
        let address = full.local_addr().unwrap();
        let limit = Duration::from_millis(50);
        let timed_out = (0..10).map(|_| TcpStream::connect_timeout(&address, limit)).collect::<Vec<_>>();
        let kinds: Vec<_> = timed_out.iter().filter_map(|r| r.as_ref().err()).map(io::Error::kind).collect();
        assert!(!kinds.is_empty() && kinds.iter().all(|kind| *kind == ErrorKind::TimedOut), "{kinds:?}");
    });
}

/// S47: binding to a port in use fails with `AddrInUse`.
#[test]
fn a_port_in_use_says_so() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let error = TcpListener::bind(listener.local_addr().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
}

/// Opens files until no descriptor is left.
fn use_up_descriptors() -> Vec<File> {
    let limit = libc::rlimit { rlim_cur: 64, rlim_max: 64 };
    // SAFETY: the structure is initialised.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    let mut files = Vec::new();
    let error = loop {
        match File::open("/dev/null") {
            Ok(file) => files.push(file),
            Err(error) => break error,
        }
    };
    assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
    files
}

/// S47: all descriptors are used up before the first wait for a connection. Existing connections
/// can be waited for. (Seen to fail with a poller that is made at the first wait, 2026-11-16.)
#[test]
fn waiting_takes_no_descriptor() {
    with_procs("waiting_takes_no_descriptor", || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        let _files = use_up_descriptors();
        server.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        assert_eq!(server.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        server.set_read_timeout(None).unwrap();
        let reader = go(move || server.read(&mut [0; 8]).unwrap());
        client.write_all(b"hello").unwrap();
        assert_eq!(reader.join().unwrap(), 5);
    });
}
