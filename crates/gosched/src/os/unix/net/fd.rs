//! Conversions of Unix sockets to and from std's types and descriptors.

use std::fmt;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use super::{UnixDatagram, UnixListener, UnixStream};
use crate::net::fd::conversions;
use crate::net::socket::Socket;

conversions!(UnixDatagram, std::os::unix::net::UnixDatagram);
conversions!(UnixListener, std::os::unix::net::UnixListener);
conversions!(UnixStream, std::os::unix::net::UnixStream);
