//! The blocking mode of an open descriptor, which all its copies share.

use std::os::fd::RawFd;

/// What a call on the descriptor does if it can't be completed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockingMode {
    Blocking,
    NonBlocking,
}

/// The mode of `fd`. A descriptor that is not open counts as blocking: every call on it fails.
pub(crate) fn mode(fd: RawFd) -> BlockingMode {
    match flags(fd) {
        Some(flags) if flags & libc::O_NONBLOCK != 0 => BlockingMode::NonBlocking,
        _ => BlockingMode::Blocking,
    }
}

/// Sets the mode of `fd`; does nothing if it is not open.
pub(crate) fn set_mode(fd: RawFd, mode: BlockingMode) {
    let Some(before) = flags(fd) else { return };
    let after = match mode {
        BlockingMode::Blocking => before & !libc::O_NONBLOCK,
        BlockingMode::NonBlocking => before | libc::O_NONBLOCK,
    };
    if after != before {
        // SAFETY: takes numbers; whoever has the descriptor expects this.
        unsafe { libc::fcntl(fd, libc::F_SETFL, after) };
    }
}

fn flags(fd: RawFd) -> Option<i32> {
    // SAFETY: takes numbers, and fails if the descriptor is not open.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    (flags != -1).then_some(flags)
}
