//! Connecting over TCP without blocking: `connect` returns at once, and the socket becomes writable
//! when it has succeeded or failed.

use core::time::Duration;
use std::io;
use std::net::{SocketAddr, TcpStream};

use gosched_primitives::Direction;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};

use super::socket::{InTime, Socket};
use crate::clock::when_after;
use crate::runtime;
use crate::source;

/// Connects to `addr`. A moving call.
pub(super) fn connect(addr: &SocketAddr, limit: Option<Duration>) -> io::Result<Socket<TcpStream>> {
    let deadline = limit.map(when_after);
    source::prepare()?;
    let family = if addr.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let fd = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    let begun = rustix::net::connect(&fd, addr);
    let socket = Socket::fresh(TcpStream::from(fd));
    match begun {
        Ok(()) => {
            runtime::checkpoint();
            Ok(socket)
        }
        // INTR: the connection continues in the background, as with INPROGRESS.
        Err(Errno::INPROGRESS | Errno::INTR) => {
            finish(&socket, deadline)?;
            Ok(socket)
        }
        Err(error) => Err(error.into()),
    }
}

/// Waits until the connection is established or has failed.
fn finish(socket: &Socket<TcpStream>, deadline: Option<u64>) -> io::Result<()> {
    loop {
        let seen = socket.seen(Direction::Write);
        sockopt::socket_error(socket.std())??;
        match socket.std().peer_addr() {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok(()),
        }
        if socket.wait(Direction::Write, seen, deadline)? == InTime::No {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "connection timed out"));
        }
    }
}
