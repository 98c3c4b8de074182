//! Addresses: resolving names without keeping other goroutines waiting, and trying one after the other.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use crate::runtime;

/// Does `f` with each address that `addr` stands for until it succeeds; the last error if it never does. A moving call.
pub(super) fn each_addr<A: ToSocketAddrs, T>(
    addr: A,
    mut f: impl FnMut(&SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut last = None;
    for addr in resolve(addr)? {
        match f(&addr) {
            Ok(done) => return Ok(done),
            Err(error) => last = Some(error),
        }
    }
    Err(last
        .unwrap_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "could not resolve to any addresses")))
}

/// The addresses that `addr` stands for. The resolver blocks its thread, so it is announced.
pub(super) fn resolve<A: ToSocketAddrs>(addr: A) -> io::Result<A::Iter> {
    runtime::blocking(|| addr.to_socket_addrs())
}
