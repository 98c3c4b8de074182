//! Signals that are caught: the handler writes the signal's number into a pipe, where a goroutine
//! reads it.
//!
//! Invariants:
//! - the pipe is made once, before the first handler is installed, and is never closed;
//! - the handler is async-signal-safe: it reads two words, calls `getpid` and `write`, and keeps
//!   `errno`. The pipe is non-blocking: if it is full, the signal is lost;
//! - the child of a fork shares the pipe, and must not write into it: there the handler gives the
//!   signal its default action, which an exec would do, too.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicI32, Ordering};
use std::io;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};

use super::errno;
use super::handler::{self, Installed};

/// What a reader gets that was woken without a signal; no signal has this number.
pub(crate) const WAKE: u8 = 0;

/// Where the handler writes to.
static WRITE_END: AtomicI32 = AtomicI32::new(-1);
/// The process that reads.
static READER: AtomicI32 = AtomicI32::new(0);

/// What a signal did before it was caught.
#[derive(Clone, Copy)]
pub(crate) struct ActionBefore(libc::sigaction);

/// The reading end of the pipe, which is made now: to be called once.
pub(crate) fn make_pipe() -> io::Result<OwnedFd> {
    let mut ends = [0; 2];
    // SAFETY: fills in two descriptors, or fails.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: made just now, and nobody else's.
    let [read, write] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    // SAFETY: getpid has no preconditions.
    READER.store(unsafe { libc::getpid() }, Ordering::Relaxed);
    // ORDERING: Release pairs with the Acquire in `handle`, on whichever thread.
    WRITE_END.store(write.into_raw_fd(), Ordering::Release);
    Ok(read)
}

/// Installs the handler. Fails for a number that is no signal's, and for signals that can't be
/// caught.
pub(crate) fn catch(signal: c_int) -> io::Result<ActionBefore> {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: fills in `before`, or fails.
    if unsafe { libc::sigaction(signal, core::ptr::null(), before.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    match handler::install(signal, handle) {
        // SAFETY: filled in.
        Installed::Yes => Ok(ActionBefore(unsafe { before.assume_init() })),
        Installed::No => Err(io::Error::last_os_error()),
    }
}

/// Gives the signal the action that it had before, unless the program has installed another handler
/// meanwhile.
pub(crate) fn release(signal: c_int, ActionBefore(before): &ActionBefore) {
    if handler::is_installed(signal, handle) == Installed::Yes {
        // SAFETY: an action that the kernel has given out.
        unsafe { libc::sigaction(signal, before, null_mut()) };
    }
}

/// Wakes whoever reads from the pipe.
pub(crate) fn wake_reader() {
    write(WAKE);
}

/// Sends the signal to this process.
pub(crate) fn send_again(signal: c_int) {
    // SAFETY: takes numbers.
    unsafe { libc::kill(libc::getpid(), signal) };
}

/// Writes into the pipe; does nothing if it is full. Async-signal-safe.
fn write(byte: u8) {
    // ORDERING: Acquire pairs with the Release in `make_pipe`.
    let fd = WRITE_END.load(Ordering::Acquire);
    // SAFETY: the pipe is never closed; the byte lives as long as the call.
    unsafe { libc::write(fd, core::ptr::from_ref(&byte).cast(), 1) };
}

extern "C" fn handle(signal: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    let before = errno::get();
    // SAFETY: getpid has no preconditions.
    if unsafe { libc::getpid() } == READER.load(Ordering::Relaxed) {
        // Numbers of signals are at most 64.
        write(signal as u8);
    } else {
        // SAFETY: plain data; SIG_DFL needs no handler. The signal is blocked until this returns,
        // and has its default action then.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &action, null_mut());
            libc::raise(signal);
        }
    }
    errno::set(before);
}
