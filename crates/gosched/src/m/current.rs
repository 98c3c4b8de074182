//! The current M, from anywhere in about a nanosecond (S2).
//!
//! After a switch the same code may run on another thread, so the address of the thread-local must
//! not be kept across one. LLVM may do so within a function, and even merges two calls of an
//! accessor it can see through. Therefore [`current`] is never inlined, contains an `asm!` that is
//! not pure, and returns the loaded pointer (D5).

use core::cell::Cell;

use super::M;
use crate::recorder::{Block, OTHERS};

thread_local! {
    static CURRENT: Cell<Option<&'static M>> = const { Cell::new(None) };
}

/// The M whose thread this is; `None` on a thread that is not ours.
#[inline(never)]
pub(crate) fn current() -> Option<&'static M> {
    // SAFETY: an empty statement; not `pure`, so that two calls are two loads.
    unsafe { core::arch::asm!("", options(nomem, nostack, preserves_flags)) };
    CURRENT.get()
}

/// The calling thread's stream in a trace.
#[cold]
pub(crate) fn recorder() -> &'static Block {
    current().map_or(&OTHERS, |m| &m.recorder)
}

/// Makes this thread an M's, or (after a fork) nobody's.
pub(crate) fn set(m: Option<&'static M>) {
    CURRENT.set(m);
}
