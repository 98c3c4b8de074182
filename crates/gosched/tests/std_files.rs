//! Files, other programs and the standard input have std's names, also those that std has in traits
//! of its own (S19).

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use gosched::fs::File;
use gosched::os::unix::process::CommandExt;
use gosched::process::Command;

/// `is_terminal` gives what std's `IsTerminal`, which only std can implement, gives for std's
/// types.
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

/// What `CommandExt` does, with std's names and ours: only the `use` lines are different.
macro_rules! unix_command {
    ($unix_command:ident, $library:ident) => {
        fn $unix_command() -> (Vec<u8>, Option<i32>, io::ErrorKind) {
            use $library::os::unix::process::{CommandExt, ExitStatusExt};
            use $library::process::Command;

            let script =
                "echo $0; ps -o pgid= -o pid= -p $$ | { read group process; echo $((group - process)); }";
            let mut command = Command::new("sh");
            let output = command.arg0("another").process_group(0).args(["-c", script]).output().unwrap();
            let status = Command::new("sh").args(["-c", "kill -KILL $$"]).status().unwrap();
            let error = CommandExt::exec(&mut Command::new("/no/such/program"));
            (output.stdout, status.signal(), error.kind())
        }
    };
}
unix_command!(std_unix_command, std);
unix_command!(our_unix_command, gosched);

/// The trait has std's name and methods. Users and groups are set as std sets them: who may not gets
/// its error.
#[gosched::test]
fn what_only_unix_has() {
    assert_eq!(our_unix_command(), std_unix_command());
    // SAFETY: no preconditions.
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    assert!(Command::new("true").uid(user).gid(group).status().unwrap().success());
    let mut theirs = std::process::Command::new("true");
    let expected = std::os::unix::process::CommandExt::uid(&mut theirs, user + 1).status();
    let ours = Command::new("true").uid(user + 1).status();
    assert_eq!(ours.map_err(|error| error.kind()), expected.map_err(|error| error.kind()));
}

/// What is shown of files, directories and programs, by std's types and by ours.
macro_rules! shown {
    ($shown:ident, $library:ident) => {
        fn $shown(dir: &Path) -> Vec<String> {
            use $library::fs::{self, DirBuilder, File, OpenOptions};
            use $library::process::{Command, Stdio};

            let mut command = Command::new("cat");
            command.arg("-").env("NAME", "value").current_dir("/");
            let mut shown = vec![format!("{command:?}"), format!("{command:#?}")];
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            shown.push(format!("{child:?}"));
            drop(child.stdin.take());
            assert!(child.wait().unwrap().success());
            shown.push(format!("{child:?}"));
            // The number of the descriptor differs.
            let file = File::open(dir.join("a")).unwrap();
            let number = format!("fd: {},", file.as_raw_fd());
            shown.push(format!("{file:?}").replace(&number, "fd"));
            shown.push(format!("{file:#?}").replace(&number, "fd"));
            shown.push(format!("{:?}", OpenOptions::new().read(true)));
            shown.push(format!("{:?}", DirBuilder::new().recursive(true)));
            let mut entries = fs::read_dir(dir).unwrap();
            shown.push(format!("{entries:?}"));
            shown.push(format!("{:?}", entries.next().unwrap().unwrap()));
            shown
        }
    };
}

shown!(by_std, std);
shown!(by_gosched, gosched);

/// `Debug` shows what std's types show, and no wrapper.
#[gosched::test]
fn shown_as_in_std() {
    let dir = std::env::temp_dir().join(format!("gosched-shown-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("a"), "abc").unwrap();
    let (expected, shown) = (by_std(&dir), by_gosched(&dir));
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(shown, expected);
}
