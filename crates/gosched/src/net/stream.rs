//! A TCP connection.

use core::time::Duration;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};

use gosched_primitives::Direction;

use super::addr::each_addr;
use super::connect::connect;
use super::socket::Socket;
use super::{Shutdown, SocketAddr, ToSocketAddrs};

/// A TCP connection, as `std::net::TcpStream`. Dropping it closes it.
///
/// ```
/// use gosched::net::{TcpListener, TcpStream};
/// use std::io::{self, Read, Write};
///
/// gosched::run(|| -> io::Result<()> {
///     let listener = TcpListener::bind("127.0.0.1:0")?;
///     let mut ours = TcpStream::connect(listener.local_addr()?)?;
///     let (mut theirs, _) = listener.accept()?;
///     ours.write_all(b"hello")?;
///     drop(ours);
///     let mut text = String::new();
///     theirs.read_to_string(&mut text)?;
///     assert_eq!(text, "hello");
///     Ok(())
/// })?;
/// # Ok::<(), io::Error>(())
/// ```
pub struct TcpStream(pub(super) Socket<std::net::TcpStream>);

impl TcpStream {
    /// Connects to `addr`, or to the first of its addresses that accepts the connection. A moving
    /// call.
    ///
    /// # Errors
    ///
    /// The last address's error, if none accepts; or the resolver's.
    ///
    /// ```
    /// use gosched::net::{TcpListener, TcpStream};
    /// use std::io;
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(stream.peer_addr()?, listener.local_addr()?);
    /// # Ok::<(), io::Error>(())
    /// ```
    pub fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<TcpStream> {
        each_addr(addr, |addr| connect(addr, None)).map(TcpStream)
    }

