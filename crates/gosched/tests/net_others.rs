//! UDP and Unix sockets as in std (S47).

mod common;

use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{child, join_all, within};
use gosched::go;
use gosched::net::{Shutdown, UdpSocket};
use gosched::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

const LIMIT: Duration = Duration::from_secs(60);

fn with_procs(test: &'static str, body: fn()) {
    for procs in [1, 2, 8] {
        child(test, || gosched::run(body)).procs(procs).limit(LIMIT).run().ok();
    }
}

/// A path at which there is no file; removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("gosched-net-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Place(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Datagrams are sent back, connected and not, by several receivers of one socket.
#[test]
fn udp() {
    with_procs("udp", || {
        let server = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let address = server.local_addr().unwrap();
        for _ in 0..3 {
            let server = Arc::clone(&server);
            go(move || {
                loop {
                    let mut bytes = [0; 64];
                    let (n, from) = server.recv_from(&mut bytes).unwrap();
                    server.send_to(&bytes[..n], from).unwrap();
                }
            });
        }
        let clients = (0..10_u8)
            .map(|i| {
                go(move || {
                    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                    socket.connect(address).unwrap();
                    for round in 0..50 {
                        let sent = [i, round, 7];
                        assert_eq!(socket.send(&sent).unwrap(), 3);
                        let mut back = [0; 8];
                        assert_eq!(socket.peek(&mut back).unwrap(), 3);
                        assert_eq!(socket.recv(&mut back).unwrap(), 3);
                        assert_eq!(back[..3], sent);
                    }
                })
            })
            .collect();
        join_all(clients);
        let quiet = UdpSocket::bind("127.0.0.1:0").unwrap();
        let limit = Duration::from_millis(20);
        quiet.set_read_timeout(Some(limit)).unwrap();
        let began = Instant::now();
        assert_eq!(quiet.recv(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert!(began.elapsed() >= limit);
        let none: &[std::net::SocketAddr] = &[];
        assert_eq!(quiet.send_to(b"x", none).unwrap_err().kind(), ErrorKind::InvalidInput);
        let std = std::net::UdpSocket::from(quiet);
        drop(UdpSocket::from(OwnedFd::from(std)));
    });
}

/// Unix streams: listener, connections, names.
#[test]
fn unix_streams() {
    with_procs("unix_streams", || {
        let place = Place::new("streams");
        let listener = UnixListener::bind(&place.0).unwrap();
        assert_eq!(UnixListener::bind(&place.0).unwrap_err().kind(), ErrorKind::AddrInUse);
        go(move || {
            for stream in &listener {
                let stream = stream.unwrap();
                go(move || std::io::copy(&mut &stream, &mut &stream));
            }
        });
        let clients = (0..50_u8)
            .map(|i| {
                let path = place.0.clone();
                go(move || {
                    let mut stream = UnixStream::connect(path).unwrap();
                    stream.write_all(&[i; 1000]).unwrap();
                    let mut back = [0; 1000];
                    stream.read_exact(&mut back).unwrap();
                    assert_eq!(back, [i; 1000]);
                })
            })
            .collect();
        join_all(clients);
        assert!(UnixStream::connect("/no/such/socket").is_err());
    });
}

/// Shutting down wakes the acceptors of a Unix listener, the readers of a stream, and the receivers
/// of a datagram socket.
#[test]
fn unix_shutdown_wakes_waiters() {
    with_procs("unix_shutdown_wakes_waiters", || {
        let place = Place::new("shutdown");
        let listener = Arc::new(UnixListener::bind(&place.0).unwrap());
        let acceptors = (0..3)
            .map(|_| {
                let listener = Arc::clone(&listener);
                go(move || listener.accept().is_err())
            })
            .collect();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let clone = ours.try_clone().unwrap();
        let reader = go(move || (&ours).read(&mut [0; 8]).unwrap());
        let (a, _b) = UnixDatagram::pair().unwrap();
        let a = Arc::new(a);
        let receivers =
            (0..2)
                .map(|i| {
                    let a = Arc::clone(&a);
                    go(move || {
                        if i == 0 {
                            a.recv(&mut [0; 8]).unwrap()
                        } else {
                            a.recv_from(&mut [0; 8]).unwrap().0
                        }
                    })
                })
                .collect();
        gosched::sleep(Duration::from_millis(10));
        listener.shutdown().unwrap();
        clone.shutdown(Shutdown::Both).unwrap();
        a.shutdown(Shutdown::Both).unwrap();
        assert_eq!(join_all(acceptors), [true; 3]);
        assert_eq!(reader.join().unwrap(), 0);
        assert_eq!(join_all(receivers), [0, 0]);
        assert_eq!((&theirs).write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

/// Unix datagrams: connected ones wait for room in the other's queue, and so do those sent to a
/// path.
#[test]
fn unix_datagrams() {
    with_procs("unix_datagrams", || {
        const COUNT: u32 = 2000;
        let (a, b) = UnixDatagram::pair().unwrap();
        let place = Place::new("datagrams");
        let named = UnixDatagram::bind(&place.0).unwrap();
        let sender = go(move || {
            for i in 0..COUNT {
                a.send(&i.to_ne_bytes()).unwrap();
            }
        });
        let path = place.0.clone();
        let to_path = go(move || {
            let socket = UnixDatagram::unbound().unwrap();
            for i in 0..COUNT {
                socket.send_to(&i.to_ne_bytes(), &path).unwrap();
            }
        });
        for socket in [b, named] {
            for i in 0..COUNT {
                let mut bytes = [0; 4];
                assert_eq!(socket.recv(&mut bytes).unwrap(), 4);
                assert_eq!(u32::from_ne_bytes(bytes), i);
            }
        }
        join_all(vec![sender, to_path]);
    });
}

/// A datagram to a full queue: its time-out and non-blocking mode hold.
#[test]
fn a_full_queue_of_datagrams() {
    within(LIMIT, || {
        let place = Place::new("full");
        let _named = UnixDatagram::bind(&place.0).unwrap();
        let socket = UnixDatagram::unbound().unwrap();
        let limit = Duration::from_millis(30);
        socket.set_write_timeout(Some(limit)).unwrap();
        let mut began = Instant::now();
        let error = loop {
            began = match socket.send_to(b"x", &place.0) {
                Ok(_) => Instant::now(),
                Err(error) => break error,
            };
        };
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        assert!(began.elapsed() >= limit);
        socket.set_nonblocking(true).unwrap();
        assert_eq!(socket.send_to(b"x", &place.0).unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}
