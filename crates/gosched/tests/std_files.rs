//! Files, other programs and the standard input have std's names, also those that std has in traits of its own (S19).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use gosched::fs::File;
use gosched::process::Command;

/// What std's `IsTerminal`, which nobody else can implement, tells of its own types.
#[gosched::test]
fn terminals() {
    assert!(!File::open("/dev/null").unwrap().is_terminal());
    if let Ok(terminal) = File::open("/dev/ptmx") {
        assert!(terminal.is_terminal());
    }
    let expected = io::IsTerminal::is_terminal(&io::stdin());
    assert_eq!(gosched::io::stdin().is_terminal(), expected);
    let lock = gosched::io::stdin().lock();
    assert_eq!(lock.is_terminal(), expected);
    assert_eq!((lock.as_raw_fd(), lock.as_fd().as_raw_fd()), (0, 0));
}

/// What std's `CommandExt` adds: the closure runs in the child, and its error comes back.
#[gosched::test]
fn before_the_program() {
    let mut command = Command::new("sh");
    command.args(["-c", "exit 3"]);
    // SAFETY: getpid is async-signal-safe.
    unsafe { command.pre_exec(|| if libc::getpid() > 0 { Ok(()) } else { Err(io::Error::last_os_error()) }) };
    assert_eq!(command.status().unwrap().code(), Some(3));
    // SAFETY: it calls nothing.
    unsafe { command.pre_exec(|| Err(io::Error::from_raw_os_error(libc::E2BIG))) };
    assert_eq!(command.status().unwrap_err().raw_os_error(), Some(libc::E2BIG));
}
