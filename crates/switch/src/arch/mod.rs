//! The switch between contexts: one file per architecture, one contract for all.
//!
//! # Contract of an architecture file
//!
//! It provides, under these names:
//!
//! - `PAGE_SIZE`: the size of a page of memory.
//! - `Entry`: the type of the first function of a context; takes one word, never returns, never unwinds.
//! - `Gobuf`: the saved registers of a context that does not run, with `empty`, `fresh`, `set`, `sp`, `pc`, `bp`.
//!   `sp` may be read at any time from any thread (for a prefetch); the others only while the context rests.
//!   `fresh` writes nothing to the stack: the stack may be the one its caller runs on.
//! - `switch(save, restore)`: saves the running context, goes on with the other. Callee-saved registers survive;
//!   floating-point control words are not part of a context, they belong to the thread.
//! - `jump(restore)`: the same without saving. Reads all of `restore` before it leaves the old stack.
//! - `refusal()`: a feature of this CPU and process that makes switching impossible, if there is one.
//!
//! # Invariants
//!
//! - Nothing is pushed: a resting context's stack pointer is what its own code left, and what lies below is dead.
//! - A switch is a jump, never a return, so that the CPU's return predictor is not misled.
//! - The outermost frame of a context says "no caller" in its unwind table, so unwinders and debuggers end there.

use core::fmt;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86_64;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(crate) use x86_64::PAGE_SIZE;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
use x86_64::refusal;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub use x86_64::{Entry, Gobuf, jump, switch};

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!(
    "gosched-switch supports Linux on x86_64 only; \
     another architecture needs a file in crates/switch/src/arch that keeps the contract in arch/mod.rs"
);

/// Why contexts can't be switched on this machine or in this process.
///
/// # Examples
///
/// ```
/// let text = gosched_switch::Unsupported::ShadowStack.to_string();
/// assert!(text.contains("shadow stack"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// The thread has a hardware shadow stack (Intel CET, AMD SSS); it would not follow a switch, and the next
    /// `ret` would be fatal.
    ShadowStack,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsupported::ShadowStack => f.write_str(
                "this process runs with a hardware shadow stack (CET), which can't follow a switch between stacks; \
                 start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off or link it with -z noshstk",
            ),
        }
    }
}

impl std::error::Error for Unsupported {}

/// Says whether contexts can be switched here. To be asked once per process, before the first switch, on a thread
/// that was made like the ones that will switch.
///
/// # Errors
///
/// [`Unsupported`] says what stands in the way and what to do about it.
///
/// # Examples
///
/// ```
/// gosched_switch::check_platform().expect("contexts can be switched here");
/// ```
pub fn check_platform() -> Result<(), Unsupported> {
    match refusal() {
        None => Ok(()),
        Some(reason) => Err(reason),
    }
}
