//! Handlers for signals that the program does not handle. Whether ours is still installed is asked
//! again before a signal is sent: the program may have replaced it.

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::{null, null_mut};

/// A handler that gets the signal's information and context. Runs on the thread's alternate stack,
/// if it has one.
pub(crate) type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Whether our handler is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Installed {
    Yes,
    /// The program handles the signal, or it could not be installed.
    No,
}

/// What a signal without a handler does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unhandled {
    Default,
    Ignored,
}

/// What the signal does, if it has no handler; `None` if it has one.
pub(crate) fn unhandled(signal: c_int) -> Option<Unhandled> {
    match current(signal)? {
        libc::SIG_DFL => Some(Unhandled::Default),
        libc::SIG_IGN => Some(Unhandled::Ignored),
        _ => None,
    }
}

/// Installs `handler` if the signal has its default action. Calls that it interrupts are restarted
/// where the kernel can do that.
pub(crate) fn install_over_default(signal: c_int, handler: Handler) -> Installed {
    if unhandled(signal) != Some(Unhandled::Default) {
        return Installed::No;
    }
    install(signal, handler)
}

/// Installs `handler` in place of any other. Calls that it interrupts are restarted where the
/// kernel can do that.
pub(crate) fn install(signal: c_int, handler: Handler) -> Installed {
    // SAFETY: all zeroes is an action without flags; `handler` has the signature that SA_SIGINFO
    // asks for.
    let rc = unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(signal, &action, null_mut())
    };
    if rc == 0 { Installed::Yes } else { Installed::No }
}

/// Whether the signal's handler is still this one.
pub(crate) fn is_installed(signal: c_int, handler: Handler) -> Installed {
    if current(signal) == Some(handler as *const () as usize) { Installed::Yes } else { Installed::No }
}

/// Restores what the signal did `before`, if the handler is still this one. Async-signal-safe.
pub(crate) fn remove(signal: c_int, handler: Handler, before: Unhandled) {
    if is_installed(signal, handler) == Installed::Yes {
        // SAFETY: all zeroes is SIG_DFL without flags; SIG_IGN needs no more.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            if before == Unhandled::Ignored {
                action.sa_sigaction = libc::SIG_IGN;
            }
            libc::sigaction(signal, &action, null_mut());
        }
    }
}

fn current(signal: c_int) -> Option<usize> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: fills in `action`, or fails; all zeroes is a valid one, too.
    unsafe {
        (libc::sigaction(signal, null(), action.as_mut_ptr()) == 0)
            .then(|| action.assume_init_ref().sa_sigaction)
    }
}

/// Sends a signal to a thread of this process. Does nothing if no thread has this id.
pub(crate) fn send(tid: i32, signal: c_int) {
    // SAFETY: tgkill takes numbers; it names a thread of this process or fails.
    unsafe {
        libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, signal);
    }
}
