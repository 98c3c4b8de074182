//! Standard error, without std's lock and buffer. All async-signal-safe.

use super::errno;

/// The most bytes that a pipe which is ready takes without waiting.
pub(crate) const PIECE: usize = libc::PIPE_BUF;

/// Writes some of `text`; blocks until that is possible. Returns how many bytes; `None` if it
/// fails.
pub(crate) fn write(text: &[u8]) -> Option<usize> {
    // SAFETY: the pointer and length describe `text`.
    let n = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    usize::try_from(n).ok().map(|n| n.min(text.len()))
}

/// Whether a write of up to [`PIECE`] bytes would return at once. Waits for that for `patience`
/// milliseconds at most (anew after a signal).
pub(crate) fn is_ready(patience: i32) -> bool {
    loop {
        let mut stderr = libc::pollfd { fd: libc::STDERR_FILENO, events: libc::POLLOUT, revents: 0 };
        // SAFETY: the pointer is to one structure.
        match unsafe { libc::poll(&mut stderr, 1, patience) } {
            -1 if errno::get() == libc::EINTR => {}
            ready => return ready > 0,
        }
    }
}
