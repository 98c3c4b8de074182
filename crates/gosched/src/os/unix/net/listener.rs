//! A Unix socket that accepts connections.

use std::io;
use std::iter::FusedIterator;
use std::os::unix::net::UnixListener as Std;
use std::path::Path;

use gosched_primitives::Direction;

use super::{SocketAddr, UnixStream};
use crate::net::socket::Socket;

/// A Unix socket that accepts connections, as `std::os::unix::net::UnixListener`. Dropping it
/// closes it; the file stays.
///
/// ```
/// # use gosched::os::unix::net::{UnixListener, UnixStream};
/// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_file(&path);
/// let listener = UnixListener::bind(&path)?;
/// let _client = UnixStream::connect(&path)?;
/// let (_stream, _) = listener.accept()?;
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UnixListener(pub(crate) Socket<Std>);

impl UnixListener {
    /// Listens on a new socket at `path`. Never moves.
    ///
    /// # Errors
    ///
    /// [`AddrInUse`](io::ErrorKind::AddrInUse) if there is a file already, even one left by a
    /// program that has ended.
    ///
    /// ```
    /// # use gosched::os::unix::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let listener = UnixListener::bind(&path)?;
    /// assert_eq!(listener.local_addr()?.as_pathname(), Some(path.as_path()));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixListener> {
        listen(Std::bind(path)?)
    }

    /// As [`bind`](UnixListener::bind), to an address. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::UnixListener;
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let address = std::os::unix::net::SocketAddr::from_pathname(&path)?;
    /// let listener = UnixListener::bind_addr(&address)?;
    /// # drop(listener);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn bind_addr(socket_addr: &SocketAddr) -> io::Result<UnixListener> {
        listen(Std::bind_addr(socket_addr)?)
    }

    /// Waits for a connection and accepts it. A moving call.
    ///
    /// ```
    /// # use gosched::os::unix::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let listener = UnixListener::bind(&path)?;
    /// let _client = UnixStream::connect(&path)?;
    /// let (_stream, peer) = listener.accept()?;
    /// assert!(peer.is_unnamed());
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let (stream, peer) = self.0.run(Direction::Read, |listener| listener.accept())?;
        Ok((UnixStream(Socket::new(stream)?), peer))
    }

    /// Another handle to the same socket: connections go to one or the other. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let listener = UnixListener::bind(&path)?;
    /// let clone = listener.try_clone()?;
    /// # drop(clone);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_clone(&self) -> io::Result<UnixListener> {
        self.0.try_clone().map(UnixListener)
    }

    /// The address it listens on. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let listener = UnixListener::bind(&path)?;
    /// assert_eq!(listener.local_addr()?.as_pathname(), Some(path.as_path()));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.std().local_addr()
    }

    /// Sets the mode. In non-blocking mode [`accept`](UnixListener::accept) fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) instead of waiting. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let listener = UnixListener::bind(&path)?;
    /// listener.set_nonblocking(true)?;
    /// assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.set_nonblocking(nonblocking);
        Ok(())
    }

    /// Takes the socket's pending error, if there is one (`SO_ERROR`). Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let listener = UnixListener::bind(&path)?;
    /// assert!(listener.take_error()?.is_none());
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.0.std().take_error()
    }

    /// An endless iterator over the connections. Each step is a moving call.
    ///
    /// ```
    /// # use gosched::os::unix::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let listener = UnixListener::bind(&path)?;
    /// let _client = UnixStream::connect(&path)?;
    /// let first = listener.incoming().next().unwrap()?;
    /// # drop(first);
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming { listener: self }
    }

    /// Stops listening, for this handle and all clones, and wakes the waiters: `accept` fails from
    /// now on. Not in std, whose listener can only be dropped. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
    /// # let _ = std::fs::remove_file(&path);
    /// let listener = UnixListener::bind(&path)?;
    /// listener.shutdown()?;
    /// assert!(listener.accept().is_err());
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn shutdown(&self) -> io::Result<()> {
        self.0.note_shut();
        Ok(rustix::net::shutdown(self.0.std(), rustix::net::Shutdown::Both)?)
    }
}

/// Gives it the longest queue that the kernel allows; std's is short.
fn listen(listener: Std) -> io::Result<UnixListener> {
    rustix::net::listen(&listener, i32::MAX)?;
    Socket::new(listener).map(UnixListener)
}

/// An endless iterator over the connections of a [`UnixListener`].
///
/// ```
/// # use gosched::os::unix::net::{UnixListener, UnixStream};
/// # let path = std::env::temp_dir().join(format!("gosched-doc-{}-{}", std::process::id(), line!()));
/// # let _ = std::fs::remove_file(&path);
/// let listener = UnixListener::bind(&path)?;
/// let _client = UnixStream::connect(&path)?;
/// assert_eq!(listener.incoming().take(1).count(), 1);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "iterators are lazy and do nothing unless consumed"]
#[derive(Debug)]
pub struct Incoming<'a> {
    listener: &'a UnixListener,
}

impl Iterator for Incoming<'_> {
    type Item = io::Result<UnixStream>;

    fn next(&mut self) -> Option<io::Result<UnixStream>> {
        Some(self.listener.accept().map(|(stream, _)| stream))
    }
}

impl FusedIterator for Incoming<'_> {}

impl<'a> IntoIterator for &'a UnixListener {
    type Item = io::Result<UnixStream>;
    type IntoIter = Incoming<'a>;

    fn into_iter(self) -> Incoming<'a> {
        self.incoming()
    }
}
