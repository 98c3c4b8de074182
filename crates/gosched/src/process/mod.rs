//! Other programs, with the names of `std::process`. Starting one and waiting for it are announced
//! blocking calls, so that other goroutines do not wait, too.
//!
//! ```
//! use gosched::process::Command;
//!
//! gosched::run(|| -> std::io::Result<()> {
//!     let output = Command::new("echo").arg("hello").output()?;
//!     assert_eq!(output.stdout, b"hello\n");
//!     Ok(())
//! })?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The end of a context does not cut these calls short.

#![deny(unsafe_code)]

mod child;
mod pipes;

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::Path;

use crate::runtime;

pub use child::Child;
pub use pipes::{ChildStderr, ChildStdin, ChildStdout};

#[doc(no_inline)]
pub use std::process::{
    CommandArgs, CommandEnvs, ExitCode, ExitStatus, Output, Stdio, Termination, abort, exit, id,
};

/// A program to be started, as `std::process::Command`. What only Unix has is in
/// [`CommandExt`](crate::os::unix::process::CommandExt).
///
/// ```
/// # use gosched::process::Command;
/// let status = Command::new("sh").args(["-c", "exit 3"]).status()?;
/// assert_eq!(status.code(), Some(3));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Command(std::process::Command);

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Command {
    /// A command that runs `program`, without arguments, in the environment and directory of this
    /// process. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// assert!(Command::new("true").status()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new<S: AsRef<OsStr>>(program: S) -> Command {
        Command(std::process::Command::new(program))
    }

    /// Adds an argument. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// assert_eq!(Command::new("echo").arg("a b").output()?.stdout, b"a b\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn arg<S: AsRef<OsStr>>(&mut self, arg: S) -> &mut Command {
        self.0.arg(arg);
        self
    }

    /// Adds arguments. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// assert_eq!(Command::new("echo").args(["a", "b"]).output()?.stdout, b"a b\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn args<I, S>(&mut self, args: I) -> &mut Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.0.args(args);
        self
    }

    /// Sets a variable of the environment. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// let output = Command::new("sh").args(["-c", "echo $A"]).env("A", "x").output()?;
    /// assert_eq!(output.stdout, b"x\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn env<K: AsRef<OsStr>, V: AsRef<OsStr>>(&mut self, key: K, val: V) -> &mut Command {
        self.0.env(key, val);
        self
    }

    /// Sets variables of the environment. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// let output = Command::new("sh").args(["-c", "echo $A$B"]).envs([("A", "x"), ("B", "y")]).output()?;
    /// assert_eq!(output.stdout, b"xy\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn envs<I, K, V>(&mut self, vars: I) -> &mut Command
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.0.envs(vars);
        self
    }

    /// Removes a variable from the environment. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// let output = Command::new("sh").args(["-c", "echo $A"]).env("A", "x").env_remove("A").output()?;
    /// assert_eq!(output.stdout, b"\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn env_remove<K: AsRef<OsStr>>(&mut self, key: K) -> &mut Command {
        self.0.env_remove(key);
        self
    }

    /// Empties the environment. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// assert!(Command::new("/usr/bin/env").env_clear().output()?.stdout.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn env_clear(&mut self) -> &mut Command {
        self.0.env_clear();
        self
    }

    /// Sets the directory it runs in. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// assert_eq!(Command::new("pwd").current_dir("/").output()?.stdout, b"/\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn current_dir<P: AsRef<Path>>(&mut self, dir: P) -> &mut Command {
        self.0.current_dir(dir);
        self
    }

    /// Sets where its standard input comes from. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// use gosched::process::Stdio;
    ///
    /// assert!(Command::new("cat").stdin(Stdio::null()).output()?.stdout.is_empty());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn stdin<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.0.stdin(cfg);
        self
    }

    /// Sets where its standard output goes. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// use gosched::process::Stdio;
    ///
    /// assert!(Command::new("echo").stdout(Stdio::null()).status()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn stdout<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.0.stdout(cfg);
        self
    }

    /// Sets where its standard error goes. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// use gosched::process::Stdio;
    ///
    /// assert!(!Command::new("cat").arg("/no/such/file").stderr(Stdio::null()).status()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn stderr<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.0.stderr(cfg);
        self
    }

    /// Starts it. A moving call.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// let mut child = Command::new("true").spawn()?;
    /// assert!(child.wait()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn spawn(&mut self) -> io::Result<Child> {
        runtime::blocking(|| self.0.spawn()).map(Child::from)
    }

    /// Runs it to its end and returns what it wrote. A moving call.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// assert_eq!(Command::new("echo").arg("hello").output()?.stdout, b"hello\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn output(&mut self) -> io::Result<Output> {
        runtime::blocking(|| self.0.output())
    }

    /// Runs it to its end and returns how it ended. A moving call.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// assert!(!Command::new("false").status()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn status(&mut self) -> io::Result<ExitStatus> {
        runtime::blocking(|| self.0.status())
    }

    /// The program. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// assert_eq!(Command::new("echo").get_program(), "echo");
    /// ```
    #[must_use]
    pub fn get_program(&self) -> &OsStr {
        self.0.get_program()
    }

    /// The arguments. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// let mut command = Command::new("echo");
    /// command.args(["a", "b"]);
    /// assert_eq!(command.get_args().collect::<Vec<_>>(), ["a", "b"]);
    /// ```
    pub fn get_args(&self) -> CommandArgs<'_> {
        self.0.get_args()
    }

    /// The variables that were set or removed. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// assert_eq!(Command::new("echo").env("A", "x").get_envs().count(), 1);
    /// ```
    pub fn get_envs(&self) -> CommandEnvs<'_> {
        self.0.get_envs()
    }

    /// The directory that was set. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// assert_eq!(Command::new("pwd").get_current_dir(), None);
    /// ```
    #[must_use]
    pub fn get_current_dir(&self) -> Option<&Path> {
        self.0.get_current_dir()
    }

    /// The std command inside, for methods that only std has. Never moves.
    ///
    /// ```
    /// # use gosched::process::Command;
    /// let mut command = Command::new("true");
    /// command.as_std_mut().arg("x");
    /// assert_eq!(command.get_args().count(), 1);
    /// ```
    pub fn as_std_mut(&mut self) -> &mut std::process::Command {
        &mut self.0
    }
}

impl From<std::process::Command> for Command {
    fn from(command: std::process::Command) -> Command {
        Command(command)
    }
}
