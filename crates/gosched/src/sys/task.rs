//! What a thread of this process is doing, as the kernel tells it in `/proc/self/task/TID/syscall` (D2).

use std::fs;

/// What the kernel says of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// It runs, or could.
    Running,
    /// It sleeps in the kernel: since this system call (-1: a page fault), called with this stack pointer from this place.
    Blocked { call: i64, sp: usize, pc: usize },
    /// It is gone, or the file can't be read.
    Unknown,
}

/// Asks the kernel.
pub(crate) fn look(tid: i32) -> Task {
    match fs::read_to_string(format!("/proc/self/task/{tid}/syscall")) {
        Ok(text) => parse(text.trim()),
        Err(_) => Task::Unknown,
    }
}

/// `running`, or `number arg.. sp pc`; in a page fault `-1 sp pc`.
fn parse(text: &str) -> Task {
    if text == "running" {
        return Task::Running;
    }
    let address = |word: Option<&str>| usize::from_str_radix(word?.strip_prefix("0x")?, 16).ok();
    let mut words = text.split(' ');
    let call = words.next().and_then(|word| word.parse().ok());
    let mut last = words.rev();
    let (pc, sp) = (address(last.next()), address(last.next()));
    match (call, sp, pc) {
        (Some(call), Some(sp), Some(pc)) => Task::Blocked { call, sp, pc },
        _ => Task::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_understood() {
        assert_eq!(parse("running"), Task::Running);
        assert_eq!(
            parse("230 0x0 0x0 0x7f3 0x7f4 0x0 0x0 0x7ffd10 0x7fa20"),
            Task::Blocked { call: 230, sp: 0x7ffd10, pc: 0x7fa20 }
        );
        assert_eq!(parse("-1 0x7ffd10 0x5560"), Task::Blocked { call: -1, sp: 0x7ffd10, pc: 0x5560 });
        for odd in ["", "7", "x 0x1 0x2", "3 1 2"] {
            assert_eq!(parse(odd), Task::Unknown, "{odd:?}");
        }
    }

    /// A thread that asks about itself is in the call that asks: `read`.
    #[test]
    fn the_kernel_is_asked() {
        let me = look(crate::sys::thread::tid());
        assert!(matches!(me, Task::Blocked { call: libc::SYS_read, .. }), "{me:?}");
        assert_eq!(look(-1), Task::Unknown);
    }
}
