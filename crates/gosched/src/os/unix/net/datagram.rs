//! Datagrams over Unix sockets.

use core::time::Duration;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixDatagram as Std;
use std::path::Path;

use gosched_primitives::Direction;

use super::SocketAddr;
use crate::net::socket::Socket;

/// A Unix datagram socket, as `std::os::unix::net::UnixDatagram`. Dropping it closes it; the file
/// stays.
///
/// ```
/// use gosched::os::unix::net::UnixDatagram;
///
/// let (a, b) = UnixDatagram::pair()?;
/// a.send(b"hello")?;
/// let mut bytes = [0; 16];
/// let n = b.recv(&mut bytes)?;
/// assert_eq!(&bytes[..n], b"hello");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UnixDatagram(pub(crate) Socket<Std>);

impl UnixDatagram {
    /// Makes a socket at `path`. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let socket = UnixDatagram::bind(&path)?;
    /// assert_eq!(socket.local_addr()?.as_pathname(), Some(path.as_path()));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixDatagram> {
        Socket::new(Std::bind(path)?).map(UnixDatagram)
    }

    /// As [`bind`](UnixDatagram::bind), to an address. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let address = std::os::unix::net::SocketAddr::from_pathname(&path)?;
    /// let socket = UnixDatagram::bind_addr(&address)?;
    /// # drop(socket);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn bind_addr(socket_addr: &SocketAddr) -> io::Result<UnixDatagram> {
        Socket::new(Std::bind_addr(socket_addr)?).map(UnixDatagram)
    }

    /// A socket without an address. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// assert!(UnixDatagram::unbound()?.local_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn unbound() -> io::Result<UnixDatagram> {
        Socket::new(Std::unbound()?).map(UnixDatagram)
    }

    /// Two sockets that are connected to each other. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// let (a, b) = UnixDatagram::pair()?;
    /// a.send(b"x")?;
    /// assert_eq!(b.recv(&mut [0; 8])?, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        let (a, b) = Std::pair()?;
        Ok((UnixDatagram(Socket::new(a)?), UnixDatagram(Socket::new(b)?)))
    }

    /// Connects to the socket at `path`: from now on [`send`](UnixDatagram::send) goes there. Never
    /// moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let socket = UnixDatagram::bind(&path)?;
    /// let other = UnixDatagram::unbound()?;
    /// other.connect(&path)?;
    /// other.send(b"x")?;
    /// assert_eq!(socket.recv(&mut [0; 8])?, 1);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        self.0.std().connect(path)
    }

    /// As [`connect`](UnixDatagram::connect), to an address. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let socket = UnixDatagram::bind(&path)?;
    /// let other = UnixDatagram::unbound()?;
    /// other.connect_addr(&socket.local_addr()?)?;
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn connect_addr(&self, socket_addr: &SocketAddr) -> io::Result<()> {
        self.0.std().connect_addr(socket_addr)
    }

    /// Another handle to the same socket. Time-outs and other settings are shared. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// let (a, b) = UnixDatagram::pair()?;
    /// let clone = a.try_clone()?;
    /// # drop((clone, b));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<UnixDatagram> {
        self.0.try_clone().map(UnixDatagram)
    }

    /// Its address. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// let (a, b) = UnixDatagram::pair()?;
    /// assert!(a.local_addr()?.is_unnamed());
    /// # drop(b);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.std().local_addr()
    }

    /// The address it is connected to. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// let (a, b) = UnixDatagram::pair()?;
    /// assert!(a.peer_addr()?.is_unnamed());
    /// # drop(b);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.std().peer_addr()
    }

    /// Receives a datagram; returns its length and its sender. What does not fit into `buf` is
    /// lost. A moving call.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// let (a, b) = UnixDatagram::pair()?;
    /// a.send(b"x")?;
    /// assert_eq!(b.recv_from(&mut [0; 8])?.0, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match self.0.run(Direction::Read, |socket| socket.recv_from(buf)) {
            Err(_) if self.0.is_shut() => Ok((0, Std::unbound()?.local_addr()?)),
            received => received,
        }
    }

    /// Receives a datagram; returns its length. What does not fit into `buf` is lost. A moving
    /// call.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// let (a, b) = UnixDatagram::pair()?;
    /// a.send(b"x")?;
    /// assert_eq!(b.recv(&mut [0; 8])?, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        match self.0.run(Direction::Read, |socket| socket.recv(buf)) {
            Err(_) if self.0.is_shut() => Ok(0),
            received => received,
        }
    }

    /// Sends a datagram to the socket at `path`. A moving call. (If that socket's queue is full, it
    /// tries again from time to time: the kernel does not report when another socket's queue has
    /// room.)
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let socket = UnixDatagram::bind(&path)?;
    /// let other = UnixDatagram::unbound()?;
    /// assert_eq!(other.send_to(b"x", &path)?, 1);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn send_to<P: AsRef<Path>>(&self, buf: &[u8], path: P) -> io::Result<usize> {
        self.send_to_addr(buf, &SocketAddr::from_pathname(path)?)
    }

    /// As [`send_to`](UnixDatagram::send_to), to an address. A moving call.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let socket = UnixDatagram::bind(&path)?;
    /// let other = UnixDatagram::unbound()?;
    /// assert_eq!(other.send_to_addr(b"x", &socket.local_addr()?)?, 1);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn send_to_addr(&self, buf: &[u8], socket_addr: &SocketAddr) -> io::Result<usize> {
        self.0.run_retrying(Direction::Write, |socket| socket.send_to_addr(buf, socket_addr))
    }

    /// Sends a datagram to the address it is connected to. A moving call.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// let (a, b) = UnixDatagram::pair()?;
    /// assert_eq!(a.send(b"x")?, 1);
    /// # drop(b);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn send(&self, buf: &[u8]) -> io::Result<usize> {
        self.0.run(Direction::Write, |socket| socket.send(buf))
    }

    /// Sets how long a receive may wait; `None` is no limit. When the time is up, it fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), as in std on this platform. Never moves.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) for a time of zero.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use gosched::os::unix::net::UnixDatagram;
    /// let (a, b) = UnixDatagram::pair()?;
    /// a.set_read_timeout(Some(Duration::from_secs(1)))?;
    /// assert_eq!(a.read_timeout()?, Some(Duration::from_secs(1)));
    /// # drop(b);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_timeout(Direction::Read, timeout)
    }

    /// As [`set_read_timeout`](UnixDatagram::set_read_timeout), for sending. Never moves.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use gosched::os::unix::net::UnixDatagram;
    /// let (a, b) = UnixDatagram::pair()?;
    /// a.set_write_timeout(Some(Duration::from_secs(1)))?;
    /// assert_eq!(a.write_timeout()?, Some(Duration::from_secs(1)));
    /// # drop(b);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_timeout(Direction::Write, timeout)
    }

    /// What [`set_read_timeout`](UnixDatagram::set_read_timeout) has set. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// let (a, b) = UnixDatagram::pair()?;
    /// assert_eq!(a.read_timeout()?, None);
    /// # drop(b);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.timeout(Direction::Read))
    }

    /// What [`set_write_timeout`](UnixDatagram::set_write_timeout) has set. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// let (a, b) = UnixDatagram::pair()?;
    /// assert_eq!(a.write_timeout()?, None);
    /// # drop(b);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.timeout(Direction::Write))
    }

    /// Takes the socket's pending error, if there is one (`SO_ERROR`). Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// let (a, b) = UnixDatagram::pair()?;
    /// assert!(a.take_error()?.is_none());
    /// # drop(b);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.0.std().take_error()
    }

    /// Sets the mode. In non-blocking mode a call that would wait fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) instead. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// let (a, b) = UnixDatagram::pair()?;
    /// a.set_nonblocking(true)?;
    /// assert_eq!(a.recv(&mut [0; 8]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    /// # drop(b);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.set_nonblocking(nonblocking);
        Ok(())
    }

    /// Shuts down sending, receiving or both, and wakes the waiters. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixDatagram;
    /// let (a, b) = UnixDatagram::pair()?;
    /// a.shutdown(std::net::Shutdown::Both)?;
    /// assert_eq!(a.recv(&mut [0; 8])?, 0);
    /// # drop(b);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        if how != Shutdown::Write {
            self.0.note_shut();
        }
        self.0.std().shutdown(how)
    }
}
