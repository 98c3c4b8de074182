//! What a thread of this process is doing, as the kernel says in `/proc/self/task/TID/syscall`
//! (D2): `running` if it runs or is runnable; if it sleeps, the number of the system call, its
//! arguments, the stack pointer and the program counter.
//!
//! Nothing here allocates.

use core::ffi::CStr;
use core::str;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What the kernel says of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// It runs, or is runnable.
    Running,
    /// It sleeps in the kernel: in this system call (-1: in a page fault), called with this stack
    /// pointer from this program counter.
    Blocked { call: i64, sp: usize, pc: usize },
    /// It is gone, or the file can't be read.
    Unknown,
}

/// A thread's file, open. It stays that of the same thread, even if another thread gets the number.
pub(crate) struct TaskFile(OwnedFd);

impl TaskFile {
    /// Opens the file of the thread with this number; `None` if that fails.
    pub(crate) fn open(tid: i32) -> Option<TaskFile> {
        // The longest path has 35 bytes; a nul follows.
        let mut path = [0; 40];
        write!(&mut path[..], "/proc/self/task/{tid}/syscall").ok()?;
        let path = CStr::from_bytes_until_nul(&path).ok()?;
        // SAFETY: a nul-terminated path.
        let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        // SAFETY: just opened, and known to nobody else.
        (fd >= 0).then(|| TaskFile(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Whether the thread sleeps in the kernel; `None` if it is not known. Cheaper than a
    /// [`look`](TaskFile::look).
    pub(crate) fn is_blocked(&self) -> Option<bool> {
        let mut text = [0];
        self.read(&mut text).first().map(|first| *first != b'r')
    }

    /// All that the file says.
    pub(crate) fn look(&self) -> Activity {
        // Nine numbers of at most 18 digits.
        let mut text = [0; 256];
        str::from_utf8(self.read(&mut text)).map_or(Activity::Unknown, |text| parse(text.trim()))
    }

    /// The file's first bytes, as it is now.
    fn read<'b>(&self, bytes: &'b mut [u8]) -> &'b [u8] {
        // SAFETY: writes into `bytes`, no more than fits.
        let n = unsafe { libc::pread(self.0.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        &bytes[..usize::try_from(n).unwrap_or(0)]
    }
}

/// Opens the file, looks once and closes it.
pub(crate) fn look(tid: i32) -> Activity {
    TaskFile::open(tid).map_or(Activity::Unknown, |file| file.look())
}

/// `running`, or `number arg.. sp pc`; in a page fault `-1 sp pc`.
fn parse(text: &str) -> Activity {
    if text == "running" {
        return Activity::Running;
    }
    let address = |word: Option<&str>| usize::from_str_radix(word?.strip_prefix("0x")?, 16).ok();
    let mut words = text.split(' ');
    let call = words.next().and_then(|word| word.parse().ok());
    let mut last = words.rev();
    let (pc, sp) = (address(last.next()), address(last.next()));
    match (call, sp, pc) {
        (Some(call), Some(sp), Some(pc)) => Activity::Blocked { call, sp, pc },
        _ => Activity::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_understood() {
        assert_eq!(parse("running"), Activity::Running);
        assert_eq!(
            parse("230 0x0 0x0 0x7f3 0x7f4 0x0 0x0 0x7ffd10 0x7fa20"),
            Activity::Blocked { call: 230, sp: 0x7ffd10, pc: 0x7fa20 }
        );
        assert_eq!(parse("-1 0x7ffd10 0x5560"), Activity::Blocked { call: -1, sp: 0x7ffd10, pc: 0x5560 });
        for odd in ["", "7", "x 0x1 0x2", "3 1 2"] {
            assert_eq!(parse(odd), Activity::Unknown, "{odd:?}");
        }
    }

    /// A thread that asks about itself is in the call that asks: `pread`.
    #[test]
    fn the_kernel_is_asked() {
        let file = TaskFile::open(crate::sys::thread::tid()).unwrap();
        let me = file.look();
        assert!(matches!(me, Activity::Blocked { call: libc::SYS_pread64, .. }), "{me:?}");
        assert_eq!(file.is_blocked(), Some(true));
        for tid in [-1, i32::MIN, i32::MAX] {
            assert_eq!(look(tid), Activity::Unknown);
        }
    }
}
