//! `std::io`, with a standard input whose readers are announced as calls that may block their
//! thread.
//!
//! Everything but [`stdin`] is std's own, re-exported.
//!
//! ```no_run
//! use gosched::io;
//!
//! gosched::run(|| -> io::Result<()> {
//!     for line in io::stdin().lines() {
//!         println!("you said {}", line?);
//!     }
//!     Ok(())
//! })?;
//! # Ok::<(), io::Error>(())
//! ```

#![deny(unsafe_code)]

use std::fmt;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use crate::runtime;

#[doc(no_inline)]
pub use std::io::*;

/// The standard input of this process. Shares its buffer with std's [`stdin`](std::io::stdin).
/// Never moves.
///
/// ```
/// let input = gosched::io::stdin();
/// # drop(input);
/// ```
#[must_use]
pub fn stdin() -> Stdin {
    Stdin(())
}

/// The standard input, as `std::io::Stdin`. Each call locks it, and releases it when it has all it
/// wants.
///
/// ```no_run
/// use std::io::Read;
///
/// let mut text = String::new();
/// gosched::io::stdin().read_to_string(&mut text)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Stdin(());

impl Stdin {
    /// Locks it, so that nobody else reads from it. A moving call: it waits while somebody else has
    /// it locked.
    ///
    /// ```no_run
    /// use std::io::BufRead;
    ///
    /// let mut line = String::new();
    /// gosched::io::stdin().lock().read_line(&mut line)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn lock(&self) -> StdinLock<'static> {
        StdinLock(runtime::blocking(|| std::io::stdin().lock()))
    }

    /// Whether it is a terminal, as std's `IsTerminal`. Never moves.
    ///
    /// ```
    /// let _ = gosched::io::stdin().is_terminal();
    /// ```
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        std::io::stdin().is_terminal()
    }

    /// Appends a line, with its newline, to `buf`; returns the number of bytes, 0 at the end of the
    /// input. A moving call.
    ///
    /// # Errors
    ///
    /// As `std::io::Stdin::read_line`.
    ///
    /// ```no_run
    /// let mut line = String::new();
    /// gosched::io::stdin().read_line(&mut line)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read_line(&self, buf: &mut String) -> Result<usize> {
        runtime::blocking(|| std::io::stdin().read_line(buf))
    }

    /// The lines of the input, without their newlines. Locks it at once, for as long as the
    /// iterator lives: a moving call, and so is each step.
    ///
    /// ```no_run
    /// for line in gosched::io::stdin().lines() {
    ///     println!("{}", line?);
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use = "iterators are lazy and do nothing unless consumed"]
    pub fn lines(self) -> Lines<StdinLock<'static>> {
        self.lock().lines()
    }
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdin").finish_non_exhaustive()
    }
}

impl AsFd for Stdin {
    fn as_fd(&self) -> BorrowedFd<'_> {
        rustix::stdio::stdin()
    }
}

impl AsRawFd for Stdin {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

/// Moving calls.
impl Read for &Stdin {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        runtime::blocking(|| std::io::stdin().read(buf))
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> Result<usize> {
        runtime::blocking(|| std::io::stdin().read_vectored(bufs))
    }

    fn read_to_end(&mut self, buf: &mut Vec<u8>) -> Result<usize> {
        runtime::blocking(|| std::io::stdin().read_to_end(buf))
    }

    fn read_to_string(&mut self, buf: &mut String) -> Result<usize> {
        runtime::blocking(|| std::io::stdin().read_to_string(buf))
    }

    fn read_exact(&mut self, buf: &mut [u8]) -> Result<()> {
        runtime::blocking(|| std::io::stdin().read_exact(buf))
    }
}

/// Moving calls.
impl Read for Stdin {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        (&*self).read(buf)
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> Result<usize> {
        (&*self).read_vectored(bufs)
    }

    fn read_to_end(&mut self, buf: &mut Vec<u8>) -> Result<usize> {
        (&*self).read_to_end(buf)
    }

    fn read_to_string(&mut self, buf: &mut String) -> Result<usize> {
        (&*self).read_to_string(buf)
    }

    fn read_exact(&mut self, buf: &mut [u8]) -> Result<()> {
        (&*self).read_exact(buf)
    }
}

/// The standard input, locked, as `std::io::StdinLock`.
///
/// It holds std's own lock. A goroutine that waits for input may resume on another thread and
/// release the lock there. On Linux that lock is a word in memory that stores no owner, so this is
/// sound. Others wait for it in an announced blocking call.
///
/// ```no_run
/// use std::io::BufRead;
///
/// let first = gosched::io::stdin().lock().lines().next();
/// # drop(first);
/// ```
pub struct StdinLock<'a>(std::io::StdinLock<'a>);

impl StdinLock<'_> {
    /// Whether it is a terminal, as std's `IsTerminal`. Never moves.
    ///
    /// ```no_run
    /// let _ = gosched::io::stdin().lock().is_terminal();
    /// ```
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.0.is_terminal()
    }
}

impl fmt::Debug for StdinLock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdinLock").finish_non_exhaustive()
    }
}

impl AsFd for StdinLock<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for StdinLock<'_> {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Moving calls.
impl Read for StdinLock<'_> {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize> {
        runtime::blocking(|| self.0.read(buf))
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> Result<usize> {
        runtime::blocking(|| self.0.read_vectored(bufs))
    }

    fn read_to_end(&mut self, buf: &mut Vec<u8>) -> Result<usize> {
        runtime::blocking(|| self.0.read_to_end(buf))
    }

    fn read_to_string(&mut self, buf: &mut String) -> Result<usize> {
        runtime::blocking(|| self.0.read_to_string(buf))
    }

    fn read_exact(&mut self, buf: &mut [u8]) -> Result<()> {
        runtime::blocking(|| self.0.read_exact(buf))
    }
}

/// Moving calls, but for `consume`.
impl BufRead for StdinLock<'_> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        runtime::blocking(|| self.0.fill_buf())
    }

    fn consume(&mut self, n: usize) {
        self.0.consume(n);
    }

    fn read_until(&mut self, byte: u8, buf: &mut Vec<u8>) -> Result<usize> {
        runtime::blocking(|| self.0.read_until(byte, buf))
    }

    fn read_line(&mut self, buf: &mut String) -> Result<usize> {
        runtime::blocking(|| self.0.read_line(buf))
    }
}
