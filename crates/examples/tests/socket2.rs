//! A socket goes to a crate that knows only descriptors, and comes back.
//!
//! Seen to fail: with a conversion that leaves the socket non-blocking (the read of the other crate).

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use gosched::go;
use gosched::net::{TcpListener, TcpStream};
use socket2::{Domain, Socket, Type};

/// `socket2` makes a socket with options that std does not have, and it becomes a listener here; a
/// stream from here is used there, blocking, and comes back.
#[gosched::test]
fn to_socket2_and_back() -> io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_port(true)?;
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())?;
    socket.listen(16)?;
    let listener = TcpListener::from(OwnedFd::from(socket));

    let client = TcpStream::connect(listener.local_addr()?)?;
    let (mut server, _) = listener.accept()?;
    let writing = go(move || {
        gosched::yield_now();
        server.write_all(b"hello").map(|()| server)
    });
    let mut socket = Socket::from(OwnedFd::from(client));
    assert!(!socket.nonblocking()?);
    let mut bytes = [0; 5];
    // In socket2's own call: it blocks the thread, so it is announced.
    gosched::runtime::blocking(|| socket.read_exact(&mut bytes))?;
    assert_eq!(&bytes, b"hello");
    socket.set_tcp_keepalive(&socket2::TcpKeepalive::new())?;

    let mut client = TcpStream::from(OwnedFd::from(socket));
    let mut server = writing.join().expect("it does not panic")?;
    let waiting = go(move || server.read(&mut [0; 8]));
    client.write_all(b"back")?;
    assert_eq!(waiting.join().expect("it does not panic")?, 4);
    Ok(())
}
