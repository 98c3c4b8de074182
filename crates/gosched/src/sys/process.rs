//! Ending the process, and waiting until another thread does. All async-signal-safe.

/// Ends the process, running no destructors and no exit handlers.
pub(crate) fn exit_at_once(status: i32) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(status) }
}

/// Blocks the thread until another one ends the process.
pub(crate) fn await_end() -> ! {
    loop {
        // SAFETY: sleeps until a signal comes.
        unsafe { libc::pause() };
    }
}

/// Has `f` called when the process ends by `exit`, or because its main function returns.
pub(crate) fn at_exit(f: extern "C" fn()) {
    // SAFETY: a function without arguments that lives as long as the process. If there is no memory
    // to note it, it is not called.
    unsafe { libc::atexit(f) };
}
