//! Other programs, with the names of `std::os::unix::process`.
//!
//! [`ExitStatusExt`] and [`parent_id`] are std's own.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as StdExt;

use crate::process::Command;

#[doc(no_inline)]
pub use std::os::unix::process::{ExitStatusExt, parent_id};

/// What only Unix has of [`Command`], as `std::os::unix::process::CommandExt`.
///
/// ```
/// use gosched::os::unix::process::{CommandExt, ExitStatusExt};
/// use gosched::process::Command;
///
/// // In a process group of its own: Ctrl-C does not reach it.
/// let mut child = Command::new("sleep").arg("1000").process_group(0).spawn()?;
/// child.kill()?;
/// assert_eq!(child.wait()?.signal(), Some(9));
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait CommandExt: sealed::Sealed {
    /// Sets the user it runs as. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::process::CommandExt;
    /// # use gosched::process::Command;
    /// let mut command = Command::new("true");
    /// command.uid(1000);
    /// ```
    fn uid(&mut self, id: u32) -> &mut Command;

    /// Sets the group it runs as. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::process::CommandExt;
    /// # use gosched::process::Command;
    /// let mut command = Command::new("true");
    /// command.gid(1000);
    /// ```
    fn gid(&mut self, id: u32) -> &mut Command;

    /// Runs `f` in the child before the program. Never moves.
    ///
    /// # Safety
    ///
    /// As std's: between fork and exec only async-signal-safe functions may be called. None of this
    /// library's is, and one that needs the runtime ends the child with a message.
    ///
    /// ```
    /// # use gosched::os::unix::process::CommandExt;
    /// # use gosched::process::Command;
    /// let mut command = Command::new("true");
    /// // SAFETY: the closure calls nothing.
    /// unsafe { command.pre_exec(|| Err(std::io::Error::from_raw_os_error(7))) };
    /// assert_eq!(command.status().unwrap_err().raw_os_error(), Some(7));
    /// ```
    #[allow(unsafe_code)]
    unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Command
    where
        F: FnMut() -> io::Result<()> + Send + Sync + 'static;

    /// Replaces this process by the program: returns only if that fails. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::process::CommandExt;
    /// # use gosched::process::Command;
    /// let error = Command::new("/no/such/program").exec();
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    /// ```
    fn exec(&mut self) -> io::Error;

    /// Sets its argument 0, the program's name. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::process::CommandExt;
    /// # use gosched::process::Command;
    /// assert!(Command::new("true").arg0("false").status()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn arg0<S>(&mut self, arg: S) -> &mut Command
    where
        S: AsRef<OsStr>;

    /// Sets the process group that it joins; 0 for a new one. Never moves.
    ///
    /// ```
    /// # use gosched::os::unix::process::CommandExt;
    /// # use gosched::process::Command;
    /// assert!(Command::new("true").process_group(0).status()?.success());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    fn process_group(&mut self, pgroup: i32) -> &mut Command;
}

impl CommandExt for Command {
    fn uid(&mut self, id: u32) -> &mut Command {
        StdExt::uid(self.as_std_mut(), id);
        self
    }

    fn gid(&mut self, id: u32) -> &mut Command {
        StdExt::gid(self.as_std_mut(), id);
        self
    }

    #[allow(unsafe_code)]
    unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Command
    where
        F: FnMut() -> io::Result<()> + Send + Sync + 'static,
    {
        // SAFETY: the caller promises the same.
        unsafe { StdExt::pre_exec(self.as_std_mut(), f) };
        self
    }

    fn exec(&mut self) -> io::Error {
        StdExt::exec(self.as_std_mut())
    }

    fn arg0<S>(&mut self, arg: S) -> &mut Command
    where
        S: AsRef<OsStr>,
    {
        StdExt::arg0(self.as_std_mut(), arg);
        self
    }

    fn process_group(&mut self, pgroup: i32) -> &mut Command {
        StdExt::process_group(self.as_std_mut(), pgroup);
        self
    }
}

mod sealed {
    /// As in std, nobody else implements the trait: it may get more methods.
    pub trait Sealed {}
    impl Sealed for crate::process::Command {}
}
