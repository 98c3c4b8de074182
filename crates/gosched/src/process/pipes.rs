//! The pipes to and from a program that was started.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};

use super::Stdio;
use crate::runtime;

macro_rules! conversions {
    ($type:ident) => {
        impl $type {
            pub(super) fn into_std(self) -> std::process::$type {
                self.0
            }
        }

        impl From<std::process::$type> for $type {
            fn from(pipe: std::process::$type) -> $type {
                $type(pipe)
            }
        }

        impl From<$type> for std::process::$type {
            fn from(pipe: $type) -> std::process::$type {
                pipe.into_std()
            }
        }

        impl From<OwnedFd> for $type {
            fn from(fd: OwnedFd) -> $type {
                $type(fd.into())
            }
        }

        impl From<$type> for OwnedFd {
            fn from(pipe: $type) -> OwnedFd {
                pipe.into_std().into()
            }
        }

        impl From<$type> for Stdio {
            fn from(pipe: $type) -> Stdio {
                pipe.into_std().into()
            }
        }

        impl AsFd for $type {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.0.as_fd()
            }
        }

        impl AsRawFd for $type {
            fn as_raw_fd(&self) -> RawFd {
                self.0.as_raw_fd()
            }
        }

        impl IntoRawFd for $type {
            fn into_raw_fd(self) -> RawFd {
                self.into_std().into_raw_fd()
            }
        }
    };
}

macro_rules! reads {
    ($($type:ident),*) => {$(
        /// Moving calls.
        impl Read for $type {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                runtime::blocking(|| self.0.read(buf))
            }

            fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                runtime::blocking(|| self.0.read_vectored(bufs))
            }

            fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
                runtime::blocking(|| self.0.read_to_end(buf))
            }
        }
    )*};
}

/// The standard input of a program that was started, as `std::process::ChildStdin`. Dropping it
/// closes it.
///
/// ```
/// use gosched::process::{Command, Stdio};
/// use std::io::Write;
///
/// let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
/// child.stdin.take().unwrap().write_all(b"hello")?;
/// # child.wait()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct ChildStdin(std::process::ChildStdin);

impl fmt::Debug for ChildStdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

conversions!(ChildStdin);

/// The standard output of a program that was started, as `std::process::ChildStdout`. Dropping it
/// closes it.
///
/// ```
/// use gosched::process::{Command, Stdio};
/// use std::io::Read;
///
/// let mut child = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
/// let mut text = String::new();
/// child.stdout.take().unwrap().read_to_string(&mut text)?;
/// assert_eq!(text, "hello\n");
/// # child.wait()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct ChildStdout(std::process::ChildStdout);

impl fmt::Debug for ChildStdout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

conversions!(ChildStdout);

/// The standard error of a program that was started, as `std::process::ChildStderr`. Dropping it
/// closes it.
///
/// ```
/// use gosched::process::{Command, Stdio};
/// use std::io::Read;
///
/// let mut child = Command::new("cat").arg("/no/such/file").stderr(Stdio::piped()).spawn()?;
/// let mut text = String::new();
/// child.stderr.take().unwrap().read_to_string(&mut text)?;
/// assert!(text.contains("/no/such/file"));
/// # child.wait()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct ChildStderr(std::process::ChildStderr);

impl fmt::Debug for ChildStderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

conversions!(ChildStderr);

reads!(ChildStdout, ChildStderr);

/// Moving calls.
impl Write for &ChildStdin {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        runtime::blocking(|| (&self.0).write(buf))
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        runtime::blocking(|| (&self.0).write_vectored(bufs))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Moving calls.
impl Write for ChildStdin {
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
