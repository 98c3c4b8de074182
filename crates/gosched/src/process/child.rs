//! A program that was started.

use std::fmt;
use std::io;

use super::{ChildStderr, ChildStdin, ChildStdout, ExitStatus, Output};
use crate::runtime;

/// A program that was started, as `std::process::Child`. Dropping it neither ends it nor waits for
/// it.
///
/// ```
/// use gosched::process::{Command, Stdio};
/// use std::io::{Read, Write};
///
/// let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
/// child.stdin.take().unwrap().write_all(b"hello")?;
/// let mut text = String::new();
/// child.stdout.as_mut().unwrap().read_to_string(&mut text)?;
/// assert_eq!(text, "hello");
/// assert!(child.wait()?.success());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Child {
    inner: std::process::Child,
    /// Its standard input, if that is a pipe.
    pub stdin: Option<ChildStdin>,
    /// Its standard output, if that is a pipe.
    pub stdout: Option<ChildStdout>,
    /// Its standard error, if that is a pipe.
    pub stderr: Option<ChildStderr>,
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child")
            .field("stdin", &self.stdin)
            .field("stdout", &self.stdout)
            .field("stderr", &self.stderr)
            .finish_non_exhaustive()
    }
}

impl Child {
    /// Its process id. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// let mut child = Command::new("true").spawn()?;
    /// assert_ne!(child.id(), 0);
    /// # child.wait()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> u32 {
        self.inner.id()
    }

    /// Kills it. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// let mut child = Command::new("sleep").arg("1000").spawn()?;
    /// child.kill()?;
    /// assert!(!child.wait()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn kill(&mut self) -> io::Result<()> {
        self.inner.kill()
    }

    /// Waits for its end; closes its standard input first. A moving call.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// assert!(Command::new("true").spawn()?.wait()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        runtime::blocking(|| self.inner.wait())
    }

    /// Its exit status, if it has ended. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// let mut child = Command::new("sleep").arg("1000").spawn()?;
    /// assert_eq!(child.try_wait()?, None);
    /// # child.kill()?;
    /// # child.wait()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.inner.try_wait()
    }

    /// Closes its standard input, reads all its output, and waits for its end. A moving call.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// use gosched::process::Stdio;
    ///
    /// let child = Command::new("echo").arg("hello").stdout(Stdio::piped()).spawn()?;
    /// assert_eq!(child.wait_with_output()?.stdout, b"hello\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn wait_with_output(mut self) -> io::Result<Output> {
        drop(self.stdin.take());
        self.inner.stdout = self.stdout.take().map(ChildStdout::into_std);
        self.inner.stderr = self.stderr.take().map(ChildStderr::into_std);
        runtime::blocking(|| self.inner.wait_with_output())
    }
}

impl From<std::process::Child> for Child {
    fn from(mut inner: std::process::Child) -> Child {
        let stdin = inner.stdin.take().map(ChildStdin::from);
        let stdout = inner.stdout.take().map(ChildStdout::from);
        let stderr = inner.stderr.take().map(ChildStderr::from);
        Child { inner, stdin, stdout, stderr }
    }
}
