//! What sanitizers are told of contexts and their stacks. In ordinary builds all of this is empty.
//!
//! `build.rs` finds out which sanitizer the build is for; one file each answers: `off`, `address`,
//! `thread`. All three have the same items, and `arch::switch`, `arch::jump`,
//! [`Gobuf`](crate::Gobuf) and the trampoline call them at the same places:
//!
//! ```text
//!   old context                               new context
//!   depart(save, restore) ──▶ switch ──▶ arrive(its save)            one that was left by a switch
//!                                        or arrive_first()           a fresh one, before its entry function
//!   depart_for_ever(restore, sp) ──▶ jump ──▶ the same
//! ```
//!
//! Invariants:
//!
//! - Between `depart` and `arrive` nothing runs but the switch itself and signal handlers.
//! - What a departure leaves behind for the arrival is the thread's: both run on it. What belongs
//!   to the context is in its `Gobuf` (`FiberState`, one of three types) and travels with it to
//!   another thread.
//! - The state of a `Gobuf` is written by who leaves it, and by the arrival right after that on the
//!   same thread: before anybody else can know that the context rests.

#[cfg(gosched_asan)]
mod address;
#[cfg(not(any(gosched_asan, gosched_tsan)))]
mod off;
#[cfg(all(gosched_tsan, not(gosched_asan)))]
mod thread;

#[cfg(gosched_asan)]
use address as which;
#[cfg(gosched_asan)]
pub(crate) use address::AsanState as FiberState;
#[cfg(not(any(gosched_asan, gosched_tsan)))]
use off as which;
#[cfg(not(any(gosched_asan, gosched_tsan)))]
pub(crate) use off::NoState as FiberState;
#[cfg(all(gosched_tsan, not(gosched_asan)))]
use thread as which;
#[cfg(all(gosched_tsan, not(gosched_asan)))]
pub(crate) use thread::TsanState as FiberState;

#[cfg(any(gosched_asan, gosched_tsan))]
pub(crate) use which::arrive_first;
pub(crate) use which::{arrive, depart, depart_for_ever, note_slab};
pub use which::{root, unroot};

/// A sanitizer that programs are built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sanitizer {
    /// None.
    Off,
    /// AddressSanitizer.
    Address,
    /// ThreadSanitizer.
    Thread,
}

/// The one of this build.
pub const SANITIZER: Sanitizer = which::SANITIZER;