    /// Connects to `addr`, within `timeout`. A moving call.
    ///
    /// # Errors
    ///
    /// [`TimedOut`](io::ErrorKind::TimedOut) if it takes longer;
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) for a time of zero.
    ///
    /// ```
    /// use gosched::net::{TcpListener, TcpStream};
    /// use std::{io, time::Duration};
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect_timeout(&listener.local_addr()?, Duration::from_secs(5))?;
    /// # drop(stream);
    /// # Ok::<(), io::Error>(())
    /// ```
    pub fn connect_timeout(addr: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        if timeout.is_zero() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "cannot set a 0 duration timeout"));
        }
        connect(addr, Some(timeout)).map(TcpStream)
    }

    /// The address at the other end. Never moves.
    ///
    /// ```
    /// # use gosched::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(stream.peer_addr()?, listener.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.std().peer_addr()
    }

    /// The address at this end. Never moves.
    ///
    /// ```
    /// # use gosched::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(stream.local_addr()?.ip().is_loopback());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.std().local_addr()
    }

    /// Shuts down reading, writing or both, and wakes the waiters: reads return 0, writes fail with
    /// `BrokenPipe`. Never moves.
    ///
    /// ```
    /// use gosched::net::{Shutdown, TcpListener, TcpStream};
    /// use std::io::{self, Read};
    ///
    /// gosched::run(|| -> io::Result<()> {
    ///     let listener = TcpListener::bind("127.0.0.1:0")?;
    ///     let stream = TcpStream::connect(listener.local_addr()?)?;
    ///     let mut reader = stream.try_clone()?;
    ///     let reading = gosched::go(move || reader.read(&mut [0; 16]));
    ///     stream.shutdown(Shutdown::Both)?;
    ///     assert_eq!(reading.join().unwrap()?, 0);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), io::Error>(())
    /// ```
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.0.std().shutdown(how)
    }

    /// Another handle to the same connection. Time-outs and other settings are shared. Never moves.
    ///
    /// ```
    /// # use gosched::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// let clone = stream.try_clone()?;
    /// assert_eq!(clone.local_addr()?, stream.local_addr()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<TcpStream> {
        self.0.try_clone().map(TcpStream)
    }

    /// Sets how long a read may wait; `None` is no limit. When the time is up, a read fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock), as in std on this platform. Never moves.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) for a time of zero.
    ///
    /// ```
    /// use gosched::net::{TcpListener, TcpStream};
    /// use std::io::{self, Read};
    /// use std::time::Duration;
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let mut stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_read_timeout(Some(Duration::from_millis(1)))?;
    /// let error = stream.read(&mut [0; 16]).unwrap_err();
    /// assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    /// # Ok::<(), io::Error>(())
    /// ```
    pub fn set_read_timeout(&self, dur: Option<Duration>) -> io::Result<()> {
        self.0.set_timeout(Direction::Read, dur)
    }

    /// As [`set_read_timeout`](TcpStream::set_read_timeout), for writes. Never moves.
    ///
    /// ```
    /// # use gosched::net::{TcpListener, TcpStream};
    /// # use std::time::Duration;
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_write_timeout(Some(Duration::from_secs(30)))?;
    /// assert_eq!(stream.write_timeout()?, Some(Duration::from_secs(30)));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_write_timeout(&self, dur: Option<Duration>) -> io::Result<()> {
        self.0.set_timeout(Direction::Write, dur)
    }

    /// What [`set_read_timeout`](TcpStream::set_read_timeout) has set. Never moves.
    ///
    /// ```
    /// # use gosched::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(stream.read_timeout()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.timeout(Direction::Read))
    }

    /// What [`set_write_timeout`](TcpStream::set_write_timeout) has set. Never moves.
    ///
    /// ```
    /// # use gosched::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(stream.write_timeout()?, None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.timeout(Direction::Write))
    }

    /// As a read, but the data stay there for the next one. A moving call.
    ///
    /// ```
    /// use gosched::net::{TcpListener, TcpStream};
    /// use std::io::{self, Read, Write};
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let mut ours = TcpStream::connect(listener.local_addr()?)?;
    /// ours.write_all(b"x")?;
    /// let (mut theirs, _) = listener.accept()?;
    /// let mut byte = [0];
    /// assert_eq!((theirs.peek(&mut byte)?, byte), (1, *b"x"));
    /// assert_eq!((theirs.read(&mut byte)?, byte), (1, *b"x"));
    /// # Ok::<(), io::Error>(())
    /// ```
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.run(Direction::Read, |stream| stream.peek(buf))
    }

    /// Sets whether small pieces are sent at once (`TCP_NODELAY`). Never moves.
    ///
    /// ```
    /// # use gosched::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_nodelay(true)?;
    /// assert!(stream.nodelay()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.std().set_nodelay(nodelay)
    }

    /// What [`set_nodelay`](TcpStream::set_nodelay) has set. Never moves.
    ///
    /// ```
    /// # use gosched::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(!stream.nodelay()?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn nodelay(&self) -> io::Result<bool> {
        self.0.std().nodelay()
    }

    /// Sets how many routers a packet may pass (`IP_TTL`). Never moves.
    ///
    /// ```
    /// # use gosched::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_ttl(42)?;
    /// assert_eq!(stream.ttl()?, 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.0.std().set_ttl(ttl)
    }

    /// What [`set_ttl`](TcpStream::set_ttl) has set. Never moves.
    ///
    /// ```
    /// # use gosched::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(stream.ttl()? > 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn ttl(&self) -> io::Result<u32> {
        self.0.std().ttl()
    }

    /// Takes the socket's pending error, if there is one (`SO_ERROR`). Never moves.
    ///
    /// ```
    /// # use gosched::net::{TcpListener, TcpStream};
    /// # let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(stream.take_error()?.is_none());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.0.std().take_error()
    }

    /// Sets the mode. In non-blocking mode a call that would wait fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) instead. Never moves.
    ///
    /// ```
    /// use gosched::net::{TcpListener, TcpStream};
    /// use std::io::{self, Read};
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let mut stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_nonblocking(true)?;
    /// let error = stream.read(&mut [0; 16]).unwrap_err();
    /// assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    /// # Ok::<(), io::Error>(())
    /// ```
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.set_nonblocking(nonblocking);
        Ok(())
    }
}

/// Moving calls.
impl Read for &TcpStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.run(Direction::Read, |mut stream| stream.read(buf))
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.0.run(Direction::Read, |mut stream| stream.read_vectored(bufs))
    }
}

/// Moving calls.
impl Write for &TcpStream {
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
impl Read for TcpStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buf)
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&*self).read_vectored(bufs)
    }
}

/// Moving calls.
impl Write for TcpStream {
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
