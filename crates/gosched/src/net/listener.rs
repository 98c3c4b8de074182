//! A TCP port that accepts connections.

use std::io;
use std::iter::FusedIterator;

use gosched_primitives::Direction;
use rustix::net::{SocketFlags, acceptfrom_with};

use super::addr::each_addr;
use super::socket::Socket;
use super::{SocketAddr, TcpStream, ToSocketAddrs};

/// A TCP port that accepts connections, as `std::net::TcpListener`. Dropping it closes it.
///
/// ```
/// use gosched::net::{TcpListener, TcpStream};
/// use std::io;
///
/// gosched::run(|| -> io::Result<()> {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     let address = listener.local_addr()?;
///     let client = gosched::go(move || TcpStream::connect(address));
///     let (_stream, peer) = listener.accept()?;
///     assert_eq!(client.join().unwrap()?.local_addr()?, peer);
///     Ok(())
/// })?;
/// # Ok::<(), io::Error>(())
/// ```
pub struct TcpListener(pub(super) Socket<std::net::TcpListener>);

impl TcpListener {
    /// Listens on `addr`; port 0 stands for any free port. A moving call, since a name may have to
    /// be resolved.
    ///
    /// # Errors
    ///
    /// [`AddrInUse`](io::ErrorKind::AddrInUse) if the port is taken,
    /// [`PermissionDenied`](io::ErrorKind::PermissionDenied) for ports that need privileges.
    ///
    /// ```
    /// # use gosched::net::TcpListener;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert_ne!(listener.local_addr()?.port(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<TcpListener> {
        each_addr(addr, |addr| {
            let listener = std::net::TcpListener::bind(addr)?;
            // std's queue is short for servers with thousands of connections at once. The kernel
            // limits this to its maximum.
            rustix::net::listen(&listener, i32::MAX)?;
            Socket::new(listener)
        })
        .map(TcpListener)
    }

    /// The address it listens on. Never moves.
    ///
    /// ```
    /// # use gosched::net::TcpListener;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert!(listener.local_addr()?.ip().is_loopback());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.std().local_addr()
    }

    /// Another handle to the same port: connections go to one or the other. Never moves.
    ///
    /// ```
    /// # use gosched::net::TcpListener;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert_eq!(listener.try_clone()?.local_addr()?, listener.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<TcpListener> {
        self.0.try_clone().map(TcpListener)
    }

    /// Waits for a connection and accepts it. A moving call.
    ///
    /// # Errors
    ///
    /// After the error of a connection that was aborted meanwhile, or of a shortage (above all
    /// `EMFILE`, of descriptors), the listener still works: a server pauses, and calls this again.
    ///
    /// ```
    /// use gosched::net::{TcpListener, TcpStream};
    /// use std::io;
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let client = TcpStream::connect(listener.local_addr()?)?;
    /// let (_stream, peer) = listener.accept()?;
    /// assert_eq!(peer, client.local_addr()?);
    /// # Ok::<(), io::Error>(())
    /// ```
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (fd, peer) = self.0.run(Direction::Read, |listener| {
            Ok(acceptfrom_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?)
        })?;
        let stream = TcpStream(Socket::fresh(std::net::TcpStream::from(fd)));
        let peer = match peer.and_then(|peer| SocketAddr::try_from(peer).ok()) {
            Some(peer) => peer,
            None => stream.peer_addr()?,
        };
        Ok((stream, peer))
    }

    /// An endless iterator over the connections: as [`accept`](TcpListener::accept) in a loop,
    /// without the addresses. Each step is a moving call.
    ///
    /// ```
    /// use gosched::net::{TcpListener, TcpStream};
    /// use std::io;
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let _client = TcpStream::connect(listener.local_addr()?)?;
    /// let first = listener.incoming().next().unwrap()?;
    /// assert_eq!(first.local_addr()?, listener.local_addr()?);
    /// # Ok::<(), io::Error>(())
    /// ```
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming { listener: self }
    }

    /// Stops listening, for this handle and all clones, and wakes the waiters: `accept` fails from
    /// now on. Not in std, whose listener can only be dropped. Never moves.
    ///
    /// ```
    /// use gosched::net::TcpListener;
    /// use std::io;
    /// use std::sync::Arc;
    ///
    /// gosched::run(|| -> io::Result<()> {
    ///     let listener = Arc::new(TcpListener::bind("127.0.0.1:0")?);
    ///     let accepting = gosched::go({
    ///         let listener = Arc::clone(&listener);
    ///         move || listener.accept()
    ///     });
    ///     listener.shutdown()?;
    ///     assert!(accepting.join().unwrap().is_err());
    ///     Ok(())
    /// })?;
    /// # Ok::<(), io::Error>(())
    /// ```
    pub fn shutdown(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(self.0.std(), rustix::net::Shutdown::Both)?)
    }

    /// Sets how many routers a packet may pass (`IP_TTL`). Never moves.
    ///
    /// ```
    /// # use gosched::net::TcpListener;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// listener.set_ttl(42)?;
    /// assert_eq!(listener.ttl()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.0.std().set_ttl(ttl)
    }

    /// What [`set_ttl`](TcpListener::set_ttl) has set. Never moves.
    ///
    /// ```
    /// # use gosched::net::TcpListener;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert!(listener.ttl()? > 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn ttl(&self) -> io::Result<u32> {
        self.0.std().ttl()
    }

    /// Sets whether it accepts IPv6 connections only. Deprecated, as in std: it has no effect after
    /// binding. Never moves.
    ///
    /// ```
    /// # use gosched::net::TcpListener;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// #[allow(deprecated)]
    /// let refused = listener.set_only_v6(true).is_err();
    /// assert!(refused);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[deprecated(since = "1.16.0", note = "this option can only be set before the socket is bound")]
    #[allow(deprecated)]
    pub fn set_only_v6(&self, only_v6: bool) -> io::Result<()> {
        self.0.std().set_only_v6(only_v6)
    }

    /// Whether it accepts IPv6 connections only. Deprecated, as in std. Never moves.
    ///
    /// ```
    /// # use gosched::net::TcpListener;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// #[allow(deprecated)]
    /// let _ = listener.only_v6();
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[deprecated(since = "1.16.0", note = "this option can only be set before the socket is bound")]
    #[allow(deprecated)]
    pub fn only_v6(&self) -> io::Result<bool> {
        self.0.std().only_v6()
    }

    /// Takes the socket's pending error, if there is one (`SO_ERROR`). Never moves.
    ///
    /// ```
    /// # use gosched::net::TcpListener;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert!(listener.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.0.std().take_error()
    }

    /// Sets the mode. In non-blocking mode [`accept`](TcpListener::accept) fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) instead of waiting. Never moves.
    ///
    /// ```
    /// # use gosched::net::TcpListener;
    /// # use std::io;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// listener.set_nonblocking(true)?;
    /// assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    /// # Ok::<(), io::Error>(())
    /// ```
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.set_nonblocking(nonblocking);
        Ok(())
    }
}

/// An endless iterator over the connections of a [`TcpListener`].
///
/// ```
/// use gosched::net::{TcpListener, TcpStream};
/// use std::io;
///
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let _clients = [TcpStream::connect(listener.local_addr()?)?, TcpStream::connect(listener.local_addr()?)?];
/// let streams = listener.incoming().take(2).collect::<io::Result<Vec<_>>>()?;
/// assert_eq!(streams.len(), 2);
/// # Ok::<(), io::Error>(())
/// ```
#[must_use = "iterators are lazy and do nothing unless consumed"]
#[derive(Debug)]
pub struct Incoming<'a> {
    listener: &'a TcpListener,
}

impl Iterator for Incoming<'_> {
    type Item = io::Result<TcpStream>;

    fn next(&mut self) -> Option<io::Result<TcpStream>> {
        Some(self.listener.accept().map(|(stream, _)| stream))
    }
}

impl FusedIterator for Incoming<'_> {}
