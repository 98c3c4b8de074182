//! A socket keeps the non-blocking mode that the user gave it, however it is converted to ours and
//! back (S47, D9).

mod common;

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::time::Duration;

use common::child;
use gosched::net::{TcpListener, TcpStream, UdpSocket};
use gosched::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use gosched::process::ChildStdout;
use gosched::{go, thread};

const LIMIT: Duration = Duration::from_secs(60);

fn with_procs(test: &'static str, body: fn()) {
    for procs in [1, 2, 8] {
        child(test, || gosched::run(body)).procs(procs).limit(LIMIT).run().ok();
    }
}

fn is_nonblocking(fd: &impl AsRawFd) -> bool {
    // SAFETY: asks for the flags of an open descriptor.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) & libc::O_NONBLOCK != 0 }
}

/// A connected pair of std's.
fn std_pair() -> (std::net::TcpStream, std::net::TcpStream) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

/// The address of a Unix socket that has no file.
fn abstract_name(name: &str) -> std::os::unix::net::SocketAddr {
    use std::os::linux::net::SocketAddrExt;
    let name = format!("gosched-modes-{}-{name}", std::process::id());
    std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap()
}

/// Checks each conversion from and to `$type`: the mode of `$std` is kept, and `$op` obeys it.
macro_rules! check_all_ways {
    ($type:ty, $std:ty, $make:expr, $op:expr) => {{
        let op: fn(&$type) -> io::Error = $op;
        let ways_in: [fn($std) -> $type; 3] = [
            <$type>::from,
            |std| <$type>::from(OwnedFd::from(std)),
            // SAFETY: the descriptor is given up by the one and taken by the other.
            |std| unsafe { <$type>::from_raw_fd(std.into_raw_fd()) },
        ];
        let ways_out: [fn($type) -> OwnedFd; 3] = [
            |ours| <$std>::from(ours).into(),
            OwnedFd::from,
            // SAFETY: as above.
            |ours| unsafe { OwnedFd::from_raw_fd(ours.into_raw_fd()) },
        ];
        for (into, out) in ways_in.into_iter().zip(ways_out) {
            let std: $std = $make;
            assert!(!is_nonblocking(&std));
            assert!(!is_nonblocking(&out(into(std))), "blocking, and so again");
            let std: $std = $make;
            std.set_nonblocking(true).unwrap();
            let ours = into(std);
            assert_eq!(op(&ours).kind(), ErrorKind::WouldBlock);
            assert_eq!(op(&ours.try_clone().unwrap()).kind(), ErrorKind::WouldBlock);
            let fd = out(ours);
            assert!(is_nonblocking(&fd), "non-blocking, and so still");
            let ours = <$type>::from(fd);
            ours.set_nonblocking(false).unwrap();
            assert!(!is_nonblocking(&out(ours)), "the user wanted it otherwise");
        }
    }};
}

/// A socket that is converted in non-blocking mode returns `WouldBlock`, and is in that mode when
/// it is converted back.
#[test]
fn a_nonblocking_socket_stays_so() {
    with_procs("a_nonblocking_socket_stays_so", || {
        let mut others: Vec<OwnedFd> = Vec::new();
        let mut keep = |fd: OwnedFd| others.push(fd);
        check_all_ways!(
            TcpStream,
            std::net::TcpStream,
            {
                let (ours, theirs) = std_pair();
                keep(theirs.into());
                ours
            },
            |mut s| s.read(&mut [0; 8]).unwrap_err()
        );
        check_all_ways!(
            TcpListener,
            std::net::TcpListener,
            std::net::TcpListener::bind("127.0.0.1:0").unwrap(),
            |l| l.accept().unwrap_err()
        );
        check_all_ways!(
            UdpSocket,
            std::net::UdpSocket,
            std::net::UdpSocket::bind("127.0.0.1:0").unwrap(),
            |s| s.recv_from(&mut [0; 8]).unwrap_err()
        );
        use std::os::unix::net as unix;
        check_all_ways!(
            UnixStream,
            unix::UnixStream,
            {
                let (ours, theirs) = unix::UnixStream::pair().unwrap();
                keep(theirs.into());
                ours
            },
            |mut s| s.read(&mut [0; 8]).unwrap_err()
        );
        check_all_ways!(
            UnixListener,
            unix::UnixListener,
            unix::UnixListener::bind_addr(&abstract_name("listener")).unwrap(),
            |l| l.accept().unwrap_err()
        );
        check_all_ways!(UnixDatagram, unix::UnixDatagram, unix::UnixDatagram::unbound().unwrap(), |s| s
            .recv(&mut [0; 8])
            .unwrap_err());
    });
}

