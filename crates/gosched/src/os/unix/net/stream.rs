//! A connection over a Unix socket.

use core::time::Duration;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream as Std;
use std::path::Path;

use gosched_primitives::Direction;

use super::SocketAddr;
use crate::net::socket::Socket;
use crate::runtime;

/// A connection over a Unix socket, as `std::os::unix::net::UnixStream`. Dropping it closes it.
///
/// ```
/// use gosched::os::unix::net::UnixStream;
/// use std::io::{self, Read, Write};
///
/// let (mut ours, mut theirs) = UnixStream::pair()?;
/// ours.write_all(b"x")?;
/// assert_eq!(theirs.read(&mut [0; 8])?, 1);
/// # Ok::<(), io::Error>(())
/// ```
pub struct UnixStream(pub(crate) Socket<Std>);

impl UnixStream {
    /// Connects to the socket at `path`. A moving call: if the listener's queue is full, it waits,
    /// in an announced blocking call that the context does not cut short.
    ///
    /// ```
    /// # use gosched::os::unix::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let listener = UnixListener::bind(&path)?;
    /// let stream = UnixStream::connect(&path)?;
    /// assert_eq!(stream.peer_addr()?.as_pathname(), Some(path.as_path()));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn connect<P: AsRef<Path>>(path: P) -> io::Result<UnixStream> {
        let path = path.as_ref();
        Socket::new(runtime::blocking(|| Std::connect(path))?).map(UnixStream)
    }

    /// As [`connect`](UnixStream::connect), to an address. A moving call.
    ///
    /// ```
    /// # use gosched::os::unix::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let listener = UnixListener::bind(&path)?;
    /// let stream = UnixStream::connect_addr(&listener.local_addr()?)?;
    /// # drop(stream);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn connect_addr(socket_addr: &SocketAddr) -> io::Result<UnixStream> {
        Socket::new(runtime::blocking(|| Std::connect_addr(socket_addr))?).map(UnixStream)
    }

    /// Two sockets that are connected to each other. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixStream;
    /// let (ours, theirs) = UnixStream::pair()?;
    /// assert!(ours.local_addr()?.is_unnamed() && theirs.local_addr()?.is_unnamed());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        let (a, b) = Std::pair()?;
        Ok((UnixStream(Socket::new(a)?), UnixStream(Socket::new(b)?)))
    }

    /// Another handle to the same connection. Time-outs and other settings are shared. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixStream;
    /// let (ours, theirs) = UnixStream::pair()?;
    /// let clone = ours.try_clone()?;
    /// # drop((clone, theirs));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<UnixStream> {
        self.0.try_clone().map(UnixStream)
    }

    /// The address at this end. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixStream;
    /// let (ours, theirs) = UnixStream::pair()?;
    /// assert!(ours.local_addr()?.is_unnamed());
    /// # drop(theirs);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.std().local_addr()
    }

    /// The address at the other end. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixStream;
    /// let (ours, theirs) = UnixStream::pair()?;
    /// assert!(ours.peer_addr()?.is_unnamed());
    /// # drop(theirs);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.std().peer_addr()
    }

    /// Sets how long a read may wait; `None` is no limit. When the time is up, it fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), as in std on this platform. Never moves.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) for a time of zero.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use gosched::os::unix::net::UnixStream;
    /// let (ours, theirs) = UnixStream::pair()?;
    /// ours.set_read_timeout(Some(Duration::from_secs(1)))?;
    /// assert_eq!(ours.read_timeout()?, Some(Duration::from_secs(1)));
    /// # drop(theirs);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_timeout(Direction::Read, timeout)
    }

    /// As [`set_read_timeout`](UnixStream::set_read_timeout), for writes. Never moves.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use gosched::os::unix::net::UnixStream;
    /// let (ours, theirs) = UnixStream::pair()?;
    /// ours.set_write_timeout(Some(Duration::from_secs(1)))?;
    /// assert_eq!(ours.write_timeout()?, Some(Duration::from_secs(1)));
    /// # drop(theirs);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_timeout(Direction::Write, timeout)
    }

    /// What [`set_read_timeout`](UnixStream::set_read_timeout) has set. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixStream;
    /// let (ours, theirs) = UnixStream::pair()?;
    /// assert_eq!(ours.read_timeout()?, None);
    /// # drop(theirs);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.timeout(Direction::Read))
    }

    /// What [`set_write_timeout`](UnixStream::set_write_timeout) has set. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixStream;
    /// let (ours, theirs) = UnixStream::pair()?;
    /// assert_eq!(ours.write_timeout()?, None);
    /// # drop(theirs);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.timeout(Direction::Write))
    }

    /// Sets the mode. In non-blocking mode a call that would wait fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) instead. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixStream;
    /// let (ours, theirs) = UnixStream::pair()?;
    /// use std::io::{ErrorKind, Read};
    ///
    /// ours.set_nonblocking(true)?;
    /// assert_eq!((&ours).read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    /// # drop(theirs);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.set_nonblocking(nonblocking);
        Ok(())
    }

    /// Takes the socket's pending error, if there is one (`SO_ERROR`). Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixStream;
    /// let (ours, theirs) = UnixStream::pair()?;
    /// assert!(ours.take_error()?.is_none());
    /// # drop(theirs);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.0.std().take_error()
    }

    /// Shuts down reading, writing or both, and wakes the waiters. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixStream;
    /// let (ours, theirs) = UnixStream::pair()?;
    /// use std::io::Read;
    ///
    /// ours.shutdown(std::net::Shutdown::Write)?;
    /// assert_eq!((&theirs).read(&mut [0; 8])?, 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.0.std().shutdown(how)
    }
}

/// Moving calls.
impl Read for &UnixStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.run(Direction::Read, |mut stream| stream.read(buf))
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.0.run(Direction::Read, |mut stream| stream.read_vectored(bufs))
    }
}

/// Moving calls.
impl Write for &UnixStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.run(Direction::Write, |mut stream| stream.write(buf))
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.run(Direction::Write, |mut stream| stream.write_vectored(bufs))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Moving calls.
impl Read for UnixStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buf)
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&*self).read_vectored(bufs)
    }
}

/// Moving calls.
impl Write for UnixStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&*self).write(buf)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(bufs)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(feature = "futures-io")]
crate::net::polling::futures_io::streams!(UnixStream: More, &UnixStream: More);
#[cfg(feature = "hyper")]
crate::net::polling::hyper::streams!(UnixStream: More);
