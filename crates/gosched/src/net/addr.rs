//! Addresses: resolving names without blocking other goroutines, and trying one address after the
//! other.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use crate::runtime;

/// Calls `f` with each address of `addr` until it succeeds; returns the last error if it never
/// does. A moving call.
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

/// The addresses of `addr`. The resolver blocks its thread, so the call is announced.
pub(super) fn resolve<A: ToSocketAddrs>(addr: A) -> io::Result<A::Iter> {
    runtime::blocking(|| addr.to_socket_addrs())
}