/// A listener in non-blocking mode accepts connections that wait, as on Linux.
#[test]
fn an_accepted_socket_does_not_inherit_the_mode() {
    with_procs("an_accepted_socket_does_not_inherit_the_mode", || {
        let std = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        std.set_nonblocking(true).unwrap();
        let listener = TcpListener::from(std);
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut accepted = loop {
            match listener.accept() {
                Ok((accepted, _)) => break accepted,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
            gosched::yield_now();
        };
        let reader = go(move || accepted.read(&mut [0; 8]).unwrap());
        common::until_waiting("IO wait", 1);
        client.write_all(b"x").unwrap();
        assert_eq!(reader.join().unwrap(), 1);
        assert!(!is_nonblocking(&OwnedFd::from(client)));
    });
}

/// Two handles of std to one socket are both converted. The first conversion makes it non-blocking
/// underneath; the second must not take that for the user's wish.
#[test]
fn our_own_mode_is_not_mistaken_for_the_users() {
    with_procs("our_own_mode_is_not_mistaken_for_the_users", || {
        let (std, mut theirs) = std_pair();
        let (first, second) =
            (TcpStream::from(std.try_clone().unwrap()), TcpStream::from(std.try_clone().unwrap()));
        let third = duplicate(first.as_fd());
        // SAFETY: the descriptor is open; the copy is ours.
        let fourth = unsafe { TcpStream::from_raw_fd(libc::dup(second.as_raw_fd())) };
        for ours in [&first, &second, &third, &fourth] {
            thread::scope(|s| {
                let reader = s.spawn(|| (&mut &*ours).read(&mut [0; 8]).unwrap());
                common::until_waiting("IO wait", 1);
                theirs.write_all(b"x").unwrap();
                assert_eq!(reader.join().unwrap(), 1);
            });
        }
        // They are one socket: a mode set on one holds for all, as in std.
        third.set_nonblocking(true).unwrap();
        for mut ours in [&first, &second, &third, &fourth] {
            assert_eq!(ours.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        first.set_nonblocking(false).unwrap();
        second.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        assert_eq!(fourth.read_timeout().unwrap(), Some(Duration::from_millis(1)));
        drop((first, second, fourth));
        assert!(!is_nonblocking(&OwnedFd::from(third)));
        assert!(!is_nonblocking(&std));
        // No handle of ours is left: the next conversion takes the mode of the descriptor.
        std.set_nonblocking(true).unwrap();
        let mut ours = TcpStream::from(std);
        assert_eq!(ours.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

fn duplicate(fd: BorrowedFd<'_>) -> TcpStream {
    TcpStream::from(fd.try_clone_to_owned().unwrap())
}

/// The same for a copy of the descriptor of a socket that was connected or accepted here.
#[test]
fn a_copy_of_our_descriptor_waits_too() {
    with_procs("a_copy_of_our_descriptor_waits_too", || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let mut sides = [(duplicate(client.as_fd()), &accepted), (duplicate(accepted.as_fd()), &client)];
        for (copy, theirs) in &mut sides {
            thread::scope(|s| {
                let reader = s.spawn(|| copy.read(&mut [0; 8]).unwrap());
                common::until_waiting("IO wait", 1);
                theirs.write_all(b"x").unwrap();
                assert_eq!(reader.join().unwrap(), 1);
            });
        }
    });
}

/// A clone that is converted to std keeps the mode; a change made there counts when it is converted
/// back.
#[test]
fn what_was_changed_outside_counts() {
    with_procs("what_was_changed_outside_counts", || {
        let (std, _theirs) = std_pair();
        let ours = TcpStream::from(std);
        let std = std::net::TcpStream::from(ours.try_clone().unwrap());
        assert!(!is_nonblocking(&std));
        std.set_nonblocking(true).unwrap();
        let mut back = TcpStream::from(std);
        assert_eq!(back.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        drop(ours);
        assert!(is_nonblocking(&OwnedFd::from(back)));
    });
}

/// The pipe of a started program is non-blocking if the user made it so.
#[test]
fn a_nonblocking_pipe_stays_so() {
    with_procs("a_nonblocking_pipe_stays_so", || {
        let (reader, mut writer) = io::pipe().unwrap();
        // SAFETY: sets the flags of an open descriptor.
        unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        let mut ours = ChildStdout::from(OwnedFd::from(reader));
        assert_eq!(ours.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
        writer.write_all(b"x").unwrap();
        assert_eq!(ours.read(&mut [0; 8]).unwrap(), 1);
        assert!(is_nonblocking(&OwnedFd::from(ours)));
    });
}
