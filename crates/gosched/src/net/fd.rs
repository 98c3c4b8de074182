//! Conversions of sockets to and from std's types and descriptors, the same for all of them (those
//! of Unix are in `os/unix/net/fd.rs`).

/// Implements them for `$type`, a newtype around `Socket<$std>`.
macro_rules! conversions {
    ($type:ident, $std:ty) => {
        /// Takes over a socket of std's, with its time-outs and its mode: a non-blocking one fails
        /// with `WouldBlock` where others wait. For the kernel it becomes non-blocking, which other
        /// handles of std's to it see. Never moves.
        impl From<$std> for $type {
            fn from(socket: $std) -> $type {
                $type(Socket::adopt(socket))
            }
        }

        /// Converts to a socket of std's, blocking unless the user set it non-blocking. That
        /// changes the mode of its clones, too. Never moves.
        impl From<$type> for $std {
            fn from(socket: $type) -> $std {
                socket.0.into_std()
            }
        }

        impl From<OwnedFd> for $type {
            fn from(fd: OwnedFd) -> $type {
                $type::from(<$std>::from(fd))
            }
        }

        impl From<$type> for OwnedFd {
            fn from(socket: $type) -> OwnedFd {
                OwnedFd::from(<$std>::from(socket))
            }
        }

        impl AsFd for $type {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.0.shown().as_fd()
            }
        }

        impl AsRawFd for $type {
            fn as_raw_fd(&self) -> RawFd {
                self.0.shown().as_raw_fd()
            }
        }

        impl IntoRawFd for $type {
            fn into_raw_fd(self) -> RawFd {
                <$std>::from(self).into_raw_fd()
            }
        }

        impl FromRawFd for $type {
            unsafe fn from_raw_fd(fd: RawFd) -> $type {
                // SAFETY: by the same contract.
                $type::from(unsafe { <$std>::from_raw_fd(fd) })
            }
        }

        /// As std's.
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.std().fmt(f)
            }
        }
    };
}
pub(crate) use conversions;

use std::fmt;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use super::socket::Socket;
use super::{TcpListener, TcpStream, UdpSocket};

conversions!(TcpListener, std::net::TcpListener);
conversions!(TcpStream, std::net::TcpStream);
conversions!(UdpSocket, std::net::UdpSocket);
